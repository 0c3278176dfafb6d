package io.stormcut;

import clojure.lang.Atom;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.metric.api.IMetric;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.testing.TestWordCounter;
import org.apache.storm.testing.TestWordSpout;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.apache.storm.utils.Utils;

/** Storm's own contexts of a topology: tasks 1, 2 (count), 4 (words) here, 3 (count) elsewhere. */
final class Contexts {
  final Map<Integer, Map<Integer, Map<String, IMetric>>> metrics = new HashMap<>();

  TopologyContext task(int task) {
    return task(task, "pids");
  }

  TopologyContext task(int task, String pidFolder) {
    TopologyBuilder builder = new TopologyBuilder();
    builder.setSpout("words", new TestWordSpout(), 1);
    builder.setBolt("count", new TestWordCounter(), 3).shuffleGrouping("words");
    StormTopology topology = builder.createTopology();
    Map<Integer, String> components = new HashMap<>();
    components.put(-1, "__system");
    components.put(1, "count");
    components.put(2, "count");
    components.put(3, "count");
    components.put(4, "words");
    Map<String, List<Integer>> tasks = new HashMap<>();
    components.forEach((id, name) -> tasks.computeIfAbsent(name, n -> new ArrayList<>()).add(id));
    List<Integer> here = new ArrayList<>();
    here.add(1);
    here.add(2);
    here.add(4);
    return new TopologyContext(
        topology, conf(), components, tasks, outputs(), "words-1-0", "code", pidFolder,
        task, 6700, here, new HashMap<>(), new HashMap<>(), new HashMap<>(), metrics,
        new Atom(false));
  }

  private static Map<String, Map<String, Fields>> outputs() {
    Map<String, Map<String, Fields>> outputs = new HashMap<>();
    outputs.put("words", Collections.singletonMap("default", new Fields("word")));
    outputs.put("count", Collections.singletonMap("default", new Fields("word", "count")));
    return outputs;
  }

  IMetric metric(int task, int secs) {
    return metrics.get(secs).get(task).get(StormcutHook.METRIC);
  }

  static Map<String, Object> conf() {
    return new HashMap<String, Object>(Utils.readDefaultConfig());
  }
}
