package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.storm.hooks.info.BoltExecuteInfo;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.hooks.info.SpoutAckInfo;
import org.apache.storm.hooks.info.SpoutFailInfo;
import org.apache.storm.metric.api.IMetric;
import org.apache.storm.serialization.KryoValuesSerializer;
import org.apache.storm.shade.org.json.simple.JSONValue;
import org.junit.jupiter.api.Test;

class StormcutHookTest {
  private static final List<Object> VALUES = Arrays.<Object>asList("word", 17L);
  private final Contexts contexts = new Contexts();
  private final StormcutHook hook = new StormcutHook();

  private IMetric prepare(int task, Object sampleEvery) {
    Map<String, Object> conf = Contexts.conf();
    conf.put(HookConfig.BYTE_SAMPLE_EVERY, sampleEvery);
    conf.put(HookConfig.BUSY_PER_SEC, (long) Integer.MAX_VALUE); // always measured
    hook.prepare(conf, contexts.task(task));
    return contexts.metric(task, 10);
  }

  private static Map<?, ?> read(IMetric metric) {
    String line = (String) metric.getValueAndReset();
    assertFalse(line.contains("\t") || line.contains("\n"), line);
    return (Map<?, ?>) JSONValue.parse(line);
  }

  private static List<?> to(Map<?, ?> line, int task) {
    return (List<?>) ((Map<?, ?>) line.get("to")).get(Integer.toString(task));
  }

  private void emit(List<Object> values, Integer... targets) {
    hook.emit(new EmitInfo(values, "default", 4, Arrays.asList(targets)));
  }

  @Test
  void oneLineAsTheProtocolSays() throws Exception {
    IMetric metric = prepare(4, 1L);
    emit(VALUES, 1, 3);
    emit(VALUES, 3);
    hook.spoutAck(new SpoutAckInfo("m", 4, 12L));
    hook.spoutAck(new SpoutAckInfo("m", 4, null));
    hook.spoutFail(new SpoutFailInfo("m", 4, null));
    long size = new KryoValuesSerializer(Contexts.conf()).serialize(VALUES).length;
    Map<?, ?> line = read(metric);
    assertEquals(
        Arrays.asList("acked", "complete_ms", "component", "cpu_ms", "executed", "executor",
            "failed", "local", "ms", "task", "to", "v"),
        sortedKeys(line));
    assertEquals(Arrays.asList(1L, 1L, size), to(line, 1));
    assertEquals(Arrays.asList(2L, 2L, 2 * size), to(line, 3));
    assertEquals(1L, line.get("local"));
    assertEquals(2L, line.get("acked"));
    assertEquals(1L, line.get("failed"));
    assertEquals(Arrays.asList(12.0, 1L), line.get("complete_ms"));
    assertEquals("words", line.get("component"));
    assertEquals(Arrays.asList(4L, 4L), line.get("executor"));
    Map<?, ?> next = read(metric);
    assertEquals(Collections.emptyMap(), next.get("to"));
    assertEquals(0L, next.get("acked"));
    assertEquals(Arrays.asList(0.0, 0L), next.get("complete_ms"));
  }

  @Test
  void concurrentEmitsAreAllCountedOnceWhileBeingRead() throws Exception {
    IMetric metric = prepare(4, 10L);
    int perThread = 50_000;
    List<Thread> threads = new ArrayList<>();
    for (int at = 0; at < 4; at++) {
      Thread thread =
          new Thread(
              () -> {
                for (int tuple = 0; tuple < perThread; tuple++) {
                  emit(VALUES, 1, 2);
                  hook.boltExecute(new BoltExecuteInfo(null, 4, -1L));
                }
              });
      threads.add(thread);
      thread.start();
    }
    long sent = 0;
    long sampled = 0;
    long executed = 0;
    long lines = 0;
    boolean running = true;
    while (running) {
      lines++;
      running = threads.stream().anyMatch(Thread::isAlive);
      Map<?, ?> line = read(metric);
      List<?> counts = to(line, 2);
      sent += counts == null ? 0 : (Long) counts.get(0);
      sampled += counts == null ? 0 : (Long) counts.get(1);
      executed += (Long) line.get("executed");
    }
    assertEquals(4L * perThread, sent);
    long tenth = 4L * perThread / 10;
    assertTrue(tenth <= sampled && sampled <= tenth + 4 * lines, sampled + " in " + lines);
    assertEquals(4L * perThread, executed);
  }

