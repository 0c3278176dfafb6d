package io.stormcut;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.SchedulerAssignmentImpl;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;

/** A copy of all that a cluster has assigned, to return to. */
final class Assignments {
  private final Map<String, SchedulerAssignment> byTopology = new HashMap<>();

  private Assignments() {}

  static Assignments of(Cluster cluster) {
    Assignments copy = new Assignments();
    cluster
        .getAssignments()
        .forEach(
            (id, assignment) ->
                copy.byTopology.put(
                    id,
                    new SchedulerAssignmentImpl(
                        assignment.getTopologyId(), assignment.getExecutorToSlot())));
    return copy;
  }

  void restore(Cluster cluster) {
    cluster.setAssignments(byTopology);
  }

  /** Whether these topologies run in a cluster as they do here. */
  boolean holds(Set<String> topologies, Cluster cluster) {
    for (String id : topologies) {
      SchedulerAssignment here = byTopology.get(id);
      SchedulerAssignment there = cluster.getAssignmentById(id);
      if (here != null
          && (there == null || !here.getExecutorToSlot().equals(there.getExecutorToSlot()))) {
        return false;
      }
    }
    return true;
  }

  /** How many workers of this copy a cluster no longer has, or with other executors. */
  int ended(Cluster cluster) {
    int ended = 0;
    for (Map.Entry<String, SchedulerAssignment> entry : byTopology.entrySet()) {
      Placement here = Placement.of(entry.getValue());
      Placement there = Placement.running(entry.getKey(), cluster);
      ended += (int) here.slots().stream().filter(slot -> !here.sameWorker(there, slot)).count();
    }
    return ended;
  }

  /** Topology id to its unassigned executors, if any. */
  static Map<String, Set<ExecutorDetails>> missing(Topologies topologies, Cluster cluster) {
    Map<String, Set<ExecutorDetails>> missing = new HashMap<>();
    for (TopologyDetails topology : topologies.getTopologies()) {
      Set<ExecutorDetails> executors = new HashSet<>(cluster.getUnassignedExecutors(topology));
      if (!executors.isEmpty()) {
        missing.put(topology.getId(), executors);
      }
    }
    return missing;
  }
}
