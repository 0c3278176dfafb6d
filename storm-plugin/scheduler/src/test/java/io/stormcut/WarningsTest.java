package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class WarningsTest {
  private long nanos;

  @Test
  void repeatsAreCountedNotWritten() {
    Warnings warnings = new Warnings(LoggerFactory.getLogger(Warnings.class), () -> nanos);
    try (LogLines log = new LogLines()) {
      for (int round = 0; round < 61; round++) {
        warnings.warn("no brain");
        warnings.warn("a forged\nline " + round);
        nanos += TimeUnit.SECONDS.toNanos(1);
      }
      assertEquals(1, log.count("WARN", "stormcut: no brain (60 times more"), log.toString());
      assertEquals(2, log.count("WARN", "stormcut: no brain"));
      assertEquals(61, log.count("WARN", "stormcut: a forged line "));
    }
  }
}