  @Test
  void destinationsThatGetLittleAreSampledOncePerInterval() {
    IMetric metric = prepare(4, 100L);
    for (int interval = 0; interval < 3; interval++) {
      emit(VALUES, 1);
      emit(VALUES, 1, 2);
      Map<?, ?> line = read(metric);
      assertEquals(1L, to(line, 1).get(1));
      assertEquals(1L, to(line, 2).get(1));
    }
  }

  @Test
  void alternatingStreamsAreSampledAlike() {
    IMetric metric = prepare(4, 2L);
    String text = String.join("", Collections.nCopies(100, "x"));
    List<Object> longer = Collections.<Object>singletonList(text);
    for (int tuple = 0; tuple < 20_000; tuple++) {
      emit(VALUES, 1);
      emit(longer, 1);
    }
    List<?> counts = to(read(metric), 1);
    double mean = ((Long) counts.get(2)).doubleValue() / (Long) counts.get(1);
    assertEquals(20_000L, counts.get(1));
    assertTrue(mean > 45 && mean < 70, "mean bytes " + mean);
  }

  @Test
  void strangeEventsNeverThrow() {
    IMetric metric = prepare(4, 1L);
    emit(VALUES, (Integer) null);
    emit(VALUES, -1, 99, 1);
    emit(Collections.<Object>singletonList(new Object()), 2); // Storm cannot serialise it
    hook.emit(new EmitInfo(null, null, 4, null));
    hook.emit(null);
    Map<?, ?> line = read(metric);
    assertEquals(1L, to(line, 1).get(0));
    assertEquals(Arrays.asList(1L, 0L, 0L), to(line, 2));
  }

  @Test
  void unpreparedOrSystemTaskMeasuresNothing() {
    emit(VALUES, 1);
    hook.spoutAck(new SpoutAckInfo("m", 4, 1L));
    hook.prepare(Contexts.conf(), contexts.task(-1));
    emit(VALUES, 1);
    hook.prepare(Contexts.conf(), null);
    assertNull(contexts.metrics.get(10));
  }

  @Test
  void impossibleSettingsAreReplacedByTheDefault() {
    prepare(4, "often");
    HookConfig config = new HookConfig(Collections.singletonMap(HookConfig.INTERVAL_SECS, 0L));
    assertEquals(10, config.intervalSecs);
    assertEquals(100, new HookConfig(Collections.emptyMap()).byteSampleEvery);
    assertEquals(20_000, new HookConfig(Collections.emptyMap()).busyPerSec);
    IMetric metric = contexts.metric(4, 10);
    emit(VALUES, 1);
    assertEquals(1L, to(read(metric), 1).get(0));
  }

  @Test
  void onlyTheFirstTaskOfAnExecutorCarriesItsCpu() throws Exception {
    IMetric first = prepare(1, 0L);
    StormcutHook other = new StormcutHook();
    other.prepare(Contexts.conf(), contexts.task(2));
    IMetric second = contexts.metric(2, 10);
    Map<?, ?>[] lines = new Map<?, ?>[2];
    Thread executor =
        new Thread(
            () -> {
              burn(200);
              lines[0] = read(first);
              lines[1] = read(second);
            },
            "Thread-9-count-executor[1 2]");
    executor.start();
    executor.join();
    assertEquals(Arrays.asList(1L, 2L), lines[0].get("executor"));
    assertEquals(Arrays.asList(1L, 2L), lines[1].get("executor"));
    assertTrue((Double) lines[0].get("cpu_ms") >= 200, lines[0].toString());
    assertFalse(lines[1].containsKey("cpu_ms"));
  }

  /** Spend that much CPU time, whatever else the machine does. */
  static void burn(long ms) {
    java.lang.management.ThreadMXBean cpu =
        java.lang.management.ManagementFactory.getThreadMXBean();
    long end = cpu.getCurrentThreadCpuTime() + ms * 1_000_000;
    while (cpu.getCurrentThreadCpuTime() < end) {
      Thread.yield();
    }
  }

  private static List<String> sortedKeys(Map<?, ?> line) {
    List<String> keys = new ArrayList<>();
    line.keySet().forEach(key -> keys.add((String) key));
    Collections.sort(keys);
    return keys;
  }
}
