package io.stormcut;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.storm.metric.api.IMetric;
import org.apache.storm.task.TopologyContext;

/** One task's line of each interval: docs/protocol.md gives its format. */
final class TaskMetric implements IMetric {
  final Counter executed = new Counter();
  final Counter acked = new Counter();
  final Counter failed = new Counter();
  final Counter completeMs = new Counter();
  final Counter completeSamples = new Counter();

  private final int task;
  private final String component;
  private final Traffic traffic;
  private final boolean[] local;
  private final ExecutorThreads threads = new ExecutorThreads();
  /** Prepares many tasks; the emit that Storm makes on it at start is nobody's work. */
  private final Thread loader = Thread.currentThread();
  /** The last one seen emitting: a race only costs another look. */
  private Thread emitter = loader;
  private long startNanos = System.nanoTime();
  private ChildProcess child;

  TaskMetric(TopologyContext context, HookConfig config, Map<?, ?> conf) {
    task = context.getThisTaskId();
    component = context.getThisComponentId();
    int tasks = 1;
    for (int id : context.getTaskToComponent().keySet()) {
      tasks = Math.max(tasks, id + 1);
    }
    local = new boolean[tasks];
    for (int id : context.getThisWorkerTasks()) {
      if (id >= 0 && id < tasks) {
        local[id] = true;
      }
    }
    int every = config.byteSampleEvery;
    traffic = new Traffic(tasks, every, every == 0 ? null : new TupleSize(conf));
  }

  void emitted(List<Object> values, Collection<Integer> targets) {
    Thread current = Thread.currentThread();
    if (current != emitter) {
      emitter = current;
      if (current != loader) {
        ExecutorThreads.claimFound(task, current);
      }
    }
    traffic.count(values, targets);
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
    int[] named = ExecutorThreads.range(Thread.currentThread());
    int first = named == null ? task : named[0];
    int last = named == null ? task : named[1];
    long now = System.nanoTime();
    StringBuilder json = new StringBuilder(256);
    json.append("{\"v\":1,\"task\":").append(task).append(",\"component\":");
    appendString(json, component);
    json.append(",\"executor\":[").append(first).append(',').append(last).append(']');
    json.append(",\"ms\":").append(TimeUnit.NANOSECONDS.toMillis(now - startNanos)).append(',');
    startNanos = now;
    traffic.appendSince(json, local);
    json.append(",\"executed\":").append(executed.since());
    json.append(",\"acked\":").append(acked.since());
    json.append(",\"failed\":").append(failed.since());
    json.append(",\"complete_ms\":[").append((double) completeMs.since());
    json.append(',').append(completeSamples.since()).append(']');
    if (task == first) {
      double cpuMs = threads.cpuMsSince(first, last);
      json.append(",\"cpu_ms\":").append(Math.round(cpuMs * 1000) / 1000.0);
    }
    child = ChildProcess.of(task, child);
    if (child != null) {
      child.appendSince(json);
    }
    return json.append('}').toString();
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
