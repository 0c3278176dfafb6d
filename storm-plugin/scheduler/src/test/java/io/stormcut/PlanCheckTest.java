package io.stormcut;

import static io.stormcut.Plans.topology;
import static io.stormcut.Plans.worker;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stormcut.protocol.TopologyPlan;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import org.apache.storm.scheduler.Cluster;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Topologies a and b have executors 1, 2, 3; a runs on n:1, b on n:2; n:3 and m:1 are free. */
class PlanCheckTest {
  private final Clusters given =
      new Clusters()
          .supervisor("n", 1, 2, 3)
          .supervisor("m", 1)
          .topology("a", 2, 2)
          .topology("b", 2, 2)
          .assigned("a", "n", 1, 1, 2, 3)
          .assigned("b", "n", 2, 1, 2, 3);
  private final Cluster cluster = given.cluster();

  private PlanCheck check(TopologyPlan... plans) {
    return PlanCheck.topologies(Plans.plan("f", plans), given.topologies(), cluster);
  }

  private void refused(TopologyPlan plan, String reason) {
    PlanCheck check = check(plan, topology("b", worker("n", 2, 1, 2), worker("m", 1, 3)));
    assertTrue(check.accepted().containsKey("b"), "the other one stays usable");
    String said = check.refused().get(plan.getTopology());
    assertTrue(said != null && said.contains(reason), said);
  }

  @Test
  void soundPlansPass() {
    PlanCheck check =
        check(
            topology("a", worker("n", 1, 1, 2), worker("n", 3, 3)),
            topology("b", worker("m", 1, 3, 2, 1)));
    assertEquals(new HashSet<>(Arrays.asList("a", "b")), check.accepted().keySet());
    assertTrue(check.refused().isEmpty());
  }

  @Test
  void everyReasonForRefusal() {
    refused(topology("c", worker("n", 3, 1)), "no such topology");
    refused(topology("a", worker("n", 3, 1, 2)),
        "1 of its executors are not placed, one is 3");
    refused(topology("a", worker("n", 3, 1, 2, 3, 4)), "executor 4 is not the topology's");
    refused(topology("a", worker("n", 3, 1, 2, 3), worker("n", 1, 3)), "placed twice");
    refused(topology("a", worker("n", 3, 1, 2), worker("n", 3, 3)), "named twice");
    refused(topology("a", worker("n", 3, 1, 2, 3), worker("n", 1)), "has no executors");
    refused(topology("a"), "3 of its executors are not placed");
    refused(topology("a", worker("x", 3, 1, 2, 3)), "not in the cluster");
    refused(topology("a", worker("n", 9, 1, 2, 3)), "not offered by its supervisor");
    refused(topology("a", worker("n", -1, 1, 2, 3)), "not offered by its supervisor");
  }

  @Test
  void blacklistedNodes() {
    cluster.blacklistHost("host-m");
    String reason = check(topology("a", worker("m", 1, 1, 2, 3))).refused().get("a");
    assertTrue(reason.contains("blacklisted"), reason);
  }

  @Test
  void namedTwice() {
    TopologyPlan plan = topology("a", worker("n", 1, 1, 2, 3));
    assertEquals("the plan names the topology twice", check(plan, plan, plan).refused().get("a"));
  }

  @Test
  void twoTopologiesInOneSlot() {
    PlanCheck check =
        check(topology("a", worker("n", 3, 1, 2, 3)), topology("b", worker("n", 3, 1, 2, 3)));
    assertTrue(check.accepted().isEmpty());
    assertTrue(check.refused().get("a").contains("planned for b as well"));
    assertTrue(check.refused().get("b").contains("planned for a as well"));
  }

  @Test
  void aSlotOfAnotherTopologyOnlyIfThatOneLeavesIt() {
    TopologyPlan toB = topology("a", worker("n", 2, 1, 2, 3));
    assertTrue(check(toB).refused().get("a").contains("used by b, which stays there"));
    PlanCheck swap = check(toB, topology("b", worker("n", 1, 1, 2, 3)));
    assertEquals(2, swap.accepted().size());
    PlanCheck blocked = check(toB, topology("b", worker("x", 1, 1, 2, 3)));
    assertTrue(blocked.accepted().isEmpty(), "b is refused, stays, and so a cannot go there");
  }

  /** Topology a has lost its worker on m, and Nimbus still lists that node. */
  private PlanCheck completing(TopologyPlan plan) {
    AppliedPlacements applied =
        AppliedPlacements.in(
            null, new Warnings(LoggerFactory.getLogger(PlanCheck.class), System::nanoTime));
    Cluster before = new Clusters()
        .supervisor("n", 1, 2, 3)
        .supervisor("m", 1)
        .topology("a", 2, 2)
        .assigned("a", "n", 1, 1, 2)
        .assigned("a", "m", 1, 3)
        .cluster();
    given.assignments.remove("a");
    given.assigned("a", "n", 1, 1, 2);
    Cluster now = given.cluster();
    applied.update(
        Collections.singletonMap("a", Placement.running("a", before)), given.topologies(), now);
    return PlanCheck.completing(Plans.plan("f", plan), given.topologies(), now, applied);
  }

  @Test
  void aPlanThatIsNoAnswerPlacesWhatRunsNowhere() {
    PlanCheck check = completing(topology("a", worker("n", 1, 1, 2), worker("n", 3, 3)));
    assertTrue(check.refused().isEmpty(), check.refused().toString());
    assertEquals(Collections.singleton("a"), check.accepted().keySet());
  }

  @Test
  void aPlanThatIsNoAnswerMovesNothing() {
    PlanCheck check = completing(topology("a", worker("n", 1, 1), worker("n", 3, 2, 3)));
    assertTrue(check.refused().get("a").contains("it would move what runs"));
  }

  @Test
  void aPlanThatIsNoAnswerStartsNothingWhereItWasJustLost() {
    PlanCheck check = completing(topology("a", worker("n", 1, 1, 2), worker("m", 1, 3)));
    assertTrue(check.refused().get("a").contains("has just lost its workers"));
  }

  @Test
  void wholePlans() throws Exception {
    PlanCheck.whole(Plans.plan("f"), "f");
    Unusable other = assertThrows(Unusable.class, () -> PlanCheck.whole(Plans.plan("g"), "f"));
    assertTrue(other.getMessage().contains("another state"));
    Unusable newer =
        assertThrows(Unusable.class, () -> PlanCheck.whole(Plans.plan("f").setVersion(2), "f"));
    assertTrue(newer.getMessage().contains("version 2"), newer.getMessage());
  }
}
