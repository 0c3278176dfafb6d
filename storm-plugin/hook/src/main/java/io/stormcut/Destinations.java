package io.stormcut;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * What one thread has sent to each destination, of those that it has sent to: tuples, sampled
 * tuples, their bytes.
 *
 * <p>Only its thread adds, another may read at any time. Memory grows with the destinations that
 * are used, to {@link #MOST} of them; finding one takes constant time.
 */
final class Destinations {
  /** A worker with 100 tasks that send to thousands each stays below 100 MB, and a line short. */
  static final int MOST = 2048;
  static final int TUPLES = 0;
  static final int SAMPLES = 1;
  static final int BYTES = 2;
  static final int TOTALS = 3;
  /** No ordinal: there are as many as there may be. */
  static final int NONE = -1;

  private static final int FIRST_ROOM = 8;

  /** Open addressing: a slot has an ordinal + 1, 0 if it is free. Of its own thread alone. */
  private int[] ordinals = new int[2 * FIRST_ROOM];
  /** Replaced by larger copies; who reads an old one reads totals of a moment ago. */
  private volatile Counts counts = new Counts(new int[FIRST_ROOM], new AtomicLongArray(
      TOTALS * FIRST_ROOM));
  private volatile int size;

  /** The ordinal of a task, from 0 in the order of their first tuples; {@link #NONE} if full. */
  int ordinal(int task) {
    int mask = ordinals.length - 1;
    int[] tasks = counts.tasks;
    int at = slot(task, mask);
    for (int found = ordinals[at]; found != 0; found = ordinals[at]) {
      if (tasks[found - 1] == task) {
        return found - 1;
      }
      at = at + 1 & mask;
    }
    return size == MOST ? NONE : begin(task, at);
  }

  private int begin(int task, int at) {
    int ordinal = size;
    if (ordinal == counts.tasks.length) {
      grow();
      at = free(task);
    }
    counts.tasks[ordinal] = task;
    ordinals[at] = ordinal + 1;
    size = ordinal + 1; // volatile: whoever reads it reads the task, too
    return ordinal;
  }

  private void grow() {
    int room = 2 * size;
    AtomicLongArray totals = new AtomicLongArray(TOTALS * room);
    for (int total = 0; total < TOTALS * size; total++) {
      totals.lazySet(total, counts.totals.get(total));
    }
    counts = new Counts(Arrays.copyOf(counts.tasks, room), totals);
    ordinals = new int[2 * room];
    for (int ordinal = 0; ordinal < size; ordinal++) {
      ordinals[free(counts.tasks[ordinal])] = ordinal + 1;
    }
  }

  private int free(int task) {
    int mask = ordinals.length - 1;
    int at = slot(task, mask);
    while (ordinals[at] != 0) {
      at = at + 1 & mask;
    }
    return at;
  }

  private static int slot(int task, int mask) {
    return (int) (task * 0x9E3779B97F4A7C15L >>> 40) & mask; // the golden ratio spreads evenly
  }

  void add(int ordinal, int total, long amount) {
    AtomicLongArray totals = counts.totals;
    int at = TOTALS * ordinal + total;
    totals.lazySet(at, totals.get(at) + amount);
  }

  int size() {
    return size;
  }

  /** What has been counted, with tasks up to {@link #size} as it was before this call at least. */
  Counts counts() {
    return counts;
  }

  /** Tasks by ordinal, and {@link #TOTALS} totals of each. */
  static final class Counts {
    final int[] tasks;
    private final AtomicLongArray totals;

    private Counts(int[] tasks, AtomicLongArray totals) {
      this.tasks = tasks;
      this.totals = totals;
    }

    long get(int ordinal, int total) {
      return totals.get(TOTALS * ordinal + total);
    }
  }
}
