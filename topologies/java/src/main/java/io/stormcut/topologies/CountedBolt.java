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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Counts what comes and goes, spends the load, and reports at every tick. */
abstract class CountedBolt extends BaseRichBolt {
  private static final Logger LOG = LoggerFactory.getLogger(CountedBolt.class);

  private transient OutputCollector collector;
  private transient Load load;
  private transient TaskReport report;
  private transient String padding;
  private transient Map<String, Long> received;
  private transient long emitted;
  private transient long failed;

  /** Start the state of this bolt. */
  void prepare(Options options, int task) {}

  /** Process the values of one tuple; what it needs may be {@link Unavailable}. */
  abstract void handle(Tuple tuple) throws Unavailable;

  /** This task's part of the topology's answer, null if it has none. */
  Object answer() {
    return null;
  }

  void emit(Tuple anchor, long first, long second) {
    emitted++;
    collector.emit(anchor, new Values(first, second, padding));
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
      collector.ack(tuple);
    } else {
      received.merge(tuple.getSourceComponent(), 1L, Long::sum);
      load.spend();
      answerFor(tuple);
    }
  }

  private void answerFor(Tuple tuple) {
    try {
      handle(tuple);
    } catch (Unavailable unavailable) {
      if (failed++ == 0) {
        LOG.error("{}; tuples are failed and replayed", unavailable.getMessage());
      }
      collector.fail(tuple);
      return;
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
    counts.put("failed", failed);
    Object answer = answer();
    if (answer != null) {
      counts.put("answer", answer);
    }
    return counts;
  }
}
