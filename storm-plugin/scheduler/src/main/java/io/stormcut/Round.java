package io.stormcut;

import io.stormcut.protocol.Plan;
import io.stormcut.protocol.TopologyPlan;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.scheduler.resource.ResourceAwareScheduler;

/**
 * One scheduling round: what a plan covers is placed by it, what runs as an older plan wanted is
 * left alone, Storm's default scheduler does the rest.
 */
final class Round {
  private final Topologies topologies;
  private final Cluster cluster;
  private final IScheduler storm;
  private final Assignments before;
  private final Set<String> whole = new HashSet<>();
  private Map<String, Placement> accepted = Collections.emptyMap();
  private Map<String, String> refused = Collections.emptyMap();
  private Map<String, Set<WorkerSlot>> changed = Collections.emptyMap();
  private final Map<String, Placement> restarted = new HashMap<>();

  Round(Topologies topologies, Cluster cluster, IScheduler storm) {
    this.topologies = topologies;
    this.cluster = cluster;
    this.storm = storm;
    this.before = Assignments.of(cluster);
    for (TopologyDetails topology : topologies.getTopologies()) {
      if (cluster.getUnassignedExecutors(topology).isEmpty()) {
        whole.add(topology.getId());
      }
    }
  }

  /** Whether nothing of a topology was to be placed when this round began. */
  boolean wasWhole(String topology) {
    return whole.contains(topology);
  }

  /** Check `plan`, the brain's answer, and make so what may be. */
  void apply(Plan plan) {
    apply(PlanCheck.topologies(plan, topologies, cluster));
  }

  /** Place by a remembered plan what runs nowhere; what runs stays. */
  void complete(Plan plan, AppliedPlacements applied) {
    apply(PlanCheck.completing(plan, topologies, cluster, applied));
  }

  private void apply(PlanCheck check) {
    accepted = check.accepted();
    refused = check.refused();
    changed = PlanApplier.apply(accepted, cluster);
  }

  /**
   * Let Storm's default scheduler place what is left, as `applied` (what plans have put in earlier
   * rounds) and `remembered` plans permit.
   *
   * @return executors that it alone would have assigned but that found no place here; if there are
   *     any, it has placed all that was to change, and if that was not enough, everything
   */
  Map<String, Set<ExecutorDetails>> finish(
      AppliedPlacements applied, Collection<Plan> remembered) {
    Set<String> placed = new HashSet<>(accepted.keySet());
    Set<String> unchanged = new HashSet<>(placed);
    unchanged.removeIf(id -> !changed(id).isEmpty());
    for (TopologyDetails topology : topologies.getTopologies()) {
      String id = topology.getId();
      if (placed.contains(id)) {
        continue;
      }
      if (runsAsWanted(topology, applied.get(id), remembered)) {
        placed.add(id);
        unchanged.add(id);
      }
    }
    restartLost(placed, applied);
    return placed.isEmpty() && restarted.isEmpty()
        ? Collections.emptyMap()
        : yieldIfWorse(unchanged);
  }

  /**
   * Restart the lost workers of what is not `placed`, and let Storm's scheduler place the rest. If
   * it ends more workers because these took free slots, it places everything itself.
   */
  private void restartLost(Set<String> placed, AppliedPlacements applied) {
    Assignments planned = Assignments.of(cluster);
    Set<String> kept = new HashSet<>(placed);
    for (TopologyDetails topology : topologies.getTopologies()) {
      if (!placed.contains(topology.getId()) && hasRestarted(topology, applied)) {
        kept.add(topology.getId());
      }
    }
    scheduleAllBut(kept);
    int ended = planned.ended(cluster);
    if (restarted.isEmpty() || ended == 0) {
      return;
    }
    Assignments ours = Assignments.of(cluster);
    Map<String, Set<ExecutorDetails>> missing = Assignments.missing(topologies, cluster);
    planned.restore(cluster);
    scheduleAllBut(placed);
    if (planned.ended(cluster) < ended
        && without(missing, Assignments.missing(topologies, cluster)).isEmpty()) {
      restarted.clear();
    } else {
      ours.restore(cluster);
    }
  }

  private void scheduleAllBut(Set<String> placed) {
    Map<String, TopologyDetails> rest = new HashMap<>();
    for (TopologyDetails topology : topologies.getTopologies()) {
      if (!placed.contains(topology.getId())) {
        rest.put(topology.getId(), topology);
      }
    }
    // It looks up the resources of all that runs, and moves nothing that runs whole.
    boolean asksForAll = placed.isEmpty() || storm instanceof ResourceAwareScheduler;
    Assignments planned = Assignments.of(cluster);
    storm.schedule(asksForAll ? topologies : new Topologies(rest), cluster);
    if (!planned.holds(placed, cluster)) {
      throw new IllegalStateException("what a plan has placed was moved again by "
          + storm.getClass().getSimpleName());
    }
  }

