package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

class ExecutorThreadsTest {
  @Test
  void namesOfStormsThreads() {
    assertArrayEquals(
        new int[] {5, 7}, ExecutorThreads.range(new Thread("Thread-12-count-executor[5 7]")));
    assertArrayEquals(
        new int[] {5, 5},
        ExecutorThreads.range(new Thread("Thread-3-disruptor-executor[5 5]-send-queue")));
    assertNull(ExecutorThreads.range(new Thread("main")));
  }

  @Test
  void sumsItsThreadsFromTheirStartAndThenTheDifference() throws Exception {
    CountDownLatch burnt = new CountDownLatch(3);
    CountDownLatch measured = new CountDownLatch(1);
    Thread main = worker("Thread-1-x-executor[40 40]", burnt, measured);
    Thread sender = worker("Thread-2-disruptor-executor[40 40]-send-queue", burnt, measured);
    Thread reader = worker("reader", burnt, measured);
    Thread foreign = worker("Thread-1-x-executor[4 40]", new CountDownLatch(1), measured);
    ExecutorThreads.claimOwn(40, reader);
    ExecutorThreads.claimFound(41, reader); // the first claim holds
    for (Thread thread : new Thread[] {main, sender, reader, foreign}) {
      thread.start();
    }
    burnt.await();
    ExecutorThreads threads = new ExecutorThreads();
    double first = threads.cpuMsSince(40, 40);
    assertTrue(first >= 150 && first < 300, "three threads with 50 ms each: " + first);
    double second = threads.cpuMsSince(40, 40);
    assertTrue(second < 50, "nothing since then: " + second);
    measured.countDown();
    for (Thread thread : new Thread[] {main, sender, reader, foreign}) {
      thread.join();
    }
    assertEquals(0, threads.cpuMsSince(40, 40));
  }

  @Test
  void whatAFoundThreadDidBeforeDoesNotCount() throws Exception {
    CountDownLatch burnt = new CountDownLatch(1);
    CountDownLatch measured = new CountDownLatch(1);
    Thread pooled = worker("pool-1-thread-1", burnt, measured);
    pooled.start();
    burnt.await();
    ExecutorThreads.claimFound(50, pooled);
    double ms = new ExecutorThreads().cpuMsSince(50, 50);
    assertTrue(ms < 40, "ms " + ms);
    measured.countDown();
    pooled.join();
  }

  private static Thread worker(String name, CountDownLatch burnt, CountDownLatch measured) {
    return new Thread(
        () -> {
          StormcutHookTest.burn(50);
          burnt.countDown();
          try {
            measured.await();
          } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
          }
        },
        name);
  }
}
