package io.stormcut.topologies;

import org.apache.storm.tuple.Values;

/** Emits the sum 0 and the number of a record, as model_driven/source.py does. */
public class NumberSource extends Source {
  private static final long RECORDS = 5_000;

  @Override
  void prepare(Options options, int task) {
    // no keys
  }

  @Override
  long records() {
    return RECORDS;
  }

  @Override
  Values values(long ordinal) {
    return values(0, ordinal % RECORDS);
  }
}
