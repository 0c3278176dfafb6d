package io.stormcut;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * CPU time of one executor's threads.
 *
 * <p>Storm names two of them: {@code Thread-7-count-executor[5 5]} and {@code
 * Thread-8-disruptor-executor[5 5]-send-queue}. Others (a multilang component's reader and writer,
 * threads of the user's own that emit) are claimed for a task when they are seen at work for it.
 */
final class ExecutorThreads {
  private static final Pattern NAME = Pattern.compile("executor\\[(\\d+) (\\d+)\\](-send-queue)?$");
  private static final ThreadMXBean CPU = cpu();

  /** Thread id to the claim of the task that was first: no thread counts for two. */
  private static final Map<Long, Claim> CLAIMS = new ConcurrentHashMap<>();

  private final Map<Long, Long> nanosBefore = new HashMap<>();

  /** Claim a thread that was started for `task`: all it ever did is the task's. */
  static void claimOwn(int task, Thread thread) {
    CLAIMS.putIfAbsent(thread.getId(), new Claim(task, 0));
  }

  /** Claim a thread found at work for `task`: what it did before may be anybody's. */
  static void claimFound(int task, Thread thread) {
    long id = thread.getId();
    if (!CLAIMS.containsKey(id) && range(thread) == null) {
      CLAIMS.putIfAbsent(id, new Claim(task, Math.max(0, nanos(id))));
    }
  }

  /** First and last task of the executor that Storm named this thread after, or null. */
  static int[] range(Thread thread) {
    Matcher name = NAME.matcher(thread.getName());
    if (!name.find()) {
      return null;
    }
    return new int[] {Integer.parseInt(name.group(1)), Integer.parseInt(name.group(2))};
  }

  /** CPU time, in ms, since the last call, of all threads of the executor with these tasks. */
  double cpuMsSince(int firstTask, int lastTask) {
    Map<Long, Long> counted = new HashMap<>();
    for (Thread thread : named(firstTask, lastTask)) {
      counted.put(thread.getId(), 0L);
    }
    CLAIMS.forEach(
        (id, claim) -> {
          if (claim.task >= firstTask && claim.task <= lastTask) {
            counted.putIfAbsent(id, claim.nanosBefore);
          }
        });
    long total = 0;
    for (Map.Entry<Long, Long> entry : counted.entrySet()) {
      total += nanosSince(entry.getKey(), entry.getValue());
    }
    return total / 1e6;
  }

  private long nanosSince(long id, long start) {
    long now = nanos(id);
    if (now < 0) { // the thread is gone
      nanosBefore.remove(id);
      CLAIMS.remove(id);
      return 0;
    }
    Long before = nanosBefore.put(id, now);
    return now - (before == null ? start : before);
  }

  /** Storm's threads start after the hook: their whole CPU time is within the first interval. */
  private static List<Thread> named(int firstTask, int lastTask) {
    String executor = "executor[" + firstTask + " " + lastTask + "]";
    List<Thread> threads = new ArrayList<>();
    for (Thread thread : all()) {
      if (thread.getName().contains(executor) && NAME.matcher(thread.getName()).find()) {
        threads.add(thread);
      }
    }
    return threads;
  }

  private static Set<Thread> all() {
    ThreadGroup root = Thread.currentThread().getThreadGroup();
    while (root.getParent() != null) {
      root = root.getParent();
    }
    Thread[] threads = new Thread[root.activeCount() + 64];
    int count = root.enumerate(threads);
    Set<Thread> all = new HashSet<>();
    for (int at = 0; at < count; at++) {
      all.add(threads[at]);
    }
    return all;
  }

  private static long nanos(long threadId) {
    return CPU == null ? -1 : CPU.getThreadCpuTime(threadId);
  }

  private static ThreadMXBean cpu() {
    ThreadMXBean bean = ManagementFactory.getThreadMXBean();
    if (!bean.isThreadCpuTimeSupported()) {
      return null;
    }
    if (!bean.isThreadCpuTimeEnabled()) {
      bean.setThreadCpuTimeEnabled(true);
    }
    return bean;
  }

  private static final class Claim {
    private final int task;
    private final long nanosBefore;

    private Claim(int task, long nanosBefore) {
      this.task = task;
      this.nanosBefore = nanosBefore;
    }
  }
}
