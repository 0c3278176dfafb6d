package io.stormcut;

import java.util.Collection;
import java.util.List;
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
  /** First of the sent tuples per destination; as many sampled tuples and bytes follow. */
  static final int SENT = 5;

  /** A cache line: a neighbour in memory that another thread writes would slow both down. */
  private static final int PADDING = 8;

  final Thread thread;
  private final int tasks;
  private final int sampleEvery;
  private final TupleSize size;
  private final AtomicLongArray totals;
  private final long[] before;
  /** Per destination, the ordinal of the next tuple to sample. */
  private final long[] next;
  /** Per destination, the interval of its last sample. */
  private final int[] sampledIn;
  /** How often {@link #moveTo} was called; other threads do that. */
  private volatile int interval;

  /** `size` may be null if `sampleEvery` is 0. */
  Tally(Thread thread, int tasks, int sampleEvery, TupleSize size) {
    this.thread = thread;
    this.tasks = tasks;
    this.sampleEvery = sampleEvery;
    this.size = size;
    before = new long[length(tasks)];
    totals = new AtomicLongArray(PADDING + before.length + PADDING);
    next = new long[tasks];
    sampledIn = new int[tasks];
  }

  /** How many totals there are. */
  static int length(int tasks) {
    return SENT + 3 * tasks;
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
      if (isSampled(target)) {
        if (!measured) {
          tupleBytes = size.of(values);
          measured = true;
        }
        if (tupleBytes != TupleSize.UNKNOWN) {
          add(SENT + tasks + target, 1);
          add(SENT + 2 * tasks + target, tupleBytes);
        }
      }
      add(SENT + target, 1);
    }
  }

  /**
   * One tuple of each `sampleEvery`, its position differing from group to group: streams that
   * alternate, such as tuples and their acks, would else be sampled one-sidedly. And the first of
   * each interval, lest a destination that gets few be measured without a size.
   */
  private boolean isSampled(int target) {
    if (sampleEvery == 0) {
      return false;
    }
    boolean isFirst = sampledIn[target] != interval;
    if (totals.get(PADDING + SENT + target) == next[target]) {
      long group = next[target] / sampleEvery + 1;
      long mixed = group * 0x9E3779B97F4A7C15L >>> 33; // the golden ratio spreads evenly
      next[target] = group * sampleEvery + mixed % sampleEvery;
    } else if (!isFirst) {
      return false;
    }
    sampledIn[target] = interval;
    return true;
  }

  /** How much was counted in all: tuples sent, executed, acked or failed. */
  long events() {
    long events = totals.get(PADDING + EXECUTED) + totals.get(PADDING + ACKED);
    events += totals.get(PADDING + FAILED);
    for (int target = 0; target < tasks; target++) {
      events += totals.get(PADDING + SENT + target);
    }
    return events;
  }

  /** Add what was counted since the last call to `sums`; one thread at a time. */
  void moveTo(long[] sums) {
    for (int total = 0; total < before.length; total++) {
      long now = totals.get(PADDING + total);
      sums[total] += now - before[total];
      before[total] = now;
    }
    // One thread at a time: see the description.
    interval = interval + 1;
  }
}
