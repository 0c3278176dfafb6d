package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stormcut.protocol.ClusterState;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** Requests that hang, and what is said of those that fail. */
@Timeout(120)
class PlanSourceTest {
  @TempDir Path folder;
  private final Warnings warnings =
      new Warnings(LoggerFactory.getLogger(PlanSource.class), System::nanoTime);
  private final Clusters given = new Clusters().supervisor("n", 1).topology("a", 1, 1);

  private String refusal(PlanSource source) {
    ClusterState state = StateReader.read(given.topologies(), given.cluster(), warnings);
    return assertThrows(BrainTrouble.class, () -> source.ask(state)).getMessage();
  }

  private static boolean isAsking() {
    return Thread.getAllStackTraces().keySet().stream()
        .anyMatch(each -> each.getName().equals("stormcut-brain-request") && each.isDaemon());
  }

  /** A ZooKeeper that says nothing: the request is cut off, and the next round asks again. */
  @Test
  void whatHangsIsCutOffAndAskedAgain() throws Exception {
    try (TestZooKeeper zookeeper = new TestZooKeeper(folder);
        ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      Map<String, Object> conf = zookeeper.conf(50);
      conf.put("storm.zookeeper.port", (long) silent.getLocalPort());
      PlanSource source = new PlanSource(ShimConfig.from(conf), warnings);
      for (int turn = 0; turn < 2; turn++) {
        String late = refusal(source);
        assertTrue(late.contains("did not answer within 50 ms"), late);
        assertTrue(isAsking(), "Nimbus must be able to end while it hangs");
        String said = refusal(source);
        while (said.contains("still waits for ZooKeeper")) {
          Thread.sleep(10);
          said = refusal(source);
        }
        assertTrue(said.contains("is cut off: it hangs at ZooKeeper"), said);
        // The thread ends a moment later.
        while (isAsking()) {
          Thread.sleep(10);
        }
      }
    }
  }

  @Test
  void whyThereIsNoBrainIsSaidAsItIs() throws Exception {
    try (TestZooKeeper zookeeper = new TestZooKeeper(folder)) {
      PlanSource source = new PlanSource(ShimConfig.from(zookeeper.conf(10_000)), warnings);
      assertEquals(
          "no brain leads (ZooKeeper has no /stormcut/leader)", refusal(source));
    }
  }
}
