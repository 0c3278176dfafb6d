package io.stormcut.topologies;

import clojure.lang.Atom;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.storm.Constants;
import org.apache.storm.shade.org.json.simple.JSONValue;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;

/** Storm's own contexts of a chain, source (tasks 2, 3) and sink (4), and its configuration. */
final class Chain {
  final Map<String, Object> conf = new HashMap<>();

  /** As fast as possible, one replay, no reports: what a test needs otherwise it puts in. */
  Chain() {
    conf.put("storm.id", "chain-1-1700000000");
    conf.put("rig.rate", 0);
    conf.put("rig.step.seconds", 30.0);
    conf.put("rig.replays", 1);
    conf.put("rig.seconds", 0.0);
    conf.put("rig.noise", 0.0);
    conf.put("rig.payload", 3);
    conf.put("rig.cpu.ms", 0.0);
    conf.put("rig.io.bytes", 0);
    conf.put("rig.results", "");
    conf.put("rig.keys", 8);
    conf.put("rig.local.share", 1.0);
    conf.put("rig.shift.seconds", 0.0);
    conf.put("rig.shift.period", 0.0);
  }

  Chain with(String name, Object value) {
    conf.put(name, value);
    return this;
  }

  Options options() {
    return new Options(conf);
  }

  TopologyContext task(int task) {
    Map<Integer, String> components = new HashMap<>();
    components.put((int) Constants.SYSTEM_TASK_ID, Constants.SYSTEM_COMPONENT_ID);
    components.put(2, "source");
    components.put(3, "source");
    components.put(4, "sink");
    Map<String, List<Integer>> tasks = new HashMap<>();
    tasks.put("source", Arrays.asList(2, 3));
    tasks.put("sink", Collections.singletonList(4));
    Map<String, Map<String, Fields>> outputs = new HashMap<>();
    outputs.put(
        "source", Collections.singletonMap("default", new Fields("key", "number", "padding")));
    outputs.put(
        Constants.SYSTEM_COMPONENT_ID,
        Collections.singletonMap(Constants.SYSTEM_TICK_STREAM_ID, new Fields("rate_secs")));
    TopologyBuilder builder = new TopologyBuilder();
    builder.setSpout("source", new Source(), 2);
    builder.setBolt("sink", new Sink()).shuffleGrouping("source");
    return new TopologyContext(
        builder.createTopology(), conf, components, tasks, outputs, "chain-1-1700000000", "code",
        "pids", task, 6700, Arrays.asList(2, 3, 4), new HashMap<>(), new HashMap<>(),
        new HashMap<>(), new HashMap<>(), new Atom(false));
  }

  /** The one report in a folder; null if there is none. */
  static Map<?, ?> report(Path folder) {
    try (Stream<Path> files = Files.list(folder)) {
      Path file = files.reduce(null, Chain::only);
      if (file == null) {
        return null;
      }
      String text = new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
      return (Map<?, ?>) JSONValue.parse(text);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private static Path only(Path none, Path file) {
    if (none != null) {
      throw new IllegalStateException(none + " and " + file);
    }
    return file;
  }
}
