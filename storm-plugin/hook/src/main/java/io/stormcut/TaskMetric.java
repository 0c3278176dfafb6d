package io.stormcut;

import java.util.Collections;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.storm.metric.api.IMetric;
import org.apache.storm.task.TopologyContext;

/** One task's line of each interval: docs/protocol.md gives its format. */
final class TaskMetric implements IMetric {
  private final int task;
  private final String component;
  private final int sampleEvery;
  private final int busyPerSec;
  private final TupleSize size;
  private final int tasks;
  private final Set<Integer> local;
  private final ExecutorThreads threads = new ExecutorThreads();
  /** Prepares many tasks; the emit that Storm makes on it at start is nobody's work. */
  private final Thread loader = Thread.currentThread();
  private final Map<Thread, Tally> tallies = new ConcurrentHashMap<>();
  /** Of the thread last seen at work: a race only costs another look. */
  private Tally latest;
  private long startNanos = System.nanoTime();
  private ChildProcess child;
  /** Null: the task is always measured. */
  private HookSwitch hookSwitch;
  private long offBefore;
  /** What {@link #restIfBusy} saw last, and when. */
  private long eventsSeen;
  private long offSeen;
  private long seenNanos = startNanos;

  TaskMetric(TopologyContext context, HookConfig config, Map<?, ?> conf) {
    task = context.getThisTaskId();
    component = context.getThisComponentId();
    tasks = 1 + Collections.max(context.getTaskToComponent().keySet());
    local = new HashSet<>(context.getThisWorkerTasks());
    sampleEvery = config.byteSampleEvery;
    busyPerSec = config.busyPerSec;
    size = sampleEvery == 0 ? null : TupleSize.ofWorker(context.getStormId(), conf);
    latest = tallyOf(loader);
  }

  /** Let the task rest from being measured while it is busy. */
  void switchBy(HookSwitch given) {
    hookSwitch = given;
    DutyCycle.enrol(this);
  }

  void measure() {
    hookSwitch.on();
  }

  void restIfBusy() {
    long events = 0;
    for (Tally tally : tallies.values()) {
      events += tally.events();
    }
    long now = System.nanoTime();
    long off = hookSwitch.nanosOff(now);
    long measured = now - seenNanos - (off - offSeen);
    if ((events - eventsSeen) * 1e9 > (double) busyPerSec * measured) {
      hookSwitch.off();
    }
    eventsSeen = events;
    offSeen = off;
    seenNanos = now;
  }

  /** The calling thread's own. */
  Tally tally() {
    Tally seen = latest;
    Thread current = Thread.currentThread();
    return seen.thread == current ? seen : tallyOf(current);
  }

  private Tally tallyOf(Thread thread) {
    Tally own = tallies.computeIfAbsent(thread, this::begin);
    latest = own;
    return own;
  }

  private Tally begin(Thread thread) {
    if (thread != loader) {
      ExecutorThreads.claimFound(task, thread);
    }
    return new Tally(thread, tasks, sampleEvery, size);
  }

  /** Storm calls this on the executor's main thread. */
  @Override
  public synchronized Object getValueAndReset() {
    try {
      return line();
    } catch (Throwable failure) {
      StormcutHook.complain(failure);
      return null;
    }
  }

  private String line() {
    long now = System.nanoTime();
    long off = hookSwitch == null ? 0 : hookSwitch.nanosOff(now);
    long measured = now - startNanos - (off - offBefore);
    if (measured <= 0) {
      return null; // the next line speaks for this interval, too
    }
    int[] named = ExecutorThreads.range(Thread.currentThread());
    int first = named == null ? task : named[0];
    int last = named == null ? task : named[1];
    StringBuilder json = new StringBuilder(256);
    json.append("{\"v\":1,\"task\":").append(task).append(",\"component\":");
    appendString(json, component);
    json.append(",\"executor\":[").append(first).append(',').append(last).append(']');
    json.append(",\"ms\":").append(TimeUnit.NANOSECONDS.toMillis(now - startNanos));
    if (off > offBefore) {
      json.append(",\"measured_ms\":").append(measured / 1000 / 1000.0);
    }
    json.append(',');
    startNanos = now;
    offBefore = off;
    Tally.Sums sums = sumsSince();
    appendTraffic(json, sums);
    long[] totals = sums.totals;
    json.append(",\"executed\":").append(totals[Tally.EXECUTED]);
    json.append(",\"acked\":").append(totals[Tally.ACKED]);
    json.append(",\"failed\":").append(totals[Tally.FAILED]);
    json.append(",\"complete_ms\":[").append((double) totals[Tally.COMPLETE_MS]);
    json.append(',').append(totals[Tally.COMPLETE_SAMPLES]).append(']');
    if (task == first) {
      double cpuMs = threads.cpuMsSince(first, last);
      json.append(",\"cpu_ms\":").append(Math.round(cpuMs * 1000) / 1000.0);
    }
    child = ChildProcess.of(task, child);
    if (child != null) {
      child.appendSince(json);
    }
    // Storm passes on no metrics of a metrics consumer.
    if (task >= 0 && !component.startsWith("__metrics")) {
      WorkerUsage.appendSince(json, task);
    }
    return json.append('}').toString();
  }

  /** What all threads counted since the last call; those that have ended are forgotten. */
  private Tally.Sums sumsSince() {
    Tally.Sums sums = new Tally.Sums();
    for (Tally tally : tallies.values()) {
      boolean ended = !tally.thread.isAlive();
      tally.moveTo(sums);
      if (ended) {
        tallies.remove(tally.thread);
      }
    }
    return sums;
  }

  /** Write `"to":{...},"local":n`, and `,"beyond":n` if there are too many destinations. */
  private void appendTraffic(StringBuilder json, Tally.Sums sums) {
    long localTuples = 0;
    json.append("\"to\":{");
    String separator = "";
    for (Map.Entry<Integer, long[]> entry : sums.sent.entrySet()) {
      long[] sent = entry.getValue();
      localTuples += local.contains(entry.getKey()) ? sent[Destinations.TUPLES] : 0;
      json.append(separator).append('"').append(entry.getKey()).append("\":[");
      json.append(sent[Destinations.TUPLES]).append(',').append(sent[Destinations.SAMPLES]);
      json.append(',').append(sent[Destinations.BYTES]).append(']');
      separator = ",";
    }
    json.append("},\"local\":").append(localTuples);
    if (sums.totals[Tally.BEYOND] > 0) {
      json.append(",\"beyond\":").append(sums.totals[Tally.BEYOND]);
    }
  }

  private static void appendString(StringBuilder json, String text) {
    json.append('"');
    for (char character : text.toCharArray()) {
      if (character == '"' || character == '\\') {
        json.append('\\').append(character);
      } else if (character < ' ') {
        json.append(String.format("\\u%04x", (int) character));
      } else {
        json.append(character);
      }
    }
    json.append('"');
  }
}
