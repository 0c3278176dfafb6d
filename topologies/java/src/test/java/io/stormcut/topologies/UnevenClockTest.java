package io.stormcut.topologies;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class UnevenClockTest {
  private static final double NOISE = 0.3;

  @Test
  void withoutNoiseItIsEven() {
    assertEquals(12.34, new UnevenClock(0).read(12.34));
  }

  @Test
  void everyMinuteHasItsSeconds() {
    UnevenClock clock = new UnevenClock(NOISE);
    for (int minute = 0; minute <= 60; minute++) {
      assertEquals(60 * minute, clock.read(60 * minute), 1e-6);
    }
    // A source that comes back looks at any moment.
    assertEquals(new UnevenClock(NOISE).read(333.3), clock.read(333.3));
  }

  @Test
  void itNeverRunsBackAndSecondsDiffer() {
    UnevenClock clock = new UnevenClock(NOISE);
    double still = 0;
    double away = 0;
    for (int second = 0; second < 3600; second++) {
      double length = clock.read(second + 1) - clock.read(second);
      assertTrue(length >= 0, "runs back at " + second);
      still += length == 0 ? 1 : 0;
      away += Math.abs(length - 1);
    }
    // A minute in three has a stall of three seconds.
    assertTrue(still > 20 && still < 120, still + " seconds stand still");
    assertTrue(away / 3600 > 0.1, "as good as even");
  }

  @Test
  void itShowsWhatTheOneInPythonShows() {
    UnevenClock clock = new UnevenClock(NOISE);
    assertEquals(11.330592843, clock.read(10.5), 1e-9);
    assertEquals(1234.854449545, clock.read(1234.25), 1e-9);
    assertEquals(3331.970268118, clock.read(3333), 1e-9);
  }
}
