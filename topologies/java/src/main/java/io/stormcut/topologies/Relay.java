package io.stormcut.topologies;

import org.apache.storm.tuple.Tuple;

/** Passes each tuple on. */
public class Relay extends CountedBolt {
  private transient Keys keys;

  @Override
  void prepare(Options options, int task) {
    keys = new Keys(options, task);
  }

  @Override
  void handle(Tuple tuple) {
    emit(tuple, keys.next(tuple.getLong(0)), tuple.getLong(1));
  }
}
