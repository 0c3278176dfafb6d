package io.stormcut;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;

/**
 * Starts again, each in one slot, the workers that a planned topology has lost, where no plan says
 * what to do.
 *
 * <p>Storm's default scheduler would spread all of the topology over as many workers as it may use.
 */
final class LostWorkers {
  private LostWorkers() {}

  /**
   * Assign the executors of lost workers.
   *
   * @param applied where a plan has put the topology
   * @return where it is now, or null if that is not known or there are too few slots on nodes that
   *     have not just lost it: then nothing was assigned
   */
  static Placement restart(TopologyDetails topology, Placement applied, Cluster cluster) {
    Placement running = Placement.running(topology.getId(), cluster);
    // Nothing runs: it was perhaps rebalanced, to other numbers of workers.
    if (running.slots().isEmpty() || !isRest(running, applied)) {
      return null;
    }
    Map<WorkerSlot, Set<ExecutorDetails>> lost = new HashMap<>(applied.workers());
    lost.keySet().removeAll(running.slots());
    Set<ExecutorDetails> executors = new HashSet<>();
    lost.values().forEach(executors::addAll);
    if (!executors.equals(new HashSet<>(cluster.getUnassignedExecutors(topology)))) {
      return null;
    }
    Map<WorkerSlot, Set<ExecutorDetails>> placed = inFreeSlots(lost, suspects(applied, running), cluster);
    if (placed == null) {
      return null;
    }
    placed.forEach((slot, of) -> cluster.assign(slot, topology.getId(), new ArrayList<>(of)));
    return Placement.running(topology.getId(), cluster);
  }

  /**
   * Nodes that have lost all of a topology's workers while others of it live: most likely dead,
   * though Nimbus lists them for a while.
   */
  static Set<String> suspects(Placement applied, Placement running) {
    Set<String> suspects = new HashSet<>();
    if (applied != null && !running.slots().isEmpty()) {
      suspects.addAll(nodes(applied.slots()));
      suspects.removeAll(nodes(running.slots()));
    }
    return suspects;
  }

  private static boolean isRest(Placement running, Placement applied) {
    return running.slots().stream().allMatch(slot -> running.sameWorker(applied, slot));
  }

  /**
   * Each worker where it was, if that slot is free, else on the node with most free slots; never on
   * a suspect.
   */
  private static Map<WorkerSlot, Set<ExecutorDetails>> inFreeSlots(
      Map<WorkerSlot, Set<ExecutorDetails>> lost, Set<String> suspects, Cluster cluster) {
    Set<WorkerSlot> free = new HashSet<>(cluster.getAvailableSlots());
    free.removeIf(slot -> suspects.contains(slot.getNodeId()));
    Map<WorkerSlot, Set<ExecutorDetails>> placed = new HashMap<>();
    List<Set<ExecutorDetails>> elsewhere = new ArrayList<>();
    lost.forEach(
        (slot, executors) -> {
          if (free.remove(slot)) {
            placed.put(slot, executors);
          } else {
            elsewhere.add(executors);
          }
        });
    for (Set<ExecutorDetails> executors : elsewhere) {
      WorkerSlot best = free.stream().min(order(free)).orElse(null);
      if (best == null) {
        return null;
      }
      free.remove(best);
      placed.put(best, executors);
    }
    return placed;
  }

  private static Set<String> nodes(Set<WorkerSlot> slots) {
    Set<String> nodes = new HashSet<>();
    slots.forEach(slot -> nodes.add(slot.getNodeId()));
    return nodes;
  }

  private static Comparator<WorkerSlot> order(Set<WorkerSlot> free) {
    Map<String, Integer> on = new HashMap<>();
    free.forEach(slot -> on.merge(slot.getNodeId(), 1, Integer::sum));
    return Comparator.comparingInt((WorkerSlot slot) -> -on.get(slot.getNodeId()))
        .thenComparing(WorkerSlot::getNodeId)
        .thenComparingInt(WorkerSlot::getPort);
  }
}
