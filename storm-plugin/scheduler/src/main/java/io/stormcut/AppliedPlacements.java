package io.stormcut;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.shade.org.json.simple.JSONValue;

/**
 * Where plans have put topologies that run, kept in a file of Nimbus's.
 *
 * <p>What runs so stays so: while the brain declines, without any brain, after a restart of Nimbus,
 * and with the plugin switched off. Storm's default scheduler would reshuffle whatever uses fewer
 * workers than it may.
 */
final class AppliedPlacements {
  private static final int VERSION = 1;
  private static final String WHAT = "the file of applied placements";
  /** Some ten million executors. */
  private static final long MOST_BYTES = 256L << 20;

  /** Null: nothing is kept beyond this process. */
  private final Path file;
  private final Warnings warnings;
  private final Map<String, Placement> placements = new HashMap<>();

  private AppliedPlacements(Path file, Warnings warnings) {
    this.file = file;
    this.warnings = warnings;
  }

  /** What `file` holds, which may be null; nothing if it cannot be read, with a warning. */
  static AppliedPlacements in(Path file, Warnings warnings) {
    AppliedPlacements applied = new AppliedPlacements(file, warnings);
    try {
      if (file != null && Files.isRegularFile(file)) {
        applied.read();
      }
    } catch (IOException | Unusable | RuntimeException trouble) {
      applied.placements.clear();
      warnings.warn(WHAT + ", " + file + ", cannot be read: " + trouble.getMessage());
    }
    return applied;
  }

  /** Where a topology was put, null if no plan did or it runs otherwise since. */
  Placement get(String topology) {
    return placements.get(topology);
  }

  /** Remember what plans have put, and forget what is gone or runs whole in another way. */
  void update(Map<String, Placement> accepted, Topologies topologies, Cluster cluster) {
    Map<String, Placement> before = new HashMap<>(placements);
    placements.putAll(accepted);
    placements.keySet().removeIf(id -> isOver(topologies.getById(id), cluster));
    if (!placements.equals(before)) {
      write();
    }
  }

  private boolean isOver(TopologyDetails topology, Cluster cluster) {
    return topology == null
        || cluster.getUnassignedExecutors(topology).isEmpty()
            && !Placement.running(topology.getId(), cluster)
                .equals(placements.get(topology.getId()));
  }

  private void write() {
    if (file == null) {
      return;
    }
    try {
      if (placements.isEmpty()) {
        Files.deleteIfExists(file);
        return;
      }
      Path next = file.resolveSibling(file.getFileName() + ".new");
      Files.write(next, json().getBytes(StandardCharsets.UTF_8));
      Files.move(
          next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException trouble) {
      warnings.warn(WHAT + ", " + file + ", cannot be written: " + trouble);
    }
  }

  private String json() {
    Map<String, Object> topologies = new TreeMap<>();
    placements.forEach((id, placement) -> topologies.put(id, workers(placement)));
    Map<String, Object> document = new TreeMap<>();
    document.put("version", VERSION);
    document.put("topologies", topologies);
    return JSONValue.toJSONString(document);
  }

  private static List<Object> workers(Placement placement) {
    List<Object> workers = new ArrayList<>();
    placement
        .workers()
        .forEach(
            (slot, executors) -> {
              List<Object> tasks = new ArrayList<>();
              for (ExecutorDetails executor : executors) {
                List<Integer> range = new ArrayList<>();
                range.add(executor.getStartTask());
                range.add(executor.getEndTask());
                tasks.add(range);
              }
              Map<String, Object> worker = new TreeMap<>();
              worker.put("node", slot.getNodeId());
              worker.put("port", slot.getPort());
              worker.put("executors", tasks);
              workers.add(worker);
            });
    return workers;
  }

  private void read() throws IOException, Unusable {
    if (Files.size(file) > MOST_BYTES) {
      throw new Unusable("it is above " + MOST_BYTES + " bytes");
    }
    Map<?, ?> document = Json.object(Files.readAllBytes(file), WHAT, VERSION);
    try {
      Map<?, ?> topologies = (Map<?, ?>) document.get("topologies");
      topologies.forEach((id, workers) -> placements.put((String) id, placement(workers)));
    } catch (ClassCastException | NullPointerException | IndexOutOfBoundsException malformed) {
      throw new Unusable("it holds no placements");
    }
  }

  private static Placement placement(Object workers) {
    Map<WorkerSlot, Set<ExecutorDetails>> placed = new HashMap<>();
    for (Object each : (List<?>) workers) {
      Map<?, ?> worker = (Map<?, ?>) each;
      Set<ExecutorDetails> executors = new HashSet<>();
      for (Object range : (List<?>) worker.get("executors")) {
        long start = (Long) ((List<?>) range).get(0);
        long end = (Long) ((List<?>) range).get(1);
        executors.add(new ExecutorDetails((int) start, (int) end));
      }
      placed.put(new WorkerSlot((String) worker.get("node"), (Long) worker.get("port")), executors);
    }
    return Placement.of(placed);
  }
}
