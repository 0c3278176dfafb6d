package io.stormcut;

import static io.stormcut.Plans.topology;
import static io.stormcut.Plans.worker;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stormcut.protocol.Plan;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.DefaultScheduler;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.WorkerSlot;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What a round takes back where a plan would leave others without a slot. */
class RoundTest {
  private static final Integer[] ALL = {1, 2, 3, 4, 5, 6, 7, 8, 9};

  private final Warnings warnings =
      new Warnings(LoggerFactory.getLogger(Round.class), System::nanoTime);
  private final DefaultScheduler storm = new DefaultScheduler();
  private final Clusters given = new Clusters();

  @BeforeEach
  void prepare() {
    storm.prepare(new HashMap<>());
  }

  /** Nine executors that may use four workers, in one. */
  private void packed(String id, String node) {
    given.topology(id, 4, 8).assigned(id, node, 6700, ALL);
  }

  private static Set<String> slots(Cluster cluster, String id) {
    Set<String> slots = new TreeSet<>();
    Placement.running(id, cluster).slots().forEach(s -> slots.add(s.getNodeId() + s.getPort()));
    return slots;
  }

  @Test
  void whatStaysAsAPlanWantedIsNotSpreadWithWhatIsTakenBack() {
    given.supervisor("n", 6700, 6701, 6702).supervisor("m", 6700, 6701, 6702);
    packed("p-1-1", "n");
    packed("q-2-1", "m");
    given.topology("x-3-1", 1, 2).topology("y-4-1", 2, 3);
    Cluster cluster = given.cluster();
    Plan plan = Plans.plan("",
        topology("p-1-1", worker("n", 6700, ALL)),
        topology("q-2-1", worker("m", 6700, ALL)),
        topology("y-4-1", worker("n", 6701, 1), worker("n", 6702, 2),
            worker("m", 6701, 3), worker("m", 6702, 4)));
    Round round = new Round(given.topologies(), cluster, storm);
    round.apply(plan);
    Map<String, Set<ExecutorDetails>> worse =
        round.finish(AppliedPlacements.in(null, warnings), Collections.singletonList(plan));
    assertEquals(Collections.singleton("x-3-1"), worse.keySet());
    assertEquals(Collections.singleton("n6700"), slots(cluster, "p-1-1"));
    assertEquals(Collections.singleton("m6700"), slots(cluster, "q-2-1"));
    assertEquals(1, slots(cluster, "x-3-1").size());
    assertEquals(2, slots(cluster, "y-4-1").size());
    assertEquals(new TreeSet<>(Arrays.asList("p-1-1", "q-2-1")),
        new TreeSet<>(round.placed().keySet()));
    assertTrue(Assignments.missing(given.topologies(), cluster).isEmpty());
  }

  @Test
  void aPlanStandsWhereStormAloneWouldLeaveAsMuchUnassigned() {
    given.supervisor("n", 6700).supervisor("m", 6700).topology("x-3-1", 1, 2);
    packed("p-1-1", "n");
    packed("q-2-1", "m");
    Cluster cluster = given.cluster();
    Plan exchange = Plans.plan("",
        topology("p-1-1", worker("m", 6700, ALL)), topology("q-2-1", worker("n", 6700, ALL)));
    Round round = new Round(given.topologies(), cluster, storm);
    round.apply(exchange);
    AppliedPlacements none = AppliedPlacements.in(null, warnings);
    assertTrue(round.finish(none, Collections.singletonList(exchange)).isEmpty());
    assertEquals(Collections.singleton("m6700"), slots(cluster, "p-1-1"));
    assertEquals(Collections.singleton("n6700"), slots(cluster, "q-2-1"));
    assertEquals(2, round.placed().size());
  }

  /** What the plugin remembers of a plan that put a topology as it ran `earlier`. */
  private AppliedPlacements applied(Clusters earlier, String id) {
    Cluster ran = earlier.cluster();
    AppliedPlacements applied = AppliedPlacements.in(null, warnings);
    applied.update(
        Collections.singletonMap(id, Placement.running(id, ran)), earlier.topologies(), ran);
    return applied;
  }

  /** Each has lost a worker, and a node's supervisor is away while its workers run. */
  @Test
  void lostWorkersDoNotRestartWhereStormWouldThenEndOthers() {
    given.supervisor("n0", 6700, 6701).supervisor("n1", 6700, 6701);
    given.topology("t0-0-1", 3, 3)
        .assigned("t0-0-1", "n1", 6700, 1, 4).assigned("t0-0-1", "n3", 6700, 2);
    given.topology("t1-1-1", 3, 3)
        .assigned("t1-1-1", "n1", 6701, 3).assigned("t1-1-1", "n3", 6701, 1, 4);
    Clusters earlier = new Clusters();
    earlier.topology("t1-1-1", 3, 3).assigned("t1-1-1", "n1", 6701, 3)
        .assigned("t1-1-1", "n3", 6701, 1, 4).assigned("t1-1-1", "n2", 6700, 2);
    AppliedPlacements applied = applied(earlier, "t1-1-1");

    Assignments before = Assignments.of(given.cluster());
    Cluster alone = given.cluster();
    storm.schedule(given.topologies(), alone);
    assertEquals(0, before.ended(alone));
    Cluster cluster = given.cluster();
    Round round = new Round(given.topologies(), cluster, storm);
    assertTrue(round.finish(applied, Collections.emptyList()).isEmpty());
    assertEquals(0, before.ended(cluster));
    assertTrue(Assignments.missing(given.topologies(), cluster).isEmpty());
    assertTrue(round.restarted().isEmpty());
  }

