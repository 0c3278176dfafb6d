package io.stormcut.topologies;

import java.util.Arrays;
import org.apache.storm.tuple.Tuple;

/** The sink of the model-driven experiments: counts records and adds up their sums. */
public class Total extends CountedBolt {
  private transient long count;
  private transient long sum;

  @Override
  void handle(Tuple tuple) {
    count++;
    sum += tuple.getLong(0);
  }

  @Override
  Object answer() {
    return Arrays.asList(count, sum);
  }
}
