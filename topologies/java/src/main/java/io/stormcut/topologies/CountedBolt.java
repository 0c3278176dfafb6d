package io.stormcut.topologies;

import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.TupleUtils;

/** Counts what comes and goes, spends the load, and reports at every tick. */
abstract class CountedBolt extends BaseRichBolt {
  private transient OutputCollector collector;
  private transient Load load;
  private transient TaskReport report;
  private transient String padding;
  private transient Map<String, Long> received;
  private transient long emitted;

  /** Start the state of this bolt. */
  void prepare(Options options, int task) {}

  /** Process the values of one tuple. */
  abstract void handle(Tuple tuple);

  void emit(Tuple anchor, long key, long number) {
    emitted++;
    collector.emit(anchor, new Values(key, number, padding));
  }

  @Override
  public void prepare(Map conf, TopologyContext context, OutputCollector collector) {
    this.collector = collector;
    Options options = new Options(conf);
    load = new Load(options);
    report = new TaskReport(context, options.text("results"));
    padding = options.padding();
    received = new TreeMap<>();
    prepare(options, context.getThisTaskId());
  }

  @Override
  public void execute(Tuple tuple) {
    if (TupleUtils.isTick(tuple)) {
      report.publish(counts());
    } else {
      received.merge(tuple.getSourceComponent(), 1L, Long::sum);
      load.spend();
      handle(tuple);
    }
    collector.ack(tuple);
  }

  @Override
  public void declareOutputFields(OutputFieldsDeclarer declarer) {
    // streamparse declares them
  }

  private Map<String, Object> counts() {
    Map<String, Object> counts = new HashMap<>();
    counts.put("received", received);
    counts.put("emitted", Collections.singletonMap("default", emitted));
    return counts;
  }
}
