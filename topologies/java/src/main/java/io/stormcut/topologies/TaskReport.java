package io.stormcut.topologies;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.HashMap;
import java.util.Map;
import org.apache.storm.shade.org.json.simple.JSONValue;
import org.apache.storm.task.TopologyContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a task did, as the Python components report it: a log line, and a file if asked for. */
final class TaskReport {
  private static final Logger LOG = LoggerFactory.getLogger(TaskReport.class);
  private static final String PROCESS =
      ManagementFactory.getRuntimeMXBean().getName().replaceAll("@.*", "");

  private final Map<String, Object> who = new HashMap<>();
  private final String folder;
  private String published = "";

  TaskReport(TopologyContext context, String folder) {
    who.put("component", context.getThisComponentId());
    who.put("task", context.getThisTaskId());
    who.put("process", Integer.valueOf(PROCESS));
    this.folder = folder;
  }

  void publish(Map<String, Object> counts) {
    Map<String, Object> document = new HashMap<>(who);
    document.putAll(counts);
    String text = JSONValue.toJSONString(document);
    if (text.equals(published)) {
      return;
    }
    published = text;
    LOG.info("report {}", text);
    if (!folder.isEmpty()) {
      write(text);
    }
  }

  private void write(String text) {
    String name = who.get("component") + "-" + who.get("task") + "-" + PROCESS;
    Path part = Paths.get(folder, name + ".part");
    try {
      Files.createDirectories(part.getParent());
      Files.write(part, text.getBytes(StandardCharsets.UTF_8));
      Files.move(part, Paths.get(folder, name + ".json"), StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }
}
