package io.stormcut;

import io.stormcut.protocol.Plan;
import io.stormcut.protocol.TopologyPlan;
import io.stormcut.protocol.stormcutConstants;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;

/**
 * Decides which topologies of a plan may be applied.
 *
 * <p>Refusing one topology leaves the others usable, unless they wait for a slot that it would have
 * freed.
 */
final class PlanCheck {
  private final Topologies topologies;
  private final Cluster cluster;
  /** Where plans have put topologies; null where a plan may move what runs. */
  private final AppliedPlacements applied;
  private final Map<String, Placement> accepted = new LinkedHashMap<>();
  private final Map<String, String> refused = new TreeMap<>();

  private PlanCheck(Topologies topologies, Cluster cluster, AppliedPlacements applied) {
    this.topologies = topologies;
    this.cluster = cluster;
    this.applied = applied;
  }

  /** Check each topology of `plan`, which must have passed {@link #whole}. */
  static PlanCheck topologies(Plan plan, Topologies topologies, Cluster cluster) {
    return new PlanCheck(topologies, cluster, null).check(plan);
  }

  /** The same for a plan that is no answer: it may place what runs nowhere, and move nothing. */
  static PlanCheck completing(
      Plan plan, Topologies topologies, Cluster cluster, AppliedPlacements applied) {
    return new PlanCheck(topologies, cluster, applied).check(plan);
  }

  private PlanCheck check(Plan plan) {
    plan.getTopologies().forEach(this::checkAlone);
    refuseSharedSlots();
    refuseTakenSlots();
    return this;
  }

  /**
   * Check what concerns the plan as a whole.
   *
   * @throws Unusable if it is of a newer protocol version or for another cluster state
   */
  static void whole(Plan plan, String fingerprint) throws Unusable {
    if (plan.getVersion() > stormcutConstants.PROTOCOL_VERSION) {
      throw new Unusable(
          "is of protocol version "
              + plan.getVersion()
              + ", this plugin knows up to "
              + stormcutConstants.PROTOCOL_VERSION
              + ": update the plugin");
    }
    if (!plan.getFingerprint().equals(fingerprint)) {
      throw new Unusable("is for another state of the cluster (its fingerprint differs)");
    }
  }

  /** Topology id to placement, of all that may be applied together. */
  Map<String, Placement> accepted() {
    return Collections.unmodifiableMap(accepted);
  }

  /** Topology id to reason. */
  Map<String, String> refused() {
    return Collections.unmodifiableMap(refused);
  }

  private void checkAlone(TopologyPlan plan) {
    String id = plan.getTopology();
    try {
      if (refused.containsKey(id) || accepted.containsKey(id)) {
        throw new Unusable("the plan names the topology twice");
      }
      TopologyDetails topology = topologies.getById(id);
      if (topology == null) {
        throw new Unusable("there is no such topology");
      }
      Placement placement = Placement.planned(plan, topology);
      Placement running = Placement.running(id, cluster);
      if (applied != null) {
        checkCompletes(placement, running, applied.get(id));
      }
      for (WorkerSlot slot : placement.slots()) {
        // A worker outlives its supervisor; Storm leaves it alone for as long as it lives.
        if (!placement.sameWorker(running, slot)) {
          checkOffered(slot, cluster);
        }
      }
      accepted.put(id, placement);
    } catch (Unusable reason) {
      refuse(id, reason.getMessage());
    }
  }

  private static void checkCompletes(Placement planned, Placement running, Placement applied)
      throws Unusable {
    Set<String> suspects = LostWorkers.suspects(applied, running);
    for (WorkerSlot slot : running.slots()) {
      if (!running.sameWorker(planned, slot)) {
        throw new Unusable("it would move what runs, which only an answer in time may");
      }
    }
    for (WorkerSlot slot : planned.slots()) {
      if (suspects.contains(slot.getNodeId())) {
        throw new Unusable("node " + slot.getNodeId() + " has just lost its workers");
      }
    }
  }

  private static void checkOffered(WorkerSlot slot, Cluster cluster) throws Unusable {
    SupervisorDetails node = cluster.getSupervisorById(slot.getNodeId());
    if (node == null) {
      throw new Unusable("slot " + slot + " is on a node that is not in the cluster");
    }
    if (cluster.isBlackListed(node.getId())) {
      throw new Unusable("slot " + slot + " is on a blacklisted node");
    }
    if (!cluster.getAssignablePorts(node).contains(slot.getPort())) {
      throw new Unusable("slot " + slot + " is not offered by its supervisor");
    }
  }

  private void refuseSharedSlots() {
    Map<WorkerSlot, String> claims = new HashMap<>();
    Map<String, String> shared = new TreeMap<>();
    accepted.forEach(
        (id, placement) -> {
          for (WorkerSlot slot : placement.slots()) {
            String other = claims.putIfAbsent(slot, id);
            if (other != null) {
              shared.put(id, "slot " + slot + " is planned for " + other + " as well");
              shared.put(other, "slot " + slot + " is planned for " + id + " as well");
            }
          }
        });
    shared.forEach(this::refuse);
  }

  /** Until nothing changes: who is refused keeps its slots, so others may have to be refused. */
  private void refuseTakenSlots() {
    Map<String, String> taken;
    do {
      taken = new TreeMap<>();
      for (Map.Entry<String, Placement> entry : accepted.entrySet()) {
        String reason = takenSlot(entry.getKey(), entry.getValue().slots());
        if (reason != null) {
          taken.put(entry.getKey(), reason);
        }
      }
      taken.forEach(this::refuse);
    } while (!taken.isEmpty());
  }

  private String takenSlot(String id, Set<WorkerSlot> wanted) {
    for (SchedulerAssignment other : cluster.getAssignments().values()) {
      String holder = other.getTopologyId();
      if (holder.equals(id) || accepted.containsKey(holder)) {
        continue;
      }
      for (WorkerSlot slot : wanted) {
        if (other.isSlotOccupied(slot)) {
          return "slot " + slot + " is used by " + holder + ", which stays there";
        }
      }
    }
    return null;
  }

  private void refuse(String id, String reason) {
    accepted.remove(id);
    refused.put(id, reason);
  }
}
