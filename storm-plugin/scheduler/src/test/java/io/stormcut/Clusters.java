package io.stormcut;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.storm.Config;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.INimbus;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.SchedulerAssignmentImpl;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.testing.TestWordCounter;
import org.apache.storm.testing.TestWordSpout;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.utils.Utils;

/** Clusters and topologies of Storm's own classes, as Nimbus would hand them over. */
final class Clusters {
  final Map<String, SupervisorDetails> supervisors = new HashMap<>();
  final Map<String, TopologyDetails> topologies = new HashMap<>();
  final Map<String, SchedulerAssignmentImpl> assignments = new HashMap<>();

  Clusters supervisor(String id, Integer... ports) {
    Map<String, Double> resources = new HashMap<>();
    resources.put(Config.SUPERVISOR_CPU_CAPACITY, 400.0);
    resources.put(Config.SUPERVISOR_MEMORY_CAPACITY_MB, 3072.0);
    Map<String, String> meta = new HashMap<>();
    meta.put("stormcut.rack", "r1");
    List<Number> offered = new ArrayList<>(Arrays.asList(ports));
    supervisors.put(
        id, new SupervisorDetails(id, "host-" + id, null, meta, offered, resources));
    return this;
  }

  /** Executors 1..bolts of `count`, then one spout, each of one task. */
  Clusters topology(String id, int workers, int bolts) {
    TopologyBuilder builder = new TopologyBuilder();
    builder.setSpout("words", new TestWordSpout(), 1);
    builder.setBolt("count", new TestWordCounter(), bolts).shuffleGrouping("words");
    return topology(id, workers, builder.createTopology(), components(bolts));
  }

  Clusters topology(
      String id, int workers, StormTopology topology, Map<ExecutorDetails, String> executors) {
    Map<String, Object> conf = new HashMap<String, Object>(Utils.readDefaultConfig());
    conf.put(Config.TOPOLOGY_NAME, id.replaceAll("-\\d+-\\d+$", ""));
    topologies.put(id, new TopologyDetails(id, conf, topology, workers, executors, "user"));
    return this;
  }

  Clusters assigned(String topology, String node, int port, Integer... tasks) {
    SchedulerAssignmentImpl assignment =
        assignments.computeIfAbsent(
            topology, id -> new SchedulerAssignmentImpl(id, new HashMap<>()));
    assignment.assign(new WorkerSlot(node, port), executors(tasks));
    return this;
  }

  Topologies topologies() {
    return new Topologies(topologies);
  }

  /** With copies of the assignments, so that several schedulers can start from the same. */
  Cluster cluster() {
    Map<String, SchedulerAssignmentImpl> copies = new HashMap<>();
    assignments.forEach(
        (id, a) -> copies.put(id, new SchedulerAssignmentImpl(id, a.getExecutorToSlot())));
    return new Cluster(
        new StandaloneNimbus(), supervisors, copies, new HashMap<String, Object>(Utils.readDefaultConfig()));
  }

  static List<ExecutorDetails> executors(Integer... tasks) {
    List<ExecutorDetails> executors = new ArrayList<>();
    for (int task : tasks) {
      executors.add(new ExecutorDetails(task, task));
    }
    return executors;
  }

  private static Map<ExecutorDetails, String> components(int bolts) {
    Map<ExecutorDetails, String> components = new HashMap<>();
    for (int task = 1; task <= bolts; task++) {
      components.put(new ExecutorDetails(task, task), "count");
    }
    components.put(new ExecutorDetails(bolts + 1, bolts + 1), "words");
    return components;
  }

  /** As Storm's own, which is hidden in Clojure. */
  private static final class StandaloneNimbus implements INimbus {
    @Override
    public void prepare(Map conf, String folder) {}

    @Override
    public Collection<WorkerSlot> allSlotsAvailableForScheduling(
        Collection<SupervisorDetails> all, Topologies topologies, Set<String> missing) {
      throw new UnsupportedOperationException("only Nimbus asks");
    }

    @Override
    public void assignSlots(Topologies topologies, Map<String, Collection<WorkerSlot>> slots) {}

    @Override
    public String getHostName(Map<String, SupervisorDetails> all, String id) {
      return all.containsKey(id) ? all.get(id).getHost() : null;
    }

    @Override
    public IScheduler getForcedScheduler() {
      return null;
    }
  }
}