  private boolean hasRestarted(TopologyDetails topology, AppliedPlacements applied) {
    Placement was = applied.get(topology.getId());
    Placement now = was == null ? null : LostWorkers.restart(topology, was, cluster);
    if (now != null) {
      restarted.put(topology.getId(), now);
    }
    return now != null;
  }

  /** Undo everything and let Storm's default scheduler do the round. */
  void giveUp() {
    before.restore(cluster);
    keepOnly(Collections.emptySet());
    storm.schedule(topologies, cluster);
  }

  Map<String, Placement> accepted() {
    return accepted;
  }

  /** Where topologies are that a plan or their lost workers' restart has put: no topology is both. */
  Map<String, Placement> placed() {
    Map<String, Placement> placed = new HashMap<>(accepted);
    placed.putAll(restarted);
    return placed;
  }

  /** Topologies some of whose workers were lost and start again, the others staying. */
  Map<String, Placement> restarted() {
    return Collections.unmodifiableMap(restarted);
  }

  Map<String, String> refused() {
    return refused;
  }

  /** Slots whose worker had to be started or restarted. */
  Set<WorkerSlot> changed(String topology) {
    return changed.getOrDefault(topology, Collections.emptySet());
  }

  /**
   * Whether a topology is fully assigned just as a plan said, be it for an earlier cluster state.
   *
   * <p>Storm's default scheduler would reshuffle it if it uses fewer workers than it may. Whether
   * its slots are offered does not matter: workers outlive their supervisor, and those that do not
   * answer any more are none that Nimbus tells of.
   */
  private boolean runsAsWanted(
      TopologyDetails topology, Placement applied, Collection<Plan> remembered) {
    Placement running = Placement.running(topology.getId(), cluster);
    boolean whole = cluster.getUnassignedExecutors(topology).isEmpty();
    if (!whole) {
      return false;
    }
    return running.equals(applied)
        || remembered.stream().anyMatch(plan -> running.equals(wanted(plan, topology)));
  }

  private static Placement wanted(Plan plan, TopologyDetails topology) {
    List<TopologyPlan> parts = plan.getTopologies();
    for (TopologyPlan part : parts) {
      if (part.getTopology().equals(topology.getId())) {
        try {
          return Placement.planned(part, topology);
        } catch (Unusable forWhatTheTopologyIsNow) {
          return null;
        }
      }
    }
    return null;
  }

  /** `unchanged` are topologies that stay as they run, as some plan wanted. */
  private Map<String, Set<ExecutorDetails>> yieldIfWorse(Set<String> unchanged) {
    Map<String, Set<ExecutorDetails>> missing = Assignments.missing(topologies, cluster);
    if (missing.isEmpty()) {
      return missing;
    }
    Assignments ours = Assignments.of(cluster);
    before.restore(cluster);
    storm.schedule(topologies, cluster);
    Map<String, Set<ExecutorDetails>> anyway = Assignments.missing(topologies, cluster);
    Map<String, Set<ExecutorDetails>> worse = without(anyway, missing);
    if (worse.isEmpty()) {
      ours.restore(cluster);
      return worse;
    }
    Assignments storms = Assignments.of(cluster);
    before.restore(cluster);
    scheduleAllBut(unchanged);
    if (without(anyway, Assignments.missing(topologies, cluster)).isEmpty()) {
      keepOnly(unchanged);
    } else {
      storms.restore(cluster);
      keepOnly(Collections.emptySet());
    }
    return worse;
  }

  /** What is in `missing` beyond what is in `anyway`. */
  private static Map<String, Set<ExecutorDetails>> without(
      Map<String, Set<ExecutorDetails>> anyway, Map<String, Set<ExecutorDetails>> missing) {
    Map<String, Set<ExecutorDetails>> beyond = new HashMap<>();
    missing.forEach(
        (id, executors) -> {
          Set<ExecutorDetails> left = new HashSet<>(executors);
          left.removeAll(anyway.getOrDefault(id, Collections.emptySet()));
          if (!left.isEmpty()) {
            beyond.put(id, left);
          }
        });
    return beyond;
  }

  private void keepOnly(Set<String> unchanged) {
    accepted = new HashMap<>(accepted);
    accepted.keySet().retainAll(unchanged);
    changed = Collections.emptyMap();
    restarted.clear();
  }
}
