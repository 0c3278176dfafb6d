package io.stormcut.topologies;

import org.apache.storm.tuple.Tuple;

/** Takes tuples in. */
public class Sink extends CountedBolt {
  @Override
  void handle(Tuple tuple) {
    // the base counts
  }
}
