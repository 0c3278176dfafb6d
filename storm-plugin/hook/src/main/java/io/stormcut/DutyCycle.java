package io.stormcut;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Measures busy tasks a fortieth of the time, all others always: what Storm does for any hook at
 * every event would cost busy tasks a tenth of their throughput.
 *
 * <p>Every other second, at a random moment lest a rhythm of the task's be met or missed each time,
 * all tasks are measured for a while; those that were busy meanwhile then rest. Both ends of that
 * while come late in the same way when the worker has no CPU, so that no rate is biased by it.
 */
final class DutyCycle {
  static final int PERIOD_MS = 2000;
  static final int MEASURED_MS = 50;

  /** Weak, for workers within one process: a task is gone when its topology is. */
  private static final Set<TaskMetric> TASKS =
      Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

  private static boolean isRunning;

  private DutyCycle() {}

  static synchronized void enrol(TaskMetric task) {
    TASKS.add(task);
    if (!isRunning) {
      Thread thread = new Thread(DutyCycle::run, "stormcut-hook");
      thread.setDaemon(true);
      thread.start();
      isRunning = true;
    }
  }

  private static void run() {
    try {
      while (true) {
        int before = ThreadLocalRandom.current().nextInt(PERIOD_MS - MEASURED_MS);
        Thread.sleep(before);
        List<TaskMetric> tasks = enrolled();
        tasks.forEach(TaskMetric::measure);
        Thread.sleep(MEASURED_MS);
        tasks.forEach(TaskMetric::restIfBusy);
        Thread.sleep(PERIOD_MS - MEASURED_MS - before);
      }
    } catch (Throwable failure) {
      StormcutHook.complain(failure);
      enrolled().forEach(TaskMetric::measure);
    }
  }

  private static List<TaskMetric> enrolled() {
    synchronized (TASKS) {
      return new ArrayList<>(TASKS);
    }
  }
}
