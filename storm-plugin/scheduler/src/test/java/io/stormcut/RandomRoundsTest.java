package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stormcut.protocol.ClusterState;
import io.stormcut.protocol.Executor;
import io.stormcut.protocol.Plan;
import io.stormcut.protocol.Slot;
import io.stormcut.protocol.Supervisor;
import io.stormcut.protocol.Topology;
import io.stormcut.protocol.TopologyPlan;
import io.stormcut.protocol.Worker;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.DefaultScheduler;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.WorkerSlot;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whatever the cluster and whatever the brain says, the shim keeps its promises. */
class RandomRoundsTest {
  private static final int ROUNDS = 400;

  @TempDir Path folder;

  @Test
  void promisesHold() throws Exception {
    StormcutScheduler scheduler = new StormcutScheduler();
    Random[] random = new Random[1];
    Plan[] answered = new Plan[1];
    int applied = 0;
    int refused = 0;
    try (LogLines log = new LogLines();
        TestZooKeeper zookeeper = new TestZooKeeper(folder);
        TestBrain brain = new TestBrain(state -> answered[0] = answer(state, random[0]))) {
      zookeeper.lead(brain.port());
      scheduler.prepare(zookeeper.conf(10_000));
      for (int seed = 0; seed < ROUNDS; seed++) {
        random[0] = new Random(seed);
        answered[0] = null;
        Clusters given = clusters(random[0]);
        Cluster before = given.cluster();
        Cluster cluster = given.cluster();
        scheduler.schedule(given.topologies(), cluster);
        PlanCheck check = accepted(answered[0], given, before);
        String where = "seed " + seed;
        noneWorseThanStorm(given, cluster, where);
        oneTopologyInASlot(cluster, where);
        if (placedByPlan(check, cluster)) {
          equalWorkersAreUntouched(check, before, cluster, where);
          applied += check.accepted().size();
        }
        refused += check.refused().size();
      }
      assertEquals(0, log.count("ERROR", ""), log.toString());
      assertEquals(0, log.count("WARN", "the round failed"), log.toString());
    }
    assertTrue(applied > 100 && refused > 100, applied + " applied, " + refused + " refused");
  }

  private static PlanCheck accepted(Plan plan, Clusters given, Cluster before) {
    Plan usable = plan == null || plan.getFingerprint().isEmpty() ? Plans.plan("") : plan;
    return PlanCheck.topologies(usable, given.topologies(), before);
  }

  /** Not so in a round that a starving plan had to give up. */
  private static boolean placedByPlan(PlanCheck check, Cluster cluster) {
    return check.accepted().entrySet().stream()
        .allMatch(e -> e.getValue().equals(Placement.running(e.getKey(), cluster)));
  }

  private static void equalWorkersAreUntouched(
      PlanCheck check, Cluster before, Cluster after, String where) {
    check.accepted().forEach((id, placement) -> {
      Placement running = Placement.running(id, before);
      Map<ExecutorDetails, WorkerSlot> now = after.getAssignmentById(id).getExecutorToSlot();
      if (before.getAssignmentById(id) == null) {
        return;
      }
      before.getAssignmentById(id).getExecutorToSlot().forEach((executor, slot) -> {
        if (running.sameWorker(placement, slot)) {
          assertSame(slot, now.get(executor), where);
        }
      });
    });
  }

  private static void noneWorseThanStorm(Clusters given, Cluster ours, String where) {
    Cluster storms = given.cluster();
    new DefaultScheduler().schedule(given.topologies(), storms);
    Map<String, Set<ExecutorDetails>> theirs = Assignments.missing(given.topologies(), storms);
    Assignments.missing(given.topologies(), ours).forEach((id, executors) ->
        assertTrue(theirs.getOrDefault(id, Collections.emptySet()).containsAll(executors), where));
  }

  private static void oneTopologyInASlot(Cluster cluster, String where) {
    Map<WorkerSlot, String> holders = new HashMap<>();
    for (SchedulerAssignment assignment : cluster.getAssignments().values()) {
      for (WorkerSlot slot : assignment.getSlots()) {
        assertEquals(null, holders.put(slot, assignment.getTopologyId()), where);
      }
    }
  }

