package io.stormcut;

import static io.stormcut.Plans.topology;
import static io.stormcut.Plans.worker;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stormcut.protocol.ClusterState;
import io.stormcut.protocol.Declined;
import io.stormcut.protocol.Plan;
import io.stormcut.protocol.Refusal;
import io.stormcut.protocol.TopologyPlan;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.DefaultScheduler;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.zookeeper.ZooDefs;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/**
 * The shim with a real ZooKeeper server and a real Thrift brain.
 *
 * <p>Topology a (executors 1 to 4, two workers) runs as Storm's default left it on n:1 and m:1.
 */
@Timeout(120)
class StormcutSchedulerTest {
  /** For brains that answer: the machine may be slow. */
  private static final int AMPLE_MS = 10_000;

  private static final TopologyPlan A_ON_N =
      topology("a", worker("n", 1, 1, 2), worker("n", 2, 3, 4));

  private static final TopologyPlan B_ON_N = topology("b", worker("n", 3, 1, 2));

  @TempDir Path folder;
  private final Clusters given =
      new Clusters()
          .supervisor("n", 1, 2, 3)
          .supervisor("m", 1, 2, 3)
          .topology("a", 2, 3)
          .assigned("a", "n", 1, 1, 2)
          .assigned("a", "m", 1, 3, 4);
  private final StormcutScheduler scheduler = new StormcutScheduler();
  private LogLines log;
  private TestZooKeeper zookeeper;
  private TestBrain brain;

  @BeforeEach
  void start() throws Exception {
    log = new LogLines();
    zookeeper = new TestZooKeeper(folder);
    brain = new TestBrain(state -> Plans.plan(state, A_ON_N));
    zookeeper.lead(brain.port());
  }

  @AfterEach
  void stop() throws Exception {
    brain.close();
    zookeeper.close();
    log.close();
  }

  private void prepare(int deadlineMs) {
    scheduler.prepare(zookeeper.conf(deadlineMs));
  }

  private Cluster round() {
    Cluster cluster = given.cluster();
    scheduler.schedule(given.topologies(), cluster);
    return cluster;
  }

  private ClusterState described() {
    Warnings warnings = new Warnings(LoggerFactory.getLogger(StateReader.class), System::nanoTime);
    return StateReader.read(given.topologies(), given.cluster(), warnings);
  }

  private static Map<ExecutorDetails, WorkerSlot> runs(Cluster cluster, String topology) {
    return cluster.getAssignmentById(topology).getExecutorToSlot();
  }

  private void asStormsDefault(Cluster cluster) {
    Cluster expected = given.cluster();
    new DefaultScheduler().schedule(given.topologies(), expected);
    for (String topology : given.topologies.keySet()) {
      assertEquals(runs(expected, topology), runs(cluster, topology));
    }
  }

  private void placedOnN(Cluster cluster) {
    Map<ExecutorDetails, WorkerSlot> slots = runs(cluster, "a");
    assertEquals(4, slots.size(), log.toString());
    for (int task = 1; task <= 4; task++) {
      WorkerSlot expected = new WorkerSlot("n", task <= 2 ? 1 : 2);
      assertEquals(expected, slots.get(new ExecutorDetails(task, task)), log.toString());
    }
  }

  /** Topology b, executors 1 and 2, ran nowhere, and is where a plan has it; a stays at home. */
  private void onlyBIsPlaced(Cluster cluster) {
    assertEquals(runs(given.cluster(), "a"), runs(cluster, "a"), log.toString());
    WorkerSlot planned = new WorkerSlot("n", 3);
    assertEquals(
        Collections.singleton(planned), new HashSet<>(runs(cluster, "b").values()), log.toString());
  }

  private void logged(String level, String part) {
    assertEquals(1, log.count(level, part), log.toString());
  }

  @Test
  void aPlanIsAppliedAndEqualWorkersAreLeftAlone() {
    prepare(AMPLE_MS);
    Cluster cluster = given.cluster();
    WorkerSlot kept = runs(cluster, "a").get(new ExecutorDetails(1, 1));
    scheduler.schedule(given.topologies(), cluster);
    placedOnN(cluster);
    assertSame(kept, runs(cluster, "a").get(new ExecutorDetails(1, 1)));
    logged("INFO", "a: plan plan-1 by cut applied: 1 workers kept, 1 (re)started: for the test");
    assertEquals(0, log.count("WARN", ""), log.toString());
  }

