package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import org.apache.storm.scheduler.Cluster;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** Topology a, executors 1 to 3, runs on n:1 as a plan has put it. */
class AppliedPlacementsTest {
  @TempDir Path folder;
  private final Warnings warnings =
      new Warnings(LoggerFactory.getLogger(AppliedPlacements.class), System::nanoTime);
  private final Clusters given =
      new Clusters().supervisor("n", 1, 2).topology("a", 1, 2).assigned("a", "n", 1, 1, 2, 3);
  private Path file;
  private AppliedPlacements applied;

  @BeforeEach
  void apply() {
    file = folder.resolve("applied.json");
    applied = read();
    Cluster cluster = given.cluster();
    applied.update(
        Collections.singletonMap("a", Placement.running("a", cluster)), given.topologies(), cluster);
    assertNotNull(applied.get("a"));
  }

  private AppliedPlacements read() {
    return AppliedPlacements.in(file, warnings);
  }

  private void update() {
    applied.update(Collections.emptyMap(), given.topologies(), given.cluster());
  }

  @Test
  void whatRunsSoIsKnownToTheNextNimbus() {
    assertEquals(applied.get("a"), read().get("a"));
  }

  @Test
  void whatRunsInPartOnlyIsRemembered() {
    given.assignments.clear();
    given.assigned("a", "n", 1, 1, 2);
    update();
    assertNotNull(applied.get("a"));
  }

  @Test
  void whatRunsWholeInAnotherWayIsForgottenAndItsFileDeleted() {
    given.assignments.clear();
    given.assigned("a", "n", 2, 1, 2, 3);
    update();
    assertNull(applied.get("a"));
    assertFalse(Files.exists(file));
  }

  @Test
  void soIsWhatIsGone() {
    given.topologies.clear();
    update();
    assertNull(applied.get("a"));
  }

  @Test
  void whatCannotBeWrittenIsNamedAndKnownAllTheSame() {
    Cluster cluster = given.cluster();
    try (LogLines log = new LogLines()) {
      AppliedPlacements lost =
          AppliedPlacements.in(folder.resolve("gone").resolve("applied.json"), warnings);
      lost.update(
          Collections.singletonMap("a", Placement.running("a", cluster)),
          given.topologies(),
          cluster);
      assertNotNull(lost.get("a"));
      assertEquals(1, log.count("WARN", "cannot be written"), log.toString());
    }
  }

  @Test
  void ofAFileThatIsDamagedSomewhereNothingIsBelieved() throws Exception {
    String sound = new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    String damaged = sound.replace("\"topologies\":{", "\"topologies\":{\"b\":[{}],");
    assertTrue(damaged.length() > sound.length());
    Files.write(file, damaged.getBytes(StandardCharsets.UTF_8));
    assertNull(read().get("a"));
  }
}
