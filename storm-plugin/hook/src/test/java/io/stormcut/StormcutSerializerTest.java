package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.storm.metric.api.IMetric;
import org.apache.storm.multilang.NoOutputException;
import org.apache.storm.shade.org.json.simple.JSONValue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With a real subprocess that speaks the first words of the multilang protocol. */
class StormcutSerializerTest {
  private static final String ECHO =
      "echo '{\"pid\": '$$'}'; echo end; while read line; do"
          + " if [ \"$line\" = end ]; then echo '{\"command\": \"sync\"}'; echo end; fi; done";

  @TempDir Path folder;

  @Test
  void aSubprocessAndItsThreadsAreMeasured() throws Exception {
    Contexts contexts = new Contexts();
    new StormcutHook().prepare(Contexts.conf(), contexts.task(3));
    IMetric metric = contexts.metric(3, 10);
    Process process = new ProcessBuilder("sh", "-c", ECHO).start();
    try (OutputStream out = process.getOutputStream();
        InputStream in = process.getInputStream()) {
      StormcutSerializer serializer = new StormcutSerializer();
      serializer.initialize(out, in);
      serializer.connect(Contexts.conf(), contexts.task(3, folder.toString()));
      Map<?, ?> line = readWhileReaderLives(serializer, metric);
      Map<?, ?> child = (Map<?, ?>) line.get("child");
      assertTrue((Long) child.get("pid") > 1);
      assertTrue((Long) child.get("rss_bytes") > 100_000, child.toString());
      assertTrue((Long) child.get("cpu_ms") >= 0, child.toString());
      assertTrue((Double) line.get("cpu_ms") >= 50, "the reader's: " + line);
    } finally {
      process.destroyForcibly().waitFor();
    }
    assertNull(read(metric).get("child"));
  }

  private static Map<?, ?> readWhileReaderLives(StormcutSerializer serializer, IMetric metric)
      throws Exception {
    CountDownLatch burnt = new CountDownLatch(1);
    CountDownLatch measured = new CountDownLatch(1);
    Thread reader =
        new Thread(
            () -> {
              try {
                serializer.writeTaskIds(Arrays.asList(1));
                assertEquals("sync", serializer.readShellMsg().getCommand());
                StormcutHookTest.burn(50);
                burnt.countDown();
                measured.await();
              } catch (IOException | NoOutputException | InterruptedException failed) {
                throw new IllegalStateException(failed);
              }
            });
    reader.start();
    assertTrue(burnt.await(60, TimeUnit.SECONDS));
    Map<?, ?> line = read(metric);
    measured.countDown();
    reader.join();
    return line;
  }

  private static Map<?, ?> read(IMetric metric) {
    return (Map<?, ?>) JSONValue.parse((String) metric.getValueAndReset());
  }
}
