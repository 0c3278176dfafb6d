package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What is counted is bounded: topologies have tens of thousands of tasks, tuples tens of MB. */
class TallyTest {
  private static final int TASKS = 50_000;
  private static final long MB = 1 << 20;

  private static Tally tally(int sampleEvery) {
    TupleSize size = TupleSize.ofWorker("words-1-0", Contexts.conf());
    return new Tally(Thread.currentThread(), TASKS, sampleEvery, size);
  }

  private static Tally.Sums read(Tally tally) {
    Tally.Sums sums = new Tally.Sums();
    tally.moveTo(sums);
    return sums;
  }

  private static long usedBytes() {
    for (int time = 0; time < 4; time++) {
      System.gc();
    }
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  @Test
  void countsAreThoseOfEveryDestination() {
    Random random = new Random(7);
    Tally tally = tally(0);
    for (int interval = 0; interval < 5; interval++) {
      long[] sent = new long[TASKS];
      for (int tuple = 0; tuple < 20_000; tuple++) {
        int task = random.nextInt(40) * 1024; // alike in their low bits
        sent[task]++;
        tally.emitted(Collections.emptyList(), Collections.singletonList(task));
      }
      Tally.Sums sums = read(tally);
      for (int task = 0; task < TASKS; task++) {
        long[] counted = sums.sent.getOrDefault(task, new long[Destinations.TOTALS]);
        assertEquals(sent[task], counted[Destinations.TUPLES]);
      }
      assertEquals(0, sums.totals[Tally.BEYOND]);
    }
  }

  @Test
  void destinationsBeyondTheMostAreCountedTogether() {
    Tally tally = tally(0);
    for (int task = 0; task < TASKS; task++) {
      tally.emitted(Collections.emptyList(), Arrays.asList(task, task));
    }
    assertEquals(2L * TASKS, tally.events());
    Tally.Sums sums = read(tally);
    assertEquals(Destinations.MOST, sums.sent.size());
    assertEquals(2L * (TASKS - Destinations.MOST), sums.totals[Tally.BEYOND]);
  }

  @Test
  void threadsTogetherTellApartNoMore() {
    Tally.Sums sums = new Tally.Sums();
    for (int thread = 0; thread < 2; thread++) {
      Tally tally = tally(0);
      for (int task = 0; task < 1500; task++) {
        tally.emitted(Collections.emptyList(), Collections.singletonList(1500 * thread + task));
      }
      tally.moveTo(sums);
    }
    assertEquals(Destinations.MOST, sums.sent.size());
    assertEquals(3000 - Destinations.MOST, sums.totals[Tally.BEYOND]);
  }

  @Test
  void memoryIsOfDestinationsThatAreUsed() {
    long before = usedBytes();
    List<Tally> idle = new ArrayList<>();
    for (int each = 0; each < 1000; each++) {
      idle.add(tally(100));
    }
    assertTrue(usedBytes() - before < 10 * MB);
    before = usedBytes();
    for (Tally tally : idle.subList(0, 50)) {
      for (int task = 0; task < TASKS; task++) {
        tally.emitted(Collections.emptyList(), Collections.singletonList(task));
      }
      read(tally);
    }
    assertTrue(usedBytes() - before < 25 * MB);
    assertEquals(1000, idle.size());
  }

  @Test
  void aTupleOfManyMegabytesIsMeasuredAndNotKept() {
    List<Object> values = Collections.singletonList(new byte[(int) (20 * MB)]);
    TupleSize size = TupleSize.ofWorker("large-1-0", Contexts.conf());
    size.of(Collections.singletonList("warm"));
    long before = usedBytes();
    assertTrue(size.of(values) > 20 * MB);
    assertTrue(usedBytes() - before < MB);
    assertEquals(size, TupleSize.ofWorker("large-1-0", Contexts.conf()));
  }
}