  @Test
  void onePlanThatChangesNothingIsOneLineInTheLog() {
    given.topology("b", 1, 2).assigned("b", "m", 3, 1, 2, 3);
    TopologyPlan kept = topology("a", worker("n", 1, 1, 2), worker("m", 1, 3, 4));
    brain.think(state -> Plans.plan(state, kept, topology("b", worker("m", 3, 1, 2, 3))));
    prepare(AMPLE_MS);
    round();
    round();
    logged("INFO", "plan plan-1: 2 topologies stay as they run");
    assertEquals(0, log.count("INFO", "applied"), log.toString());
  }

  @Test
  void theBrainSeesTheWholeState() throws Exception {
    ClusterState[] seen = new ClusterState[1];
    brain.think(state -> Plans.plan(seen[0] = state, A_ON_N));
    prepare(AMPLE_MS);
    round();
    assertEquals(described(), seen[0]);
  }

  @Test
  void switchedOff() {
    Map<String, Object> conf = zookeeper.conf(AMPLE_MS);
    conf.put(ShimConfig.ENABLED, false);
    scheduler.prepare(conf);
    asStormsDefault(round());
    logged("INFO", "switched off");
  }

  @Test
  void noAuthFile() {
    Map<String, Object> conf = zookeeper.conf(AMPLE_MS);
    conf.remove(ShimConfig.ZOOKEEPER_AUTH_FILE);
    scheduler.prepare(conf);
    asStormsDefault(round());
    asStormsDefault(round());
    logged("WARN", "is not set, so no brain is asked; Storm's default scheduler decides");
  }

  /** With certificates: python/tests/adapters/test_tls_shim.py. */
  @Test
  void aTlsFolderThatCannotBeUsedMeansNoBrainAtAll() {
    Map<String, Object> conf = zookeeper.conf(AMPLE_MS);
    conf.put(ShimConfig.TLS_FOLDER, folder.resolve("none").toString());
    scheduler.prepare(conf);
    asStormsDefault(round());
    logged("WARN", ShimConfig.TLS_FOLDER + " " + folder.resolve("none") + " cannot be used: ");
  }

  @Test
  void noBrainAtAll() throws Exception {
    brain.close();
    prepare(AMPLE_MS);
    asStormsDefault(round());
    logged("WARN", "cannot be talked to");
    zookeeper.delete("/stormcut");
    asStormsDefault(round());
    logged("WARN", "no brain leads");
  }

  @Test
  void neverPreparedOrWithNothing() {
    asStormsDefault(round());
    scheduler.prepare(null);
    asStormsDefault(round());
    scheduler.schedule(null, null);
    assertTrue(log.count("ERROR", "failed too") == 1, log.toString());
  }

  @Test
  void aRefusalIsPassedOn() {
    brain.think(state -> { throw new Refusal(1, "no\nway"); });
    prepare(AMPLE_MS);
    asStormsDefault(round());
    logged("WARN", "refuses: no way; Storm's default scheduler decides");
  }

  @Test
  void aPlanForAnotherState() {
    brain.think(state -> Plans.plan("00", A_ON_N));
    prepare(AMPLE_MS);
    asStormsDefault(round());
    logged("WARN", "is for another state of the cluster");
  }

  @Test
  void aNewerProtocol() {
    brain.think(state -> Plans.plan(state, A_ON_N).setVersion(2));
    prepare(AMPLE_MS);
    asStormsDefault(round());
    logged("WARN", "plan-1 is refused: it is of protocol version 2, this plugin knows up to 1: up");
  }

  @Test
  void unsoundPartsAreRefusedTheOthersUsed() {
    given.topology("b", 1, 1);
    brain.think(state -> Plans.plan(state, A_ON_N, topology("b", worker("x", 9, 1, 2))));
    prepare(AMPLE_MS);
    Cluster cluster = round();
    placedOnN(cluster);
    assertEquals(2, runs(cluster, "b").size());
    logged("WARN", "topology b: plan plan-1 is refused: slot x:9 is on a node that is not in");
  }

