package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.net.ServerSocket;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.storm.metric.LoggingMetricsConsumer;
import org.apache.storm.metric.api.IMetricsConsumer;
import org.apache.storm.metric.api.IMetricsConsumer.DataPoint;
import org.apache.storm.metric.api.IMetricsConsumer.TaskInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What it does without a broker; with one: integration-tests/test_kafka.py. */
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class KafkaMetricsConsumerTest {
  private static final long NEVER = Long.MAX_VALUE;
  private static final TaskInfo TASK = new TaskInfo("10.0.0.1", 6700, "count", 5, 1700000010L, 10);
  private static final List<DataPoint> POINTS =
      Arrays.asList(
          new DataPoint("stormcut", "{\"v\":1,\"task\":5}"),
          new DataPoint("__ack-count", Collections.singletonMap("default", 9L)),
          new DataPoint("a-name-of-more-than-twenty-three-characters", 1.5),
          new DataPoint("strange", "a\tb %s %n \u00e4"));

  private static Map<String, Object> argument(String servers) {
    Map<String, Object> argument = new HashMap<>();
    argument.put("topic", "metrics");
    argument.put("bootstrap.servers", servers);
    return argument;
  }

  private static String nobody() throws Exception {
    try (ServerSocket socket = new ServerSocket(0)) {
      return "127.0.0.1:" + socket.getLocalPort();
    }
  }

  private static void prepare(IMetricsConsumer consumer, Object argument) {
    consumer.prepare(Contexts.conf(), argument, new Contexts().task(1), null);
  }

  @Test
  void aLineIsWhatTheLogHolds() {
    List<String> lines = new ArrayList<>();
    try (Logged log = new Logged(LoggingMetricsConsumer.class.getName())) {
      new LoggingMetricsConsumer().handleDataPoints(TASK, POINTS);
      POINTS.forEach(point -> lines.add(KafkaMetricsConsumer.line(TASK, point)));
      assertEquals(POINTS.size(), log.lines().size());
      for (int at = 0; at < lines.size(); at++) {
        String head = lines.get(at).split("1700000010\t", 2)[0];
        assertTrue(head.matches("\\d+ \\d+ +"), head);
        assertEquals(head + log.lines().get(at), lines.get(at));
      }
    }
  }

  @Test
  void withoutABrokerNothingWaitsAndOneLineSaysSo() throws Exception {
    KafkaMetricsConsumer consumer = new KafkaMetricsConsumer();
    try (Logged log = new Logged("io.stormcut")) {
      prepare(consumer, argument(nobody()));
      // Kafka's client would wait a minute for each.
      for (int times = 0; times < 1000; times++) {
        consumer.handleDataPoints(TASK, POINTS);
      }
      assertEquals(1, log.lines("stormcut: ").size(), log.lines().toString());
      assertEquals(1, log.lines("do not reach topic metrics").size(), log.lines().toString());
    } finally {
      consumer.cleanup();
    }
  }

  @Test
  void withoutKafkasClientTheWorkerGoesOn() throws Exception {
    try (Logged log = new Logged("io.stormcut");
        WithoutKafka loader = new WithoutKafka()) {
      Class<?> alone = loader.loadClass(KafkaMetricsConsumer.class.getName());
      IMetricsConsumer consumer = (IMetricsConsumer) alone.getDeclaredConstructor().newInstance();
      prepare(consumer, argument("127.0.0.1:9092"));
      consumer.handleDataPoints(TASK, POINTS);
      consumer.handleDataPoints(TASK, POINTS);
      consumer.cleanup();
      assertEquals(1, log.lines("no kafka-clients jar is in the class path").size());
      assertEquals(1, log.lines().size(), log.lines().toString());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"host without a port", "nowhere.invalid:9092", ""})
  void whatCannotBeUsedIsSaidOnce(String servers) {
    KafkaMetricsConsumer consumer = new KafkaMetricsConsumer(0);
    try (Logged log = new Logged("io.stormcut")) {
      prepare(consumer, argument(servers));
      consumer.handleDataPoints(TASK, POINTS);
      consumer.handleDataPoints(TASK, POINTS);
      consumer.cleanup();
      assertEquals(1, log.lines("bootstrap").size(), log.lines().toString());
      assertEquals(1, log.lines().size(), log.lines().toString());
    }
  }

  @Test
  void anArgumentWithoutATopicIsNamed() {
    for (Object argument : new Object[] {null, "metrics", 7L, Collections.emptyMap()}) {
      KafkaMetricsConsumer consumer = new KafkaMetricsConsumer(NEVER);
      try (Logged log = new Logged("io.stormcut")) {
        prepare(consumer, argument);
        consumer.handleDataPoints(TASK, POINTS);
        assertEquals(1, log.lines("argument is not {topic: ").size(), log.lines().toString());
      }
    }
  }

  @Test
  void aServerWhoseNameIsUnknownIsLookedForAgain() throws Exception {
    KafkaMetricsConsumer consumer = new KafkaMetricsConsumer(0);
    Map<String, Object> argument = argument("nowhere.invalid:9092");
    try (Logged log = new Logged("io.stormcut")) {
      prepare(consumer, argument);
      argument.put("bootstrap.servers", Collections.singletonList(nobody()));
      argument.put("retries", 3L);
      consumer.handleDataPoints(TASK, POINTS);
      assertEquals(1, log.lines("do not reach topic metrics").size(), log.lines().toString());
    } finally {
      consumer.cleanup();
    }
  }

  /** The plugin's classes once more, in a class path in which Kafka's are not. */
  private static final class WithoutKafka extends URLClassLoader {
    WithoutKafka() throws Exception {
      super(
          new URL[] {new File("target/classes").toURI().toURL()},
          KafkaMetricsConsumerTest.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (name.startsWith("org.apache.kafka.")) {
        throw new ClassNotFoundException(name);
      }
      synchronized (getClassLoadingLock(name)) {
        Class<?> known = findLoadedClass(name);
        if (known == null && name.startsWith("io.stormcut.")) {
          known = findClass(name);
        }
        return known == null ? super.loadClass(name, resolve) : known;
      }
    }
  }
}
