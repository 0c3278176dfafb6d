package io.stormcut.topologies;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TaskReportTest {
  @TempDir Path temporary;

  private static Map<String, Object> acked(long count) {
    return Collections.singletonMap("acked", count);
  }

  private TaskReport report(Path folder) {
    return new TaskReport(new Chain().task(3), folder.toString());
  }

  @Test
  void aReportSaysWhoseItIsAndWhatWasCounted() {
    // the folder is made
    Path folder = temporary.resolve("made/here");
    report(folder).publish(acked(7));
    Map<?, ?> found = Chain.report(folder);
    assertEquals("source", found.get("component"));
    assertEquals(3L, found.get("task"));
    assertEquals(7L, found.get("acked"));
    String machine = ManagementFactory.getRuntimeMXBean().getName();
    assertTrue(machine.startsWith(found.get("process") + "@"), machine);
    assertTrue(Files.exists(folder.resolve("source-3-" + found.get("process") + ".json")));
  }

  @Test
  void onlyWhatChangedIsPublished() throws IOException {
    TaskReport report = report(temporary);
    report.publish(acked(1));
    try (Stream<Path> files = Files.list(temporary)) {
      Files.delete(files.findAny().get());
    }
    report.publish(acked(1));
    assertNull(Chain.report(temporary));
    report.publish(acked(2));
    assertEquals(2L, Chain.report(temporary).get("acked"));
    // in the same file, and nothing beside it
    report.publish(acked(3));
    assertEquals(3L, Chain.report(temporary).get("acked"));
  }

  @Test
  void withoutAFolderThereIsOnlyTheLog() {
    new TaskReport(new Chain().task(3), "").publish(acked(1));
    assertNull(Chain.report(temporary));
  }
}