  @Test
  void declinedTopologiesAreStorms() {
    brain.think(state -> {
      Plan plan = Plans.plan(state);
      plan.addToDeclined(new Declined("a", "no evidence"));
      return plan;
    });
    prepare(AMPLE_MS);
    asStormsDefault(round());
    // It runs, so that nothing is the matter: told once.
    asStormsDefault(round());
    logged("INFO", "topology a: plan plan-1 leaves it alone: no evidence");
    assertEquals(0, log.count("WARN", ""), log.toString());
    given.assignments.clear();
    asStormsDefault(round());
    logged("WARN", "topology a: plan plan-1 leaves it alone: no evidence");
  }

  @Test
  void aBrainWithAnotherSecretIsNotBelieved() throws Exception {
    try (TestBrain stranger =
        new TestBrain(state -> Plans.plan(state, A_ON_N), "stormcut:falsch")) {
      zookeeper.lead(stranger.port());
      prepare(AMPLE_MS);
      asStormsDefault(round());
      logged("WARN", "cannot be talked to");
    }
  }

  @Test
  void anAnswerToAnotherQuestionIsNotBelieved() throws Exception {
    Seal seal = new Seal(TestZooKeeper.CREDENTIALS);
    byte[] answer = {1, 2, 3};
    byte[] mac = seal.mac("reply", new byte[Seal.NONCE_BYTES], answer);
    ByteBuffer frame = ByteBuffer.allocate(4 + Seal.REPLY_HEADER_BYTES + answer.length);
    frame.putInt(Seal.REPLY_HEADER_BYTES + answer.length).put(new byte[] {'S', 'C', 'T', 2});
    frame.put(mac).put(answer);
    prepare(AMPLE_MS);
    withAnswer(frame.array(), "signed by another secret, or for another question");
  }

  @Test
  void anUnsignedPublishedPlanIsNotUsed() throws Exception {
    brain.close();
    ClusterState state = described();
    zookeeper.publish(Plans.plan(state, A_ON_N), "aa", 500_000);
    zookeeper.unsignPlan();
    prepare(AMPLE_MS);
    asStormsDefault(round());
    logged("WARN", "the plan in ZooKeeper is not signed by the secret of the auth file");
  }

  @Test
  void anExchangedSecretNeedsNoRestart() throws Exception {
    prepare(AMPLE_MS);
    placedOnN(round());
    zookeeper.exchangeSecret("stormcut:neu");
    try (TestBrain next = new TestBrain(state -> Plans.plan(state, A_ON_N), "stormcut:neu")) {
      zookeeper.lead(next.port());
      placedOnN(round());
      assertEquals(0, log.count("WARN", ""), log.toString());
    }
  }

