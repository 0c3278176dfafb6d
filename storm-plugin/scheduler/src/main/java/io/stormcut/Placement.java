package io.stormcut;

import io.stormcut.protocol.TopologyPlan;
import io.stormcut.protocol.Worker;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;

/** Which executors of one topology share which slot: a value. */
final class Placement {
  private final Map<WorkerSlot, Set<ExecutorDetails>> workers;

  private Placement(Map<WorkerSlot, Set<ExecutorDetails>> workers) {
    this.workers = workers;
  }

  static Placement of(Map<WorkerSlot, Set<ExecutorDetails>> workers) {
    return new Placement(new HashMap<>(workers));
  }

  /** What runs now, without executors that the topology no longer has. */
  static Placement current(TopologyDetails topology, Cluster cluster) {
    Placement running = running(topology.getId(), cluster);
    running.workers.values().forEach(executors -> executors.retainAll(topology.getExecutors()));
    running.workers.values().removeIf(Set::isEmpty);
    return running;
  }

  /** What Nimbus has assigned, be it the topology's or not. */
  static Placement running(String topology, Cluster cluster) {
    return of(cluster.getAssignmentById(topology));
  }

  /** What an assignment says; nothing if there is none. */
  static Placement of(SchedulerAssignment assignment) {
    Map<WorkerSlot, Set<ExecutorDetails>> workers = new HashMap<>();
    if (assignment != null) {
      assignment
          .getExecutorToSlot()
          .forEach((e, slot) -> workers.computeIfAbsent(slot, s -> new HashSet<>()).add(e));
    }
    return new Placement(workers);
  }

  /**
   * What a plan wants.
   *
   * @throws Unusable if a slot or an executor occurs twice, a worker is empty, or the plan's
   *     executors are not exactly the topology's
   */
  static Placement planned(TopologyPlan plan, TopologyDetails topology) throws Unusable {
    Map<Integer, ExecutorDetails> missing = new HashMap<>();
    topology.getExecutors().forEach(e -> missing.put(e.getStartTask(), e));
    Map<WorkerSlot, Set<ExecutorDetails>> workers = new HashMap<>();
    for (Worker worker : plan.getWorkers()) {
      WorkerSlot slot = new WorkerSlot(worker.getSlot().getNode(), worker.getSlot().getPort());
      Set<ExecutorDetails> executors = new HashSet<>();
      for (int task : worker.getExecutors()) {
        ExecutorDetails executor = missing.remove(task);
        if (executor == null) {
          throw new Unusable("executor " + task + " is not the topology's, or is placed twice");
        }
        executors.add(executor);
      }
      if (executors.isEmpty()) {
        throw new Unusable("slot " + slot + " has no executors");
      }
      if (workers.put(slot, executors) != null) {
        throw new Unusable("slot " + slot + " is named twice");
      }
    }
    if (!missing.isEmpty()) {
      throw new Unusable(
          missing.size() + " of its executors are not placed, one is " + first(missing.keySet()));
    }
    return new Placement(workers);
  }

  Map<WorkerSlot, Set<ExecutorDetails>> workers() {
    return Collections.unmodifiableMap(workers);
  }

  Set<WorkerSlot> slots() {
    return Collections.unmodifiableSet(workers.keySet());
  }

  /** Whether `slot` holds the same executors here and there: its worker lives on. */
  boolean sameWorker(Placement other, WorkerSlot slot) {
    Set<ExecutorDetails> executors = workers.get(slot);
    return executors != null && executors.equals(other.workers.get(slot));
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Placement && workers.equals(((Placement) other).workers);
  }

  @Override
  public int hashCode() {
    return workers.hashCode();
  }

  private static int first(Set<Integer> tasks) {
    return Collections.min(tasks);
  }
}
