package io.stormcut;

import java.util.Collection;
import java.util.List;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Counts what one task sends to each other task.
 *
 * <p>Counters only grow, so that neither a count nor a sample is lost between a reading and a
 * reset; any thread may count, one at a time reads.
 */
final class Traffic {
  private final AtomicLongArray sent;
  private final AtomicLongArray sampled;
  private final AtomicLongArray bytes;
  private final long[] sentBefore;
  private final long[] sampledBefore;
  private final long[] bytesBefore;
  private final int sampleEvery;
  private final TupleSize size;

  /** `size` may be null if `sampleEvery` is 0. */
  Traffic(int tasks, int sampleEvery, TupleSize size) {
    sent = new AtomicLongArray(tasks);
    sampled = new AtomicLongArray(tasks);
    bytes = new AtomicLongArray(tasks);
    sentBefore = new long[tasks];
    sampledBefore = new long[tasks];
    bytesBefore = new long[tasks];
    this.sampleEvery = sampleEvery;
    this.size = size;
  }

  void count(List<Object> values, Collection<Integer> targets) {
    int tupleBytes = TupleSize.UNKNOWN;
    boolean measured = false;
    for (Integer target : targets) {
      // A direct emit to a task that the stream does not reach reports null.
      if (target == null || target < 0 || target >= sent.length()) {
        continue;
      }
      long before = sent.getAndIncrement(target);
      if (sampleEvery > 0 && isSample(before)) {
        if (!measured) {
          tupleBytes = size.of(values);
          measured = true;
        }
        if (tupleBytes != TupleSize.UNKNOWN) {
          sampled.incrementAndGet(target);
          bytes.addAndGet(target, tupleBytes);
        }
      }
    }
  }

  /**
   * One tuple of each `sampleEvery`, its position differing from group to group: streams that
   * alternate, such as tuples and their acks, would else be sampled one-sidedly.
   */
  private boolean isSample(long ordinal) {
    long group = ordinal / sampleEvery;
    long position = ordinal - group * sampleEvery;
    long mixed = group * 0x9E3779B97F4A7C15L >>> 33; // the golden ratio spreads evenly
    return position == mixed % sampleEvery;
  }

  /**
   * Write `"to":{...},"local":n` for the time since the last call.
   *
   * @param local whether a task id is in the same worker
   */
  void appendSince(StringBuilder json, boolean[] local) {
    long localTuples = 0;
    json.append("\"to\":{");
    String separator = "";
    for (int task = 0; task < sentBefore.length; task++) {
      long tuples = sent.get(task) - sentBefore[task];
      long samples = sampled.get(task) - sampledBefore[task];
      if (tuples == 0 && samples == 0) {
        continue;
      }
      long size = bytes.get(task) - bytesBefore[task];
      sentBefore[task] += tuples;
      sampledBefore[task] += samples;
      bytesBefore[task] += size;
      localTuples += local[task] ? tuples : 0;
      json.append(separator).append('"').append(task).append("\":[");
      json.append(tuples).append(',').append(samples).append(',').append(size).append(']');
      separator = ",";
    }
    json.append("},\"local\":").append(localTuples);
  }
}
