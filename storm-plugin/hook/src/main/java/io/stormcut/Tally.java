package io.stormcut;

import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * What one thread does for one task.
 *
 * <p>Totals only grow and only their thread writes them, so counting needs no locked instruction,
 * and nothing is lost between a reading and a reset; another thread may read at any time.
 */
final class Tally {
  static final int EXECUTED = 0;
  static final int ACKED = 1;
  static final int FAILED = 2;
  static final int COMPLETE_MS = 3;
  static final int COMPLETE_SAMPLES = 4;
  /** Tuples to destinations beyond those that are told apart. */
  static final int BEYOND = 5;
  static final int TOTALS = 6;

  /** A cache line: a neighbour in memory that another thread writes would slow both down. */
  private static final int PADDING = 8;
  private static final int FIRST_ROOM = 8;

  final Thread thread;
  private final int tasks;
  private final int sampleEvery;
  private final TupleSize size;
  private final AtomicLongArray totals = new AtomicLongArray(PADDING + TOTALS + PADDING);
  private final long[] before = new long[TOTALS];
  private final Destinations sent = new Destinations();
  /** Of {@link #sent} at the last {@link #moveTo}. */
  private long[] sentBefore = new long[0];
  /** By ordinal of a destination, that of the next tuple to sample. */
  private long[] next = new long[FIRST_ROOM];
  /** By ordinal of a destination, the interval of its last sample. */
  private int[] sampledIn = new int[FIRST_ROOM];
  /** How often {@link #moveTo} was called; other threads do that. */
  private volatile int interval;

  /** Of destinations from 0 to below `tasks`; `size` may be null if `sampleEvery` is 0. */
  Tally(Thread thread, int tasks, int sampleEvery, TupleSize size) {
    this.thread = thread;
    this.tasks = tasks;
    this.sampleEvery = sampleEvery;
    this.size = size;
  }

  void add(int total, long amount) {
    int at = PADDING + total;
    totals.lazySet(at, totals.get(at) + amount);
  }

  void emitted(List<Object> values, Collection<Integer> targets) {
    int tupleBytes = TupleSize.UNKNOWN;
    boolean measured = false;
    for (Integer target : targets) {
      // A direct emit to a task that the stream does not reach reports null.
      if (target == null || target < 0 || target >= tasks) {
        continue;
      }
      int to = sent.ordinal(target);
      if (to == Destinations.NONE) {
        add(BEYOND, 1);
        continue;
      }
      if (isSampled(to)) {
        if (!measured) {
          tupleBytes = size.of(values);
          measured = true;
        }
        if (tupleBytes != TupleSize.UNKNOWN) {
          sent.add(to, Destinations.SAMPLES, 1);
          sent.add(to, Destinations.BYTES, tupleBytes);
        }
      }
      sent.add(to, Destinations.TUPLES, 1);
    }
  }

  /**
   * One tuple of each `sampleEvery`, its position differing from group to group: streams that
   * alternate, such as tuples and their acks, would else be sampled one-sidedly. And the first of
   * each interval, lest a destination that gets few be measured without a size.
   */
  private boolean isSampled(int to) {
    if (sampleEvery == 0) {
      return false;
    }
    if (to >= next.length) {
      next = Arrays.copyOf(next, 2 * next.length);
      sampledIn = Arrays.copyOf(sampledIn, next.length);
    }
    boolean isFirst = sampledIn[to] != interval;
    if (sent.counts().get(to, Destinations.TUPLES) == next[to]) {
      long group = next[to] / sampleEvery + 1;
      long mixed = group * 0x9E3779B97F4A7C15L >>> 33; // the golden ratio spreads evenly
      next[to] = group * sampleEvery + mixed % sampleEvery;
    } else if (!isFirst) {
      return false;
    }
    sampledIn[to] = interval;
    return true;
  }

  /** How much was counted in all: tuples sent, executed, acked or failed. */
  long events() {
    long events = totals.get(PADDING + EXECUTED) + totals.get(PADDING + ACKED);
    events += totals.get(PADDING + FAILED) + totals.get(PADDING + BEYOND);
    int size = sent.size();
    Destinations.Counts counts = sent.counts();
    for (int to = 0; to < size; to++) {
      events += counts.get(to, Destinations.TUPLES);
    }
    return events;
  }

  /** Add what was counted since the last call to `sums`; one thread at a time. */
  void moveTo(Sums sums) {
    for (int total = 0; total < TOTALS; total++) {
      long now = totals.get(PADDING + total);
      sums.totals[total] += now - before[total];
      before[total] = now;
    }
    int size = sent.size();
    Destinations.Counts counts = sent.counts();
    if (sentBefore.length < Destinations.TOTALS * size) {
      sentBefore = Arrays.copyOf(sentBefore, Destinations.TOTALS * counts.tasks.length);
    }
    for (int to = 0; to < size; to++) {
      long[] grown = new long[Destinations.TOTALS];
      for (int total = 0; total < Destinations.TOTALS; total++) {
        int at = Destinations.TOTALS * to + total;
        long now = counts.get(to, total);
        grown[total] = now - sentBefore[at];
        sentBefore[at] = now;
      }
      sums.sent(counts.tasks[to], grown);
    }
    // One thread at a time: see the description.
    interval = interval + 1;
  }

  /** What all threads of a task counted in an interval. */
  static final class Sums {
    final long[] totals = new long[TOTALS];
    /** Task to {@link Destinations#TOTALS} totals. */
    final NavigableMap<Integer, long[]> sent = new TreeMap<>();

    private void sent(int task, long[] grown) {
      boolean isNone = grown[Destinations.TUPLES] == 0 && grown[Destinations.SAMPLES] == 0;
      long[] sum = isNone ? null : sent.get(task);
      if (sum != null) {
        for (int total = 0; total < Destinations.TOTALS; total++) {
          sum[total] += grown[total];
        }
      } else if (!isNone && sent.size() < Destinations.MOST) {
        sent.put(task, grown);
      } else {
        totals[BEYOND] += grown[Destinations.TUPLES];
      }
    }
  }
}