  /** Storm spreads another topology in any case, which ends its worker. */
  @Test
  void lostWorkersRestartWhereStormWouldEndAsManyWithoutThat() {
    given.supervisor("n0", 6700, 6701, 6702, 6703).supervisor("n1", 6700, 6701, 6702, 6703);
    packed("p-1-1", "n0");
    given.topology("t1-1-1", 2, 3).assigned("t1-1-1", "n1", 6701, 3, 4);
    Clusters earlier = new Clusters();
    earlier.topology("t1-1-1", 2, 3)
        .assigned("t1-1-1", "n1", 6701, 3, 4).assigned("t1-1-1", "n2", 6700, 1, 2);
    AppliedPlacements applied = applied(earlier, "t1-1-1");

    Cluster cluster = given.cluster();
    Round round = new Round(given.topologies(), cluster, storm);
    assertTrue(round.finish(applied, Collections.emptyList()).isEmpty());
    assertEquals(4, slots(cluster, "p-1-1").size());
    assertEquals(Collections.singleton("t1-1-1"), round.restarted().keySet());
    assertEquals(round.restarted(), round.placed());
    assertEquals(round.restarted().get("t1-1-1"), Placement.running("t1-1-1", cluster));
    assertEquals(2, slots(cluster, "t1-1-1").size());
    assertEquals(1, Assignments.of(given.cluster()).ended(cluster));
  }

  /** One slot is free: Storm alone gives it to a new topology, and leaves what was lost. */
  @Test
  void aRestartThatTakesTheSlotOfAnotherTopologyIsTakenBack() {
    given.supervisor("n0", 6700).supervisor("n1", 6701);
    given.topology("t1-1-1", 2, 3).assigned("t1-1-1", "n1", 6701, 3, 4);
    given.topology("a-0-1", 1, 2);
    Clusters earlier = new Clusters();
    earlier.topology("t1-1-1", 2, 3)
        .assigned("t1-1-1", "n1", 6701, 3, 4).assigned("t1-1-1", "n2", 6700, 1, 2);
    AppliedPlacements applied = applied(earlier, "t1-1-1");

    Cluster alone = given.cluster();
    storm.schedule(given.topologies(), alone);
    assertEquals(Collections.singleton("n06700"), slots(alone, "a-0-1"));
    Cluster cluster = given.cluster();
    Round round = new Round(given.topologies(), cluster, storm);
    Map<String, Set<ExecutorDetails>> worse = round.finish(applied, Collections.emptyList());
    assertEquals(Collections.singleton("a-0-1"), worse.keySet());
    assertTrue(round.restarted().isEmpty());
    assertEquals(Collections.singleton("n06700"), slots(cluster, "a-0-1"));
    assertEquals(Collections.singleton("n16701"), slots(cluster, "t1-1-1"));
  }

  /** A topology in one worker, which Storm's default would spread over four. */
  private Set<String> afterRemembering(Plan... remembered) {
    given.supervisor("n", 6700, 6701, 6702, 6703);
    packed("p-1-1", "n");
    Cluster cluster = given.cluster();
    new Round(given.topologies(), cluster, storm)
        .finish(AppliedPlacements.in(null, warnings), Arrays.asList(remembered));
    return slots(cluster, "p-1-1");
  }

  @Test
  void whatRunsAsARememberedPlanSaysIsLeftAlone() {
    Plan other = Plans.plan("", topology("q-2-1", worker("n", 6701, ALL)));
    Plan wanted = Plans.plan("",
        topology("q-2-1", worker("n", 6701, ALL)), topology("p-1-1", worker("n", 6700, ALL)));
    assertEquals(Collections.singleton("n6700"), afterRemembering(other, wanted));
  }

  @Test
  void whatRunsOtherwiseIsStorms() {
    Plan other = Plans.plan("", topology("p-1-1", worker("n", 6701, ALL)));
    Plan ofOtherExecutors = Plans.plan("", topology("p-1-1", worker("n", 6700, 1, 2, 99)));
    assertEquals(4, afterRemembering(other, ofOtherExecutors).size());
  }

  @Test
  void aSchedulerThatMovesWhatAPlanPlacedIsCaughtAndAllIsGivenUp() {
    given.supervisor("n", 6700, 6701, 6702, 6703);
    packed("p-1-1", "n");
    Cluster cluster = given.cluster();
    List<Set<String>> seen = new ArrayList<>();
    IScheduler restless = new IScheduler() {
      @Override
      public void prepare(Map conf) {}

      @Override
      public void schedule(Topologies topologies, Cluster at) {
        seen.add(slots(at, "p-1-1"));
        at.freeSlots(new HashSet<>(at.getAssignmentById("p-1-1").getSlots()));
        at.assign(new WorkerSlot("n", 6703), "p-1-1", Clusters.executors(ALL));
      }
    };
    Round round = new Round(given.topologies(), cluster, restless);
    round.apply(Plans.plan("", topology("p-1-1", worker("n", 6702, ALL))));
    assertEquals(Collections.singleton("n6702"), slots(cluster, "p-1-1"));
    AppliedPlacements none = AppliedPlacements.in(null, warnings);
    assertThrows(
        IllegalStateException.class, () -> round.finish(none, Collections.emptyList()));
    round.giveUp();
    assertEquals(Collections.singleton("n6700"), seen.get(1), "it begins from what ran before");
    assertEquals(Collections.singleton("n6703"), slots(cluster, "p-1-1"));
    assertTrue(round.placed().isEmpty());
  }
}
