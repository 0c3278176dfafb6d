package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.stormcut.protocol.ClusterState;
import io.stormcut.protocol.Executor;
import io.stormcut.protocol.Stream;
import io.stormcut.protocol.Supervisor;
import io.stormcut.protocol.Topology;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.Grouping;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.grouping.CustomStreamGrouping;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.task.WorkerTopologyContext;
import org.apache.storm.testing.TestWordCounter;
import org.apache.storm.testing.TestWordSpout;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class StateReaderTest {
  private final Clusters given = new Clusters();
  private final Warnings warnings =
      new Warnings(LoggerFactory.getLogger(StateReader.class), System::nanoTime);

  private ClusterState read(Cluster cluster) {
    return StateReader.read(given.topologies(), cluster, warnings);
  }

  @Test
  void whatNimbusKnows() {
    given.supervisor("b", 6701, 6700).supervisor("a", 6800).topology("t-1-1", 2, 2);
    given.assigned("t-1-1", "b", 6701, 3, 1).assigned("t-1-1", "a", 6800, 77);
    ClusterState state = read(given.cluster());
    Supervisor b = state.getSupervisors().get(1);
    assertEquals("b host-b [6700, 6701]", b.getId() + " " + b.getHost() + " " + b.getPorts());
    assertEquals(400.0, b.getCpu_percent());
    assertEquals(3072.0, b.getMemory_mb());
    assertEquals(Collections.singletonMap("stormcut.rack", "r1"), b.getMeta());
    Topology topology = state.getTopologies().get(0);
    assertEquals("t", topology.getName());
    assertEquals(2, topology.getWorkers());
    assertEquals(3, topology.getExecutorsSize());
    Executor spout = topology.getExecutors().get(2);
    assertEquals("words", spout.getComponent());
    assertEquals(10.0, spout.getCpu_percent());
    assertEquals(128.0, spout.getMemory_mb());
    // Task 77 is not the topology's.
    assertEquals(
        Collections.singletonList(Plans.worker("b", 6701, 1, 3)), topology.getAssignment());
    assertEquals(Fingerprint.of(state), state.getFingerprint());
  }

  @Test
  @SuppressWarnings("unchecked")
  void whatTheSubmitterSaysOfWorkers() {
    given.topology("t-1-1", 2, 2);
    assertFalse(read(given.cluster()).getTopologies().get(0).isSetWorkers_policy());
    given.topologies.get("t-1-1").getConf().put("stormcut.workers", "keep");
    assertEquals("keep", read(given.cluster()).getTopologies().get(0).getWorkers_policy());
  }

  @Test
  @SuppressWarnings("unchecked")
  void whatTheSubmitterDeclaresOfOperators() {
    given.topology("t-1-1", 2, 2);
    assertFalse(read(given.cluster()).getTopologies().get(0).isSetOperators());
    Map<String, Object> conf = given.topologies.get("t-1-1").getConf();
    conf.put("stormcut.operator.words", "{\"kind\": \"source\"}");
    conf.put("stormcut.operator.count", Collections.singletonMap("rate", 7));
    Map<String, String> operators = new HashMap<>();
    operators.put("words", "{\"kind\": \"source\"}");
    operators.put("count", "{\"rate\":7}");
    assertEquals(operators, read(given.cluster()).getTopologies().get(0).getOperators());
  }

  @Test
  @SuppressWarnings("unchecked")
  void theLessOfTwoHeapsIsAWorkers() {
    given.topology("t-1-1", 2, 2);
    Map<String, Object> conf = given.topologies.get("t-1-1").getConf();
    assertEquals(768.0, read(given.cluster()).getTopologies().get(0).getWorker_heap_mb());
    conf.put("topology.worker.max.heap.size.mb", 2048.0);
    conf.put("worker.heap.memory.mb", 1024);
    assertEquals(1024.0, read(given.cluster()).getTopologies().get(0).getWorker_heap_mb());
    conf.put("topology.worker.max.heap.size.mb", "many");
    conf.remove("worker.heap.memory.mb");
    assertFalse(read(given.cluster()).getTopologies().get(0).isSetWorker_heap_mb());
  }

  @Test
  void blacklistedNodesOfferNothing() {
    given.supervisor("a", 6700);
    Cluster cluster = given.cluster();
    String before = read(cluster).getFingerprint();
    cluster.blacklistHost("host-a");
    assertEquals(Collections.emptyList(), read(cluster).getSupervisors().get(0).getPorts());
    assertNotEquals(before, read(cluster).getFingerprint());
  }

  @Test
  void undeclaredCapacitiesAreAbsent() {
    given.supervisors.put("a", new SupervisorDetails("a", (Object) null));
    Supervisor supervisor = read(given.cluster()).getSupervisors().get(0);
    assertFalse(supervisor.isSetCpu_percent() || supervisor.isSetMemory_mb());
    assertEquals(Collections.emptyMap(), supervisor.getMeta());
  }

  @Test
  void oneThatCannotBeDescribedIsLeftOutWithItsSlots() {
    given.supervisor("a", 6700, 6701).topology("good-1-1", 1, 2);
    given.topology("bad-2-1", 1, 2).assigned("bad-2-1", "a", 6701, 1, 2, 3);
    given.topologies.get("bad-2-1").getTopology().get_bolts().values().forEach(
        bolt -> bolt.get_common().get_inputs().replaceAll((stream, grouping) -> new Grouping()));
    try (LogLines lines = new LogLines()) {
      ClusterState state = read(given.cluster());
      assertEquals(1, state.getTopologiesSize());
      assertEquals("good-1-1", state.getTopologies().get(0).getId());
      assertEquals(Collections.singletonList(6700), state.getSupervisors().get(0).getPorts());
      assertEquals(1, lines.count("WARN", "topology bad-2-1 cannot be described"));
    }
  }

  @Test
  void everyGroupingHasItsName() {
    TopologyBuilder builder = new TopologyBuilder();
    builder.setSpout("words", new TestWordSpout());
    builder.setBolt("shuffle", new TestWordCounter()).shuffleGrouping("words");
    builder.setBolt("local_or_shuffle", new TestWordCounter()).localOrShuffleGrouping("words");
    builder.setBolt("fields", new TestWordCounter()).fieldsGrouping("words", new Fields("word"));
    builder
        .setBolt("partial_key", new TestWordCounter())
        .partialKeyGrouping("words", new Fields("word"));
    builder.setBolt("all", new TestWordCounter()).allGrouping("words");
    builder.setBolt("global", new TestWordCounter()).globalGrouping("words");
    builder.setBolt("none", new TestWordCounter()).noneGrouping("words");
    builder.setBolt("direct", new TestWordCounter()).directGrouping("words", "side");
    builder.setBolt("custom", new TestWordCounter()).customGrouping("words", new First());
    StormTopology topology = builder.createTopology();
    Map<ExecutorDetails, String> executors = new HashMap<>();
    executors.put(new ExecutorDetails(1, 1), "words");
    given.topology("g-1-1", 1, topology, executors);
    List<Stream> streams = read(given.cluster()).getTopologies().get(0).getStreams();
    assertEquals(9, streams.size());
    for (Stream stream : streams) {
      assertEquals("words", stream.getSource());
      assertEquals(stream.getTarget(), stream.getGrouping());
    }
    assertEquals(
        Collections.singletonList("direct"),
        streams.stream().filter(s -> s.getStream().equals("side")).map(Stream::getTarget)
            .collect(Collectors.toList()));
  }

  private static final class First implements CustomStreamGrouping {
    private static final long serialVersionUID = 1L;

    @Override
    public void prepare(WorkerTopologyContext context, GlobalStreamId stream, List<Integer> all) {}

    @Override
    public List<Integer> chooseTasks(int task, List<Object> values) {
      return Arrays.asList(1);
    }
  }
}