  /** Topologies with none, some or all executors assigned; slots may be gone, nodes too. */
  private static Clusters clusters(Random random) {
    Clusters given = new Clusters();
    List<Slot> free = new ArrayList<>();
    int nodes = 1 + random.nextInt(4);
    for (int node = 0; node < nodes; node++) {
      Integer[] ports = new Integer[random.nextInt(4)];
      for (int at = 0; at < ports.length; at++) {
        ports[at] = 6700 + at;
        free.add(new Slot("n" + node, ports[at]));
      }
      given.supervisor("n" + node, ports);
    }
    if (random.nextInt(5) == 0) {
      free.add(new Slot("gone", 6700));
    }
    Collections.shuffle(free, random);
    for (int topology = 0; topology < random.nextInt(4); topology++) {
      String id = "t" + topology;
      int bolts = 1 + random.nextInt(5);
      given.topology(id, 1 + random.nextInt(4), bolts);
      Map<Slot, List<Integer>> workers = new TreeMap<>();
      List<Slot> own = take(free, random.nextInt(4));
      for (int task = 1; task <= bolts + 1; task++) {
        if (!own.isEmpty() && random.nextInt(8) > 0) {
          Slot slot = own.get(random.nextInt(own.size()));
          workers.computeIfAbsent(slot, s -> new ArrayList<>()).add(task);
        }
      }
      workers.forEach((slot, tasks) ->
          given.assigned(id, slot.getNode(), slot.getPort(), tasks.toArray(new Integer[0])));
    }
    return given;
  }

  private static List<Slot> take(List<Slot> free, int count) {
    List<Slot> taken = new ArrayList<>(free.subList(0, Math.min(count, free.size())));
    free.removeAll(taken);
    return taken;
  }

  private static Plan answer(ClusterState state, Random random) {
    List<Slot> free = new ArrayList<>();
    for (Supervisor supervisor : state.getSupervisors()) {
      supervisor.getPorts().forEach(port -> free.add(new Slot(supervisor.getId(), port)));
    }
    Collections.shuffle(free, random);
    Plan plan = Plans.plan(random.nextInt(12) == 0 ? "" : state.getFingerprint());
    for (Topology topology : state.getTopologies()) {
      if (random.nextInt(6) > 0) {
        plan.addToTopologies(planFor(topology, free, random));
      }
    }
    for (TopologyPlan part : plan.getTopologies()) {
      if (random.nextInt(4) == 0) {
        corrupt(part, random);
      }
    }
    return plan;
  }

  private static TopologyPlan planFor(Topology topology, List<Slot> free, Random random) {
    TopologyPlan plan = Plans.topology(topology.getId());
    List<Integer> left = new ArrayList<>();
    for (Executor executor : topology.getExecutors()) {
      left.add(executor.getStart_task());
    }
    for (Worker running : topology.getAssignment()) {
      if (random.nextBoolean()) {
        plan.addToWorkers(running.deepCopy());
        left.removeAll(running.getExecutors());
        free.remove(running.getSlot());
      }
    }
    List<Slot> slots = take(free, 1 + random.nextInt(3));
    Map<Slot, List<Integer>> workers = new TreeMap<>();
    for (int task : left) {
      if (!slots.isEmpty()) {
        Slot slot = slots.get(random.nextInt(slots.size()));
        workers.computeIfAbsent(slot, s -> new ArrayList<>()).add(task);
      }
    }
    workers.forEach((slot, tasks) -> plan.addToWorkers(new Worker(slot, tasks)));
    return plan;
  }

  private static void corrupt(TopologyPlan plan, Random random) {
    if (plan.getWorkersSize() == 0) {
      plan.setTopology("unknown");
      return;
    }
    Worker worker = plan.getWorkers().get(random.nextInt(plan.getWorkersSize()));
    switch (random.nextInt(6)) {
      case 0:
        worker.getSlot().setNode("n" + random.nextInt(6));
        break;
      case 1:
        worker.getSlot().setPort(6700 + random.nextInt(6));
        break;
      case 2:
        worker.addToExecutors(random.nextInt(9) - 1);
        break;
      case 3:
        worker.getExecutors().remove(0);
        break;
      case 4:
        plan.addToWorkers(worker.deepCopy());
        break;
      default:
        plan.setTopology("t" + random.nextInt(4));
    }
  }
}
