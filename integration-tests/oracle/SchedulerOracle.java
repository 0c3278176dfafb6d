package io.stormcut;

import io.stormcut.protocol.ClusterState;
import io.stormcut.protocol.Plan;
import io.stormcut.protocol.Slot;
import io.stormcut.protocol.TopologyPlan;
import io.stormcut.protocol.Worker;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.storm.Config;
import org.apache.storm.generated.Bolt;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.Grouping;
import org.apache.storm.generated.NullStruct;
import org.apache.storm.generated.SpoutSpec;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.networktopography.DNSToSwitchMapping;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.DefaultScheduler;
import org.apache.storm.scheduler.EvenScheduler;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.INimbus;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.SchedulerAssignmentImpl;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.scheduler.resource.ResourceAwareScheduler;
import org.apache.storm.utils.Time;
import org.slf4j.LoggerFactory;

/**
 * What Storm's own schedulers, and the plugin's round with a plan, answer to cluster states read
 * from standard input, one JVM for all.
 *
 * <p>A state is lines of fields separated by tabs, in this order:
 * <pre>
 * SUPERVISOR  id  rack  CPU in percent  memory in MB  ports separated by commas
 * TOPOLOGY    id  workers
 * COMPONENT   name  spout|bolt  executors  CPU in percent  memory in MB    of the topology above
 * STREAM      source  stream  target                                       of the topology above
 * HELD        first task of an executor  supervisor  port                  of the topology above
 * PLANNED     topology  supervisor  port  first tasks separated by commas  a worker of the plan
 * RUN         even|default|r-storm|shim|late  largest heap of a worker in MB
 * </pre>
 * `shim` runs the plugin's round with the plan as the brain's answer, and Storm's default scheduler
 * for the rest; `late` runs it without an answer and remembers the plan, as if it had come after the
 * deadline. A line RESET makes the plugin forget what plans have put.
 * Executors have one task each, numbered from 1 through the components in the order given. The
 * answer is a line "topology task supervisor port" for every executor that has a slot, a line
 * "REFUSED", topology and reason for every part of the plan that the plugin refused, or a line
 * "FAILED" with what the scheduler threw, and then a line "DONE".
 */
public final class SchedulerOracle {
    private static final INimbus NIMBUS = (INimbus) Proxy.newProxyInstance(
        SchedulerOracle.class.getClassLoader(), new Class<?>[] {INimbus.class},
        (proxy, method, arguments) -> method.getName().equals("getHostName") ? arguments[1] : null);
    private static final IScheduler EVEN = new EvenScheduler();
    private static final IScheduler DEFAULT = new DefaultScheduler();

    private static final Warnings WARNINGS =
        new Warnings(LoggerFactory.getLogger(SchedulerOracle.class), System::nanoTime);

    /** What the plugin remembers from round to round. */
    private static AppliedPlacements applied;
    private static Plan remembered;

    private final Map<String, SupervisorDetails> supervisors = new LinkedHashMap<>();
    private final Map<String, TopologyPlan> planned = new LinkedHashMap<>();
    private final Map<String, TopologyState> topologies = new LinkedHashMap<>();
    private TopologyState last;

    private SchedulerOracle() {}

    /** Racks of the state at hand; supervisors are their own hosts. */
    public static final class Racks implements DNSToSwitchMapping {
        private static final Map<String, String> RACKS = new HashMap<>();

        @Override
        public Map<String, String> resolve(List<String> names) {
            Map<String, String> result = new HashMap<>();
            for (String name : names) {
                result.put(name, RACKS.get(name));
            }
            return result;
        }
    }

    private static final class TopologyState {
        final String id;
        final int workers;
        final StormTopology topology =
            new StormTopology(new TreeMap<>(), new TreeMap<>(), new TreeMap<>());
        final Map<ExecutorDetails, String> executors = new HashMap<>();
        final Map<ExecutorDetails, WorkerSlot> held = new HashMap<>();

        TopologyState(String id, int workers) {
            this.id = id;
            this.workers = workers;
        }

