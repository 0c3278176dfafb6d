package io.stormcut.topologies;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Values;

/** Emits numbered tuples; what fails is emitted again until it is acknowledged. */
public class Source extends BaseRichSpout {
  private static final long RECORDS = 10_000;
  private static final int BATCH = 10;
  private static final long REPORT_MILLIS = 2000;
  private static final long RETRY_MILLIS = 1000;
  private static final double GROWTH = Math.log(1.05);

  private transient SpoutOutputCollector collector;
  private transient Options options;
  private transient Schedule schedule;
  private transient UnevenClock clock;
  private transient Keys keys;
  private transient TaskReport report;
  private transient Map<Long, Sent> pending;
  private transient ArrayDeque<Long> failed;
  private transient Map<Long, Long> latencies;
  private transient String padding;
  private transient long first;
  private transient int index;
  private transient int tasks;
  private transient long joined;
  private transient long nextReport;
  private transient long sent;
  private transient long acked;
  private transient long replayed;

  private static final class Sent {
    final Values values;
    final long emitted;
    long retry;

    Sent(Values values, long emitted) {
      this.values = values;
      this.emitted = emitted;
    }
  }

  @Override
  public void open(Map conf, TopologyContext context, SpoutOutputCollector collector) {
    this.collector = collector;
    options = new Options(conf);
    report = new TaskReport(context, options.text("results"));
    pending = new HashMap<>();
    failed = new ArrayDeque<>();
    latencies = new TreeMap<>();
    padding = options.padding();
    List<Integer> all = context.getComponentTasks(context.getThisComponentId());
    index = context.getThisTaskIndex();
    tasks = all.size();
    joined = System.currentTimeMillis();
    clock = new UnevenClock(options.number("noise"));
    Pace pace = new Pace(options.rates(), options.number("step.seconds"));
    long end = options.whole("replays") * records();
    schedule = new Schedule(pace, index, tasks, end, elapsed(joined));
    first = schedule.next();
    prepare(options, context.getThisTaskId());
  }

  /** Start the state of this source. */
  void prepare(Options options, int task) {
    keys = new Keys(options, task);
  }

  /** Records in one replay. */
  long records() {
    return RECORDS;
  }

  /** The values of a tuple, by its number. */
  Values values(long ordinal) {
    return values(keys.next(index), ordinal);
  }

  /** The number of a tuple that is due now, -1 if there is none. */
  long poll(long now) {
    return schedule.poll(elapsed(now));
  }

  /** How many tuples this source was too late for. */
  long skipped() {
    return schedule.skipped();
  }

  final Values values(long first, long second) {
    return new Values(first, second, padding);
  }

  final int index() {
    return index;
  }

  final int tasks() {
    return tasks;
  }

  @Override
  public void nextTuple() {
    long now = System.currentTimeMillis();
    retry(now);
    for (int i = 0; i < BATCH && !isOver(now); i++) {
      long ordinal = poll(now);
      if (ordinal < 0) {
        break;
      }
      Values values = values(ordinal);
      pending.put(ordinal, new Sent(values, now));
      sent++;
      collector.emit(values, ordinal);
    }
    if (now >= nextReport) {
      nextReport = now + REPORT_MILLIS;
      report.publish(counts(now));
    }
  }

  @Override
  public void ack(Object id) {
    Sent done = pending.remove(id);
    double millis = Math.max(1, System.currentTimeMillis() - done.emitted);
    latencies.merge((long) Math.ceil(Math.log(millis) / GROWTH), 1L, Long::sum);
    acked++;
  }

  @Override
  public void fail(Object id) {
    pending.get(id).retry = System.currentTimeMillis() + RETRY_MILLIS;
    failed.add((Long) id);
  }

  @Override
  public void declareOutputFields(OutputFieldsDeclarer declarer) {
    // streamparse declares them
  }

  private void retry(long now) {
    while (!failed.isEmpty() && pending.get(failed.peek()).retry <= now) {
      Long id = failed.poll();
      replayed++;
      collector.emit(pending.get(id).values, id);
    }
  }

  private double elapsed(long now) {
    return clock.read(now / 1000.0 - options.launched());
  }

  private boolean isOver(long now) {
    double seconds = options.number("seconds");
    return schedule.isOver() || seconds > 0 && now - joined >= seconds * 1000;
  }

  private Map<String, Object> counts(long now) {
    Map<String, Object> counts = new HashMap<>();
    counts.put("sent", sent);
    counts.put("acked", acked);
    counts.put("replayed", replayed);
    counts.put("skipped", skipped());
    counts.put("finished", isOver(now));
    counts.put("share", Arrays.asList(first, schedule.next(), (long) tasks));
    counts.put("latency", latencies);
    return counts;
  }
}
