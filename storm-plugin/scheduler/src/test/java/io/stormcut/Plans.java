package io.stormcut;

import io.stormcut.protocol.ClusterState;
import io.stormcut.protocol.Plan;
import io.stormcut.protocol.Slot;
import io.stormcut.protocol.TopologyPlan;
import io.stormcut.protocol.Worker;
import java.util.ArrayList;
import java.util.Arrays;

/** Plans as a brain would write them. */
final class Plans {
  private Plans() {}

  static Plan plan(String fingerprint, TopologyPlan... topologies) {
    return new Plan(
        1, "plan-1", fingerprint, 0, new ArrayList<>(Arrays.asList(topologies)), new ArrayList<>());
  }

  static Plan plan(ClusterState state, TopologyPlan... topologies) {
    return plan(state.getFingerprint(), topologies);
  }

  static TopologyPlan topology(String id, Worker... workers) {
    return new TopologyPlan(id, new ArrayList<>(Arrays.asList(workers)), "cut", "for the test");
  }

  static Worker worker(String node, int port, Integer... executors) {
    return new Worker(new Slot(node, port), new ArrayList<>(Arrays.asList(executors)));
  }
}
