package io.stormcut;

import java.util.concurrent.atomic.LongAdder;

/** Counts from any thread; only grows, as LongAdder's own reset can lose what comes meanwhile. */
final class Counter {
  private final LongAdder total = new LongAdder();
  private long before;

  void add(long amount) {
    total.add(amount);
  }

  /** What was added since the last call; one thread at a time. */
  long since() {
    long now = total.sum();
    long added = now - before;
    before = now;
    return added;
  }
}