        void addComponent(String[] field) {
            ComponentCommon common = new ComponentCommon(new HashMap<>(), new HashMap<>());
            common.set_json_conf(String.format(
                "{\"%s\": %s, \"%s\": %s, \"%s\": 0.0}",
                Config.TOPOLOGY_COMPONENT_CPU_PCORE_PERCENT, field[4],
                Config.TOPOLOGY_COMPONENT_RESOURCES_ONHEAP_MEMORY_MB, field[5],
                Config.TOPOLOGY_COMPONENT_RESOURCES_OFFHEAP_MEMORY_MB));
            if (field[2].equals("spout")) {
                SpoutSpec spout = new SpoutSpec();
                spout.set_common(common);
                topology.put_to_spouts(field[1], spout);
            } else {
                Bolt bolt = new Bolt();
                bolt.set_common(common);
                topology.put_to_bolts(field[1], bolt);
            }
            for (int count = Integer.parseInt(field[3]); count > 0; count--) {
                int task = executors.size() + 1;
                executors.put(new ExecutorDetails(task, task), field[1]);
            }
        }

        void addStream(String source, String stream, String target) {
            SpoutSpec spout = topology.get_spouts().get(target);
            ComponentCommon common = spout != null
                ? spout.get_common() : topology.get_bolts().get(target).get_common();
            common.put_to_inputs(
                new GlobalStreamId(source, stream), Grouping.shuffle(new NullStruct()));
        }

        TopologyDetails details(double maxHeap) {
            Map<String, Object> conf = new HashMap<>();
            conf.put(Config.TOPOLOGY_NAME, id);
            conf.put(Config.TOPOLOGY_PRIORITY, 29);
            conf.put(Config.TOPOLOGY_WORKER_MAX_HEAP_SIZE_MB, maxHeap);
            conf.put(Config.TOPOLOGY_SCHEDULER_STRATEGY, "org.apache.storm.scheduler.resource"
                + ".strategies.scheduling.DefaultResourceAwareStrategy");
            return new TopologyDetails(id, conf, topology, workers, executors, "user");
        }
    }

    private void addSupervisor(String[] field) {
        List<Number> ports = new ArrayList<>();
        for (String port : field[5].split(",")) {
            if (!port.isEmpty()) {
                ports.add(Integer.parseInt(port));
            }
        }
        Map<String, Double> resources = new HashMap<>();
        resources.put(Config.SUPERVISOR_CPU_CAPACITY, Double.valueOf(field[3]));
        resources.put(Config.SUPERVISOR_MEMORY_CAPACITY_MB, Double.valueOf(field[4]));
        Racks.RACKS.put(field[1], field[2]);
        supervisors.put(
            field[1], new SupervisorDetails(field[1], field[1], null, null, ports, resources));
    }

    private static IScheduler scheduler(String name) {
        if (!name.equals("r-storm")) {
            return name.equals("even") ? EVEN : DEFAULT;
        }
        String strategies = "org.apache.storm.scheduler.resource.strategies.";
        Map<String, Object> conf = new HashMap<>();
        conf.put(Config.RESOURCE_AWARE_SCHEDULER_EVICTION_STRATEGY,
            strategies + "eviction.DefaultEvictionStrategy");
        conf.put(Config.RESOURCE_AWARE_SCHEDULER_PRIORITY_STRATEGY,
            strategies + "priority.DefaultSchedulingPriorityStrategy");
        IScheduler scheduler = new ResourceAwareScheduler();
        scheduler.prepare(conf);
        return scheduler;
    }

