package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.hooks.ITaskHook;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.metric.api.IMetric;
import org.apache.storm.shade.org.json.simple.JSONValue;
import org.apache.storm.task.TopologyContext;
import org.junit.jupiter.api.Test;

class DutyCycleTest {
  private final Contexts contexts = new Contexts();
  private final TopologyContext context = contexts.task(4);

  private IMetric start() {
    context.addTaskHook(new StormcutHook());
    return contexts.metric(4, 10);
  }

  /** As Storm does: the hooks are looked up at each event. */
  private void emit() {
    EmitInfo info = new EmitInfo(Arrays.<Object>asList("word"), "default", 4, Arrays.asList(1));
    for (ITaskHook hook : context.getHooks()) {
      hook.emit(info);
    }
  }

  /** Emit at a steady rate for so many seconds, and return how much that was. */
  private long emitEvery(long nanos, long seconds) {
    long emitted = 0;
    long duration = TimeUnit.SECONDS.toNanos(seconds);
    long begin = System.nanoTime();
    while (System.nanoTime() - begin < duration) {
      for (; emitted * nanos < System.nanoTime() - begin; emitted++) {
        emit();
      }
      LockSupport.parkNanos(10_000);
    }
    return emitted;
  }

  private static Map<?, ?> read(IMetric metric) {
    return (Map<?, ?>) JSONValue.parse((String) metric.getValueAndReset());
  }

  private static long sent(Map<?, ?> line) {
    return (Long) ((List<?>) ((Map<?, ?>) line.get("to")).get("1")).get(0);
  }

  @Test
  void busyTasksRestAndTheirRateIsKnown() {
    IMetric metric = start();
    emitEvery(5_000, 4); // what is measured before the first rest is of this interval
    read(metric);
    double estimated = 0;
    long emitted = 0;
    // On a machine that is busy otherwise tuples come in bursts, and the few measured moments of one
    // interval are no fair sample: the mean over more of them is.
    for (int interval = 0; interval < 6 && !near(estimated, emitted); interval++) {
      long sinceLast = emitEvery(5_000, 10);
      Map<?, ?> line = read(metric);
      double measuredMs = ((Number) line.get("measured_ms")).doubleValue();
      long ms = (Long) line.get("ms");
      // A fortieth; but there the end of a while comes late.
      assertTrue(measuredMs < 0.5 * ms, measuredMs + " of " + ms);
      assertTrue(sent(line) < sinceLast / 2);
      estimated += sent(line) * ms / measuredMs;
      emitted += sinceLast;
    }
    assertTrue(near(estimated, emitted), estimated + " instead of " + emitted);
  }

  private static boolean near(double estimated, long emitted) {
    return Math.abs(estimated / emitted - 1.0) < 0.4;
  }

  @Test
  void otherTasksAreCountedExactly() {
    IMetric metric = start();
    long emitted = emitEvery(500_000, 5);
    Map<?, ?> line = read(metric);
    assertEquals(emitted, sent(line));
    assertNull(line.get("measured_ms"));
  }

  @Test
  void hooksOfTheTopologyStay() throws Exception {
    ITaskHook before = new BaseTaskHook();
    ITaskHook after = new BaseTaskHook();
    context.addTaskHook(before);
    StormcutHook hook = new StormcutHook();
    context.addTaskHook(hook);
    context.addTaskHook(after);
    HookSwitch hookSwitch = new HookSwitch(context, hook);
    hookSwitch.off();
    hookSwitch.off();
    assertEquals(Arrays.asList(before, after), context.getHooks());
    hookSwitch.on();
    hookSwitch.on();
    assertEquals(Arrays.asList(before, after, hook), context.getHooks());
  }

  @Test
  void nothingMeasuredIsNoLine() throws Exception {
    Map<String, Object> conf = Contexts.conf();
    conf.put(HookConfig.BUSY_PER_SEC, 0L);
    TaskMetric metric = new TaskMetric(context, new HookConfig(conf), conf);
    StormcutHook hook = new StormcutHook();
    HookSwitch hookSwitch = new HookSwitch(context, hook);
    metric.switchBy(hookSwitch);
    // Now and then it is measured again, also if this thread is late; then it is busy again.
    assertTimeoutPreemptively(
        Duration.ofSeconds(60),
        () -> {
          do {
            metric.tally().add(Tally.EXECUTED, 1);
            metric.restIfBusy();
          } while (metric.getValueAndReset() != null);
        });
  }
}
