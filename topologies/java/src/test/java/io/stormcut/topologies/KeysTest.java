package io.stormcut.topologies;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class KeysTest {
  private static final int KEYS = 8;
  private static final int DRAWS = 20_000;

  private static Keys keys(double stays, int seed) {
    return new Keys(new Chain().with("rig.local.share", stays).options(), seed);
  }

  private static List<Long> draws(Keys keys, long from) {
    List<Long> drawn = new ArrayList<>();
    for (int i = 0; i < DRAWS; i++) {
      drawn.add(keys.next(from));
    }
    return drawn;
  }

  @Test
  void keysStayAsOftenAsAsked() {
    for (double stays : new double[] {0, 0.25, 0.5, 0.9}) {
      long kept = draws(keys(stays, 1), 3).stream().filter(key -> key == 3).count();
      // of those that do not stay, an eighth meets the same key again
      assertEquals(stays + (1 - stays) / KEYS, (double) kept / DRAWS, 0.02, "share " + stays);
    }
  }

  @Test
  void allOfThemStayIfAsked() {
    assertEquals(DRAWS, draws(keys(1, 1), 3).stream().filter(key -> key == 3).count());
    // also one that is no key: a source has more tasks than there are keys
    assertEquals(DRAWS, draws(keys(1, 1), KEYS).stream().filter(key -> key == KEYS).count());
  }

  @Test
  void afterTheShiftWhatStayedGoesOnToTheNextOddKey() {
    // the chain was launched in 2023
    Chain shifted = new Chain().with("rig.shift.seconds", 60.0);
    Keys keys = new Keys(shifted.options(), 1);
    assertEquals(DRAWS, draws(keys, 3).stream().filter(key -> key == 5).count());
    assertEquals(DRAWS, draws(keys, 4).stream().filter(key -> key == 5).count());
    assertEquals(DRAWS, draws(keys, KEYS - 1).stream().filter(key -> key == 1).count());
    Chain later = new Chain().with("rig.shift.seconds", 1e9);
    assertEquals(DRAWS, draws(new Keys(later.options(), 1), 3).stream().filter(k -> k == 3).count());
  }

  @Test
  void withAPeriodOddAndEvenKeysTakeTurns() {
    for (int shifts = 1; shifts <= 4; shifts++) {
      long launched = System.currentTimeMillis() / 1000 - 500 - 1000 * shifts;
      Chain chain = new Chain().with("storm.id", "chain-1-" + launched);
      chain.with("rig.shift.seconds", 1000.0).with("rig.shift.period", 1000.0);
      Keys keys = new Keys(chain.options(), 1);
      long[] expected = shifts % 2 == 1 ? new long[] {5, 5, 1} : new long[] {4, 6, 0};
      for (int i = 0; i < 3; i++) {
        assertEquals(expected[i], keys.next(new long[] {3, 4, KEYS - 1}[i]), "shift " + shifts);
      }
    }
  }

  @Test
  void keysThatLeaveGoEverywhereAlike() {
    long[] counts = new long[KEYS];
    draws(keys(0, 1), 3).forEach(key -> counts[key.intValue()]++);
    for (int key = 0; key < KEYS; key++) {
      assertEquals(1.0 / KEYS, (double) counts[key] / DRAWS, 0.015, "key " + key);
    }
  }

  @Test
  void tasksDrawForThemselvesAndTheSameAgain() {
    assertEquals(draws(keys(0.5, 1), 3), draws(keys(0.5, 1), 3));
    assertNotEquals(draws(keys(0.5, 1), 3), draws(keys(0.5, 2), 3));
  }
}
