package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.junit.jupiter.api.Test;

/** Topology a, executors 1 to 6, was put on n:1 (1, 2), m:1 (3, 4) and o:1 (5, 6). */
class LostWorkersTest {
  private final Clusters given =
      new Clusters().supervisor("n", 1, 2).supervisor("m", 1).supervisor("o", 1).topology("a", 3, 5);
  private final Placement applied = placement(slot("n", 1), slot("m", 1), slot("o", 1));

  private static WorkerSlot slot(String node, int port) {
    return new WorkerSlot(node, port);
  }

  private static Placement placement(WorkerSlot... slots) {
    Map<WorkerSlot, Set<ExecutorDetails>> workers = new HashMap<>();
    int task = 1;
    for (WorkerSlot slot : slots) {
      workers.put(slot, new HashSet<>(Clusters.executors(task, task + 1)));
      task += 2;
    }
    return Placement.of(workers);
  }

  private Placement restart(Cluster cluster) {
    return LostWorkers.restart(given.topologies.get("a"), applied, cluster);
  }

  @Test
  void eachGoesToASlotOfItsOwnOnTheEmptiestNode() {
    given.supervisor("p", 1, 2, 3).assigned("a", "n", 1, 1, 2);
    assertEquals(
        new HashSet<>(Arrays.asList(slot("n", 1), slot("p", 1), slot("p", 2))),
        restart(given.cluster()).slots());
  }

  @Test
  void withTooFewSlotsNothingIsAssigned() {
    given.assigned("a", "n", 1, 1, 2);
    Cluster cluster = given.cluster();
    assertNull(restart(cluster), "two workers are lost, and n:2 alone is on no node that lost them");
    assertEquals(Collections.singleton(slot("n", 1)), Placement.running("a", cluster).slots());
  }

  @Test
  void whatRunsOtherwiseByNowIsLeftToStorm() {
    given.supervisor("p", 1, 2, 3).assigned("a", "n", 1, 1).assigned("a", "m", 1, 2, 3, 4);
    assertNull(restart(given.cluster()));
  }

  @Test
  void soIsWhatRunsNowhere() {
    assertNull(restart(given.cluster()));
  }
}