    private void run(String name, double maxHeap, PrintStream out) {
        Map<String, TopologyDetails> details = new LinkedHashMap<>();
        Map<String, SchedulerAssignmentImpl> assignments = new LinkedHashMap<>();
        for (TopologyState each : topologies.values()) {
            details.put(each.id, each.details(maxHeap));
            if (!each.held.isEmpty()) {
                assignments.put(each.id, new SchedulerAssignmentImpl(each.id, each.held));
            }
        }
        Map<String, Object> conf = new HashMap<>();
        conf.put(Config.STORM_NETWORK_TOPOGRAPHY_PLUGIN, Racks.class.getName());
        Cluster cluster = new Cluster(NIMBUS, supervisors, assignments, conf);
        Map<String, String> refused = new HashMap<>();
        try {
            if (name.equals("shim") || name.equals("late")) {
                refused = playRound(new Topologies(details), cluster, name.equals("late"));
            } else {
                scheduler(name).schedule(new Topologies(details), cluster);
            }
        } catch (RuntimeException failure) {
            out.println("FAILED\t" + failure);
            return;
        }
        refused.forEach((id, reason) -> out.println("REFUSED\t" + id + "\t" + reason));
        for (Map.Entry<String, SchedulerAssignment> entry : cluster.getAssignments().entrySet()) {
            Set<Map.Entry<ExecutorDetails, WorkerSlot>> held =
                entry.getValue().getExecutorToSlot().entrySet();
            for (Map.Entry<ExecutorDetails, WorkerSlot> each : held) {
                out.println(entry.getKey() + "\t" + each.getKey().getStartTask()
                    + "\t" + each.getValue().getNodeId() + "\t" + each.getValue().getPort());
            }
        }
    }

    /** As StormcutScheduler does, whose plans come from a brain; returns what was refused, and why. */
    private Map<String, String> playRound(Topologies topologies, Cluster cluster, boolean isLate) {
        ClusterState state = StateReader.read(topologies, cluster, WARNINGS);
        Plan plan = new Plan(
            state.getVersion(), "", state.getFingerprint(), 0,
            new ArrayList<>(planned.values()), new ArrayList<>());
        Round round = new Round(topologies, cluster, DEFAULT);
        if (isLate) {
            completeRemembered(round, plan.getFingerprint());
        } else {
            remembered = plan;
            round.apply(plan);
        }
        round.finish(
            applied,
            remembered == null ? Collections.emptyList() : Collections.singletonList(remembered));
        remembered = plan;
        applied.update(round.placed(), topologies, cluster);
        return round.refused();
    }

    private static void completeRemembered(Round round, String fingerprint) {
        if (remembered != null && remembered.getFingerprint().equals(fingerprint)) {
            round.complete(remembered, applied);
        }
    }

    private void addPlanned(String[] field) {
        List<Integer> tasks = new ArrayList<>();
        for (String task : field[4].split(",")) {
            tasks.add(Integer.parseInt(task));
        }
        planned
            .computeIfAbsent(field[1], id -> new TopologyPlan().setTopology(id))
            .addToWorkers(new Worker(new Slot(field[2], Integer.parseInt(field[3])), tasks));
    }

    private static void reset() {
        applied = AppliedPlacements.in(null, WARNINGS);
        remembered = null;
    }

    /** Takes one line; returns whether the state is complete and answered. */
    private boolean read(String[] field, PrintStream out) {
        switch (field[0]) {
            case "SUPERVISOR":
                addSupervisor(field);
                return false;
            case "TOPOLOGY":
                last = new TopologyState(field[1], Integer.parseInt(field[2]));
                topologies.put(last.id, last);
                return false;
            case "COMPONENT":
                last.addComponent(field);
                return false;
            case "STREAM":
                last.addStream(field[1], field[2], field[3]);
                return false;
            case "HELD":
                int task = Integer.parseInt(field[1]);
                last.held.put(new ExecutorDetails(task, task),
                    new WorkerSlot(field[2], Integer.parseInt(field[3])));
                return false;
            case "PLANNED":
                addPlanned(field);
                return false;
            case "RESET":
                reset();
                return false;
            case "RUN":
                run(field[1], Double.parseDouble(field[2]), out);
                out.println("DONE");
                out.flush();
                return true;
            default:
                throw new IllegalArgumentException(field[0]);
        }
    }

    public static void main(String[] arguments) throws IOException {
        new Time.SimulatedTime(); // Storm orders topologies by age in seconds: stop the clock
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, "UTF-8");
        SchedulerOracle oracle = new SchedulerOracle();
        for (String line; (line = in.readLine()) != null; ) {
            if (oracle.read(line.split("\t", -1), out)) {
                oracle = new SchedulerOracle();
            }
        }
        out.flush();
    }
}
