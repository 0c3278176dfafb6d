package io.stormcut;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.WorkerSlot;

/** Makes accepted placements so, touching no worker that stays as it is. */
final class PlanApplier {
  private final Cluster cluster;
  private final Map<String, Placement> placements;
  /** Also executors that a topology no longer has: their slots differ, so they are freed. */
  private final Map<String, Placement> before = new HashMap<>();

  private PlanApplier(Cluster cluster, Map<String, Placement> placements) {
    this.cluster = cluster;
    this.placements = placements;
    placements.keySet().forEach(id -> before.put(id, Placement.running(id, cluster)));
  }

  /**
   * Apply `placements`, by topology id.
   *
   * @return the slots of each topology whose worker had to change
   */
  static Map<String, Set<WorkerSlot>> apply(Map<String, Placement> placements, Cluster cluster) {
    PlanApplier applier = new PlanApplier(cluster, placements);
    // All of them first: one topology may move to a slot that another one leaves.
    placements.keySet().forEach(applier::freeChanged);
    Map<String, Set<WorkerSlot>> changed = new HashMap<>();
    placements.keySet().forEach(id -> changed.put(id, applier.assignChanged(id)));
    return changed;
  }

  private void freeChanged(String id) {
    Placement now = before.get(id);
    for (WorkerSlot slot : now.slots()) {
      if (!now.sameWorker(placements.get(id), slot)) {
        cluster.freeSlot(slot);
      }
    }
  }

  private Set<WorkerSlot> assignChanged(String id) {
    Set<WorkerSlot> changed = new HashSet<>();
    placements
        .get(id)
        .workers()
        .forEach(
            (slot, executors) -> {
              if (!placements.get(id).sameWorker(before.get(id), slot)) {
                List<ExecutorDetails> assigned = new ArrayList<>(executors);
                cluster.assign(slot, id, assigned);
                changed.add(slot);
              }
            });
    return changed;
  }
}