  @Test
  void aSilentZooKeeperIsNotCalledASilentBrain() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      Map<String, Object> conf = zookeeper.conf(100);
      conf.put("storm.zookeeper.port", (long) silent.getLocalPort());
      scheduler.prepare(conf);
      asStormsDefault(round());
      logged("WARN", "ZooKeeper at 127.0.0.1:" + silent.getLocalPort() + " did not answer within");
    }
  }

  @Test
  void aHangingBrainCostsTheDeadlineOnceAndItsLateReplyPlacesWhatRunsNowhere() throws Exception {
    given.topology("b", 1, 1);
    CountDownLatch answer = new CountDownLatch(1);
    CountDownLatch asked = new CountDownLatch(1);
    brain.think(state -> {
      asked.countDown();
      answer.await();
      return Plans.plan(state, A_ON_N, B_ON_N);
    });
    prepare(1000);
    long start = System.nanoTime();
    asStormsDefault(round());
    assertTrue(System.nanoTime() - start < TimeUnit.SECONDS.toNanos(30));
    logged("WARN", "did not answer within 1000 ms");
    assertTrue(asked.await(30, TimeUnit.SECONDS));
    asStormsDefault(round());
    logged("WARN", "an earlier round's request still waits for the brain; Storm's default");
    answer.countDown();
    // The brain is gone then: what it said late must do.
    brain.think(state -> { throw new Refusal(1, "tired"); });
    awaitLateReply();
    onlyBIsPlaced(round());
    assertTrue(log.count("WARN", "for this same state places what runs nowhere") > 0, log.toString());
  }

  private void awaitLateReply() throws InterruptedException {
    while (true) {
      Cluster cluster = round();
      if (runs(cluster, "b").containsValue(new WorkerSlot("n", 3))) {
        return;
      }
      Thread.sleep(20);
    }
  }

  @Test
  void aRequestThatHangsTooLongIsCutOff() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      given.topology("b", 1, 1);
      brain.think(state -> Plans.plan(state, A_ON_N, B_ON_N));
      zookeeper.lead(silent.getLocalPort());
      prepare(50);
      // The first rounds may go by while ZooKeeper connects.
      try (Socket accepted = acceptWhileScheduling(silent)) {
        while (log.count("WARN", "cut off") == 0 && log.count("WARN", "timed out") == 0) {
          asStormsDefault(round());
          Thread.sleep(20);
        }
        zookeeper.lead(brain.port());
        awaitLateReply();
      }
    }
  }

  private Socket acceptWhileScheduling(ServerSocket server) throws Exception {
    server.setSoTimeout(20);
    while (true) {
      asStormsDefault(round());
      try {
        return server.accept();
      } catch (java.net.SocketTimeoutException notYet) {
        continue;
      }
    }
  }

  private void withAnswer(byte[] answer, String logged) throws Exception {
    try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      zookeeper.lead(server.getLocalPort());
      Thread liar = new Thread(() -> answerOnce(server, answer));
      liar.start();
      asStormsDefault(round());
      logged("WARN", logged);
      liar.join();
    }
  }

  private static void answerOnce(ServerSocket server, byte[] answer) {
    try (Socket socket = server.accept();
        InputStream in = socket.getInputStream();
        OutputStream out = socket.getOutputStream()) {
      in.read(new byte[1 << 16]);
      out.write(answer);
    } catch (java.io.IOException hungUp) {
      return;
    }
  }

  @Test
  void garbageAndOversizedFrames() throws Exception {
    prepare(AMPLE_MS);
    withAnswer("HTTP/1.1 400 Bad Request\r\n\r\n".getBytes("UTF-8"), "answer of 1213486160");
    withAnswer(new byte[] {4, 0, 0, 1, 0, 0, 0, 0}, "answer of 67108865 bytes, larger than any");
    withAnswer(new byte[] {0, 0, 0, 4, -128, 2, 3, 4}, "is not signed by the secret");
    withAnswer(new byte[] {-1, -1, -1, -1, 0}, "answer of -1 bytes");
  }

  @Test
  void aReplyLargerThanAnyPlanForThisClusterIsNotRead() {
    brain.think(state -> {
      Plan plan = Plans.plan(state, A_ON_N);
      for (int number = 0; number < 100_000; number++) {
        plan.addToDeclined(new Declined("t" + number, ""));
      }
      return plan;
    });
    prepare(AMPLE_MS);
    asStormsDefault(round());
    logged("WARN", "larger than any plan for this cluster: it is not read");
  }

  @Test
  void aPublishedPlanLargerThanAnyForThisClusterIsNotUsed() throws Exception {
    brain.close();
    ClusterState state = described();
    Plan plan = Plans.plan(state, A_ON_N);
    plan.addToDeclined(new Declined("b", String.join("", Collections.nCopies(1 << 20, "x"))));
    zookeeper.publish(plan, "aa", 500_000);
    prepare(AMPLE_MS);
    asStormsDefault(round());
    logged("WARN", "is larger than any plan for this cluster");
  }

  @Test
  void aReplyForAnotherStateIsNotKept() {
    ClusterState now = described();
    given.topology("b", 1, 1);
    brain.think(state -> Plans.plan(now, A_ON_N));
    prepare(AMPLE_MS);
    asStormsDefault(round());
    brain.close();
    given.topologies.remove("b");
    asStormsDefault(round());
  }

  @Test
  void aBrainThatDiesWhileItPlans() throws Exception {
    prepare(AMPLE_MS);
    withAnswer(new byte[0], "cannot be talked to");
  }

  @Test
  void thePublishedPlanServesARestartedNimbusWithoutABrain() throws Exception {
    given.topology("b", 1, 1);
    brain.close();
    ClusterState state = described();
    zookeeper.publish(Plans.plan(state, A_ON_N, B_ON_N), "aa", 50);
    prepare(AMPLE_MS);
    onlyBIsPlaced(round());
    logged("WARN", "plan plan-1 for this same state places what runs nowhere");
  }

  @Test
  void aDamagedPublishedPlanIsNamedAndTheBrainStillAsked() throws Exception {
    zookeeper.put("/stormcut/plan", "?".getBytes("UTF-8"), ZooDefs.Ids.CREATOR_ALL_ACL);
    prepare(AMPLE_MS);
    placedOnN(round());
    logged("WARN", "the plan in ZooKeeper is not JSON");
  }

  @Test
  void whatRunsAsAnOlderPlanSaidIsLeftAlone() {
    // One worker where two are allowed: Storm's default would spread it.
    TopologyPlan together = topology("a", worker("n", 1, 1, 2, 3, 4));
    brain.think(state -> Plans.plan(state, together));
    prepare(AMPLE_MS);
    Cluster cluster = round();
    Set<WorkerSlot> one = Collections.singleton(new WorkerSlot("n", 1));
    assertEquals(one, cluster.getAssignmentById("a").getSlots());
    brain.close();
    given.assignments.clear();
    given.assigned("a", "n", 1, 1, 2, 3, 4).topology("b", 1, 1);
    Cluster next = round();
    assertEquals(one, next.getAssignmentById("a").getSlots());
    assertEquals(2, runs(next, "b").size());
    given.assignments.get("a").unassignBySlot(new WorkerSlot("n", 1));
    given.assigned("a", "n", 1, 1, 2, 3);
    assertEquals(4, runs(round(), "a").size(), "an executor died: Storm's default decides");
  }

  /** All of topology a in one worker of m, as a plan wanted; then there is no brain any more. */
  private void packedOnM() {
    TopologyPlan together = topology("a", worker("m", 1, 1, 2, 3, 4));
    brain.think(state -> Plans.plan(state, together));
    prepare(AMPLE_MS);
    round();
    brain.close();
    given.assignments.clear();
    given.assigned("a", "m", 1, 1, 2, 3, 4);
  }

  private void staysOnM(Cluster cluster) {
    Set<WorkerSlot> one = Collections.singleton(new WorkerSlot("m", 1));
    assertEquals(one, cluster.getAssignmentById("a").getSlots(), log.toString());
    assertEquals(4, runs(cluster, "a").size(), log.toString());
  }

  @Test
  void workersThatOutliveTheirSupervisorStay() {
    packedOnM();
    given.supervisors.remove("m");
    staysOnM(round());
    given.supervisor("m", 1, 2, 3);
    staysOnM(round());
  }

  @Test
  void aPlanMayKeepWorkersThatOutliveTheirSupervisorButStartNone() {
    packedOnM();
    given.supervisors.remove("m");
    PlanCheck kept =
        PlanCheck.topologies(
            Plans.plan("", topology("a", worker("m", 1, 1, 2, 3, 4))),
            given.topologies(),
            given.cluster());
    assertEquals(Collections.emptyMap(), kept.refused());
    PlanCheck other =
        PlanCheck.topologies(
            Plans.plan("", topology("a", worker("m", 1, 1, 2, 3), worker("m", 2, 4))),
            given.topologies(),
            given.cluster());
    assertTrue(other.refused().get("a").contains("not in the cluster"));
  }

  @Test
  void placementsSurviveARestartOfNimbusWithoutABrain() throws Exception {
    packedOnM();
    StormcutScheduler restarted = new StormcutScheduler();
    zookeeper.delete("/stormcut");
    restarted.prepare(zookeeper.conf(AMPLE_MS));
    Cluster cluster = given.cluster();
    restarted.schedule(given.topologies(), cluster);
    staysOnM(cluster);
  }

  @Test
  void switchedOffAfterAPlanNothingMoves() {
    packedOnM();
    Map<String, Object> conf = zookeeper.conf(AMPLE_MS);
    conf.put(ShimConfig.ENABLED, false);
    StormcutScheduler off = new StormcutScheduler();
    off.prepare(conf);
    Cluster cluster = given.cluster();
    off.schedule(given.topologies(), cluster);
    staysOnM(cluster);
    // But what is rebalanced then is Storm's.
    given.assignments.clear();
    Cluster rebalanced = given.cluster();
    off.schedule(given.topologies(), rebalanced);
    assertEquals(2, rebalanced.getAssignmentById("a").getSlots().size());
  }

  @Test
  void aDamagedFileOfPlacementsIsNamedAndForgotten() throws Exception {
    packedOnM();
    java.nio.file.Files.write(zookeeper.appliedFile(), new byte[] {'{', 0, -1});
    StormcutScheduler restarted = new StormcutScheduler();
    zookeeper.delete("/stormcut");
    restarted.prepare(zookeeper.conf(AMPLE_MS));
    asStormsDefault(round(restarted));
    logged("WARN", "stormcut-applied.json, cannot be read");
  }

  private Cluster round(StormcutScheduler other) {
    Cluster cluster = given.cluster();
    other.schedule(given.topologies(), cluster);
    return cluster;
  }

  /** Topology a was planned in a worker on n and one on m; that on m and the brain are gone. */
  private void loseTheWorkerOnM() {
    given.topology("a", 3, 5);
    TopologyPlan two = topology("a", worker("n", 1, 1, 2), worker("m", 1, 3, 4, 5, 6));
    brain.think(state -> Plans.plan(state, two));
    prepare(AMPLE_MS);
    round();
    brain.close();
    given.assignments.clear();
    given.assigned("a", "n", 1, 1, 2);
  }

  @Test
  void aLostWorkerStartsAnewWithoutABrainAndTheOthersStay() {
    loseTheWorkerOnM();
    given.supervisors.remove("m");
    Map<ExecutorDetails, WorkerSlot> now = runs(round(), "a");
    for (int task = 1; task <= 6; task++) {
      WorkerSlot expected = new WorkerSlot("n", task <= 2 ? 1 : 2);
      assertEquals(expected, now.get(new ExecutorDetails(task, task)), log.toString());
    }
    logged("INFO", "topology a: lost workers start again");
  }

  @Test
  void aLostWorkerStartsOnANodeThatHasNotLostIt() {
    loseTheWorkerOnM();
    // Nimbus still lists the dead node.
    assertEquals("n", runs(round(), "a").get(new ExecutorDetails(3, 3)).getNodeId());
  }

  @Test
  void withoutASlotOnSuchANodeStormDecides() {
    loseTheWorkerOnM();
    given.supervisor("n", 1);
    asStormsDefault(round());
    assertEquals(0, log.count("INFO", "lost workers start again"), log.toString());
  }

  /** It was moved back since by hand, and rests on nothing that is known today. */
  @Test
  void aPlanOfAnyAgeMovesNothingWithoutAController() throws Exception {
    brain.close();
    zookeeper.publish(Plans.plan(described(), A_ON_N), "aa", 50);
    prepare(AMPLE_MS);
    Map<ExecutorDetails, WorkerSlot> home = runs(given.cluster(), "a");
    assertEquals(home, runs(round(), "a"), log.toString());
    logged("WARN", "which only an answer in time may");
  }

  /** `pause` is acknowledged between a late answer and the next one, which is late as well. */
  @Test
  void anAnswerOfBeforeAPauseMovesNothing() throws Exception {
    CountDownLatch late = new CountDownLatch(1);
    CountDownLatch never = new CountDownLatch(1);
    brain.think(state -> {
      late.await();
      return Plans.plan(state, A_ON_N);
    });
    prepare(500);
    Map<ExecutorDetails, WorkerSlot> home = runs(given.cluster(), "a");
    assertEquals(home, runs(round(), "a"), log.toString());
    brain.think(state -> {
      never.await();
      return null;
    });
    late.countDown();
    while (log.count("WARN", "which only an answer in time may") == 0) {
      assertEquals(home, runs(round(), "a"), log.toString());
    }
    never.countDown();
  }

  /** Of a leader that is no more: the newer plan, an undo, is published, and its brain is slow. */
  @Test
  void anOlderAnswerDoesNotOutliveANewerPublishedPlan() throws Exception {
    prepare(2000);
    placedOnN(round());
    CountDownLatch never = new CountDownLatch(1);
    brain.think(state -> {
      never.await();
      return null;
    });
    TopologyPlan home = topology("a", worker("n", 1, 1, 2), worker("m", 1, 3, 4));
    zookeeper.publish(Plans.plan(described(), home), "bb", 50);
    assertEquals(runs(given.cluster(), "a"), runs(round(), "a"), log.toString());
    never.countDown();
  }

  @Test
  void aPlanThatStarvesAnotherTopologyGivesWay() {
    given.topology("b", 1, 1);
    brain.think(state -> Plans.plan(state, topology("a",
        worker("n", 1, 1), worker("n", 2, 2), worker("m", 1, 3), worker("m", 2, 4))));
    given.supervisors.clear();
    given.supervisor("n", 1, 2).supervisor("m", 1, 2);
    prepare(AMPLE_MS);
    asStormsDefault(round());
    logged("WARN", "would leave no slot for executors of [b]");
    logged("WARN", "(plan plan-1)");
    assertEquals(0, log.count("INFO", "applied"));
  }
}
