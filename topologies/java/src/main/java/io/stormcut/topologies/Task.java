package io.stormcut.topologies;

import org.apache.storm.tuple.Tuple;

/** A task of the model-driven experiments: adds to a record's sum what its work yields. */
abstract class Task extends CountedBolt {
  /** Do the work for the record of a number; what it yields goes into the answer. */
  abstract long work(long number) throws Unavailable;

  @Override
  void handle(Tuple tuple) throws Unavailable {
    long number = tuple.getLong(1);
    emit(tuple, tuple.getLong(0) + work(number), number);
  }

  static void sleep(double millis) {
    if (millis <= 0) {
      return;
    }
    try {
      Thread.sleep((long) millis);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }
}
