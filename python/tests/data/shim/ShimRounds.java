import io.stormcut.StormcutScheduler;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.INimbus;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.testing.TestWordCounter;
import org.apache.storm.testing.TestWordSpout;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.utils.Utils;

/**
 * The plugin's jar as Nimbus calls it: for every line `KEY=VALUE ...` of its input one round of a
 * scheduler of this configuration (the one before, for an empty line), then a line
 * `ROUND <milliseconds> <ports used>`. Topology a asks for two workers on n's ports 1 and 2.
 */
public final class ShimRounds {
  private static final Map<String, SupervisorDetails> SUPERVISORS =
      Collections.singletonMap(
          "n",
          new SupervisorDetails(
              "n", "host", null, null, Arrays.<Number>asList(1, 2), Collections.emptyMap()));

  public static void main(String[] none) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    StormcutScheduler scheduler = null;
    for (String line; (line = lines.readLine()) != null; ) {
      if (!line.isEmpty()) {
        scheduler = new StormcutScheduler();
        scheduler.prepare(conf(line));
      }
      long began = System.nanoTime();
      Set<Integer> ports = round(scheduler);
      System.out.println("ROUND " + (System.nanoTime() - began) / 1_000_000 + " " + ports);
    }
  }

  private static Map<String, Object> conf(String line) {
    Map<String, Object> conf = new HashMap<>();
    for (String pair : line.split(" ")) {
      String[] parts = pair.split("=", 2);
      boolean number = parts[1].matches("\\d+");
      conf.put(parts[0], number ? (Object) Long.valueOf(parts[1]) : parts[1]);
    }
    conf.put("stormcut.zookeeper.servers", Collections.singletonList("127.0.0.1"));
    return conf;
  }

  private static Set<Integer> round(IScheduler scheduler) {
    TopologyBuilder builder = new TopologyBuilder();
    builder.setSpout("words", new TestWordSpout(), 1);
    builder.setBolt("count", new TestWordCounter(), 1).shuffleGrouping("words");
    Map<ExecutorDetails, String> executors = new HashMap<>();
    executors.put(new ExecutorDetails(1, 1), "count");
    executors.put(new ExecutorDetails(2, 2), "words");
    Map<?, ?> conf = new HashMap<Object, Object>(Utils.readDefaultConfig());
    Topologies topologies =
        new Topologies(
            Collections.singletonMap(
                "a", new TopologyDetails("a", conf, builder.createTopology(), 2, executors, "u")));
    Cluster cluster =
        new Cluster(new StandaloneNimbus(), SUPERVISORS, new HashMap<>(), new HashMap<>());
    scheduler.schedule(topologies, cluster);
    Set<Integer> ports = new TreeSet<>();
    cluster.getAssignmentById("a").getSlots().forEach(slot -> ports.add(slot.getPort()));
    return ports;
  }

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
