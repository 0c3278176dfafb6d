package io.stormcut;

import io.stormcut.protocol.ClusterState;
import io.stormcut.protocol.Executor;
import io.stormcut.protocol.Slot;
import io.stormcut.protocol.Stream;
import io.stormcut.protocol.Supervisor;
import io.stormcut.protocol.Topology;
import io.stormcut.protocol.Worker;
import io.stormcut.protocol.stormcutConstants;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.storm.Config;
import org.apache.storm.generated.Bolt;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.Grouping;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;

/** Tells the brain, in the protocol's terms, what Nimbus knows. */
final class StateReader {
  /** In a topology's configuration, or in storm.yaml for all. */
  private static final String WORKERS = "stormcut.workers";
  /** In a topology's configuration, before the name of a component: what its author declares. */
  private static final String OPERATOR = "stormcut.operator.";
  /** What a worker's executors may take together, and what Storm starts it with. */
  private static final String[] HEAP = {
    Config.TOPOLOGY_WORKER_MAX_HEAP_SIZE_MB, Config.WORKER_HEAP_MEMORY_MB
  };

  private StateReader() {}

  /** A topology that cannot be described is not the brain's, and neither are its slots. */
  static ClusterState read(Topologies topologies, Cluster cluster, Warnings warnings) {
    List<Topology> described = new ArrayList<>();
    Set<WorkerSlot> others = new HashSet<>();
    for (TopologyDetails topology : topologies.getTopologies()) {
      try {
        described.add(topology(topology, cluster));
      } catch (RuntimeException | AssertionError trouble) {
        others.addAll(Placement.running(topology.getId(), cluster).slots());
        warnings.warn("topology " + topology.getId() + " cannot be described to the brain, so"
            + " Storm's default scheduler decides on it: " + trouble);
      }
    }
    List<Supervisor> supervisors = new ArrayList<>();
    for (SupervisorDetails supervisor : cluster.getSupervisors().values()) {
      supervisors.add(supervisor(supervisor, cluster, others));
    }
    supervisors.sort(Comparator.comparing(Supervisor::getId));
    described.sort(Comparator.comparing(Topology::getId));
    ClusterState state =
        new ClusterState(stormcutConstants.PROTOCOL_VERSION, "", supervisors, described);
    return state.setFingerprint(Fingerprint.of(state));
  }

  private static Supervisor supervisor(
      SupervisorDetails details, Cluster cluster, Set<WorkerSlot> others) {
    // Without the ports of a blacklisted supervisor.
    List<Integer> ports = new ArrayList<>(cluster.getAssignablePorts(details));
    ports.removeIf(port -> others.contains(new WorkerSlot(details.getId(), port)));
    Collections.sort(ports);
    Supervisor supervisor =
        new Supervisor(details.getId(), details.getHost(), ports, meta(details));
    Double cpu = capacity(details::getTotalCPU);
    if (cpu != null) {
      supervisor.setCpu_percent(cpu);
    }
    Double memory = capacity(details::getTotalMemory);
    if (memory != null) {
      supervisor.setMemory_mb(memory);
    }
    return supervisor;
  }

  /** Storm's getters fail, each in its own way, for a supervisor that declares no resources. */
  private static Double capacity(Supplier<Double> getter) {
    try {
      return getter.get();
    } catch (NullPointerException | AssertionError undeclared) {
      return null;
    }
  }

  private static Map<String, String> meta(SupervisorDetails details) {
    Map<String, String> meta = new HashMap<>();
    if (details.getSchedulerMeta() instanceof Map) {
      for (Map.Entry<?, ?> entry : ((Map<?, ?>) details.getSchedulerMeta()).entrySet()) {
        meta.put(String.valueOf(entry.getKey()), String.valueOf(entry.getValue()));
      }
    }
    return meta;
  }

  private static Topology topology(TopologyDetails details, Cluster cluster) {
    Topology topology =
        new Topology(
            details.getId(),
            String.valueOf(details.getName()),
            details.getNumWorkers(),
            executors(details),
            streams(details),
            workers(Placement.current(details, cluster)));
    Object policy = details.getConf().get(WORKERS);
    if (policy != null) {
      topology.setWorkers_policy(String.valueOf(policy));
    }
    for (Object key : details.getConf().keySet()) {
      String name = String.valueOf(key);
      if (name.startsWith(OPERATOR)) {
        topology.putToOperators(
            name.substring(OPERATOR.length()), Json.text(details.getConf().get(key)));
      }
    }
    double heap = Double.POSITIVE_INFINITY;
    for (String key : HEAP) {
      Object mb = details.getConf().get(key);
      if (mb instanceof Number && ((Number) mb).doubleValue() > 0) {
        heap = Math.min(heap, ((Number) mb).doubleValue());
      }
    }
    return Double.isInfinite(heap) ? topology : topology.setWorker_heap_mb(heap);
  }

  private static List<Executor> executors(TopologyDetails details) {
    List<Executor> executors = new ArrayList<>();
    for (Map.Entry<ExecutorDetails, String> entry : details.getExecutorToComponent().entrySet()) {
      ExecutorDetails key = entry.getKey();
      Executor executor = new Executor(key.getStartTask(), key.getEndTask(), entry.getValue());
      Double cpu = details.getTotalCpuReqTask(key);
      if (cpu != null) {
        executor.setCpu_percent(cpu);
      }
      Double memory = details.getTotalMemReqTask(key);
      if (memory != null) {
        executor.setMemory_mb(memory);
      }
      executors.add(executor);
    }
    executors.sort(Comparator.comparingInt(Executor::getStart_task));
    return executors;
  }

  private static List<Stream> streams(TopologyDetails details) {
    List<Stream> streams = new ArrayList<>();
    Map<String, Bolt> bolts = details.getTopology().get_bolts();
    if (bolts == null) {
      return streams;
    }
    for (Map.Entry<String, Bolt> bolt : bolts.entrySet()) {
      Map<GlobalStreamId, Grouping> inputs = bolt.getValue().get_common().get_inputs();
      for (Map.Entry<GlobalStreamId, Grouping> input : inputs.entrySet()) {
        GlobalStreamId from = input.getKey();
        String grouping = Groupings.name(input.getValue());
        streams.add(
            new Stream(from.get_componentId(), bolt.getKey(), from.get_streamId(), grouping));
      }
    }
    Collections.sort(streams);
    return streams;
  }

  private static List<Worker> workers(Placement placement) {
    List<Worker> workers = new ArrayList<>();
    placement
        .workers()
        .forEach(
            (slot, executors) -> {
              List<Integer> tasks = new ArrayList<>();
              executors.forEach(executor -> tasks.add(executor.getStartTask()));
              Collections.sort(tasks);
              workers.add(new Worker(slot(slot), tasks));
            });
    Collections.sort(workers);
    return workers;
  }

  private static Slot slot(WorkerSlot slot) {
    return new Slot(slot.getNodeId(), slot.getPort());
  }
}
