package io.stormcut;

import java.lang.management.ManagementFactory;
import java.util.Collection;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.storm.metric.api.IMetricsConsumer;
import org.apache.storm.task.IErrorReporter;
import org.apache.storm.task.TopologyContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes all metrics to a Kafka topic, each as the line that LoggingMetricsConsumer logs, with the
 * topology's id as its key: {@code {class: io.stormcut.KafkaMetricsConsumer, parallelism.hint: 1,
 * argument: {topic: stormcut, bootstrap.servers: "host:9092"}}}.
 *
 * <p>It never throws and never waits for a broker: without one, or without Kafka's client in the
 * class path, lines are dropped, and the log says once why.
 */
public class KafkaMetricsConsumer implements IMetricsConsumer {
  private static final Logger LOG = LoggerFactory.getLogger(KafkaMetricsConsumer.class);

  private final long retryNanos;
  private Object argument;
  private String topology;
  /** Null: it cannot be written to, as {@link #problem} says. */
  private KafkaTopic topic;
  private String problem;
  private long triedNanos;

  public KafkaMetricsConsumer() {
    this(TimeUnit.MINUTES.toNanos(1));
  }

  KafkaMetricsConsumer(long retryNanos) {
    this.retryNanos = retryNanos;
  }

  @Override
  public void prepare(Map conf, Object given, TopologyContext context, IErrorReporter reporter) {
    argument = given;
    topology = context.getStormId();
    open();
  }

  @Override
  public void handleDataPoints(TaskInfo task, Collection<DataPoint> points) {
    if (topic == null && System.nanoTime() - triedNanos >= retryNanos) {
      open();
    }
    if (topic == null) {
      return;
    }
    try {
      for (DataPoint point : points) {
        topic.send(topology, line(task, point));
      }
    } catch (Throwable failure) {
      complain(failure.toString());
    }
  }

  @Override
  public void cleanup() {
    if (topic != null) {
      topic.close();
    }
  }

  /** A server's name may be unknown now and known in a minute. */
  private void open() {
    triedNanos = System.nanoTime();
    try {
      topic = KafkaTopic.of(argument);
    } catch (NoClassDefFoundError missing) {
      complain("no kafka-clients jar is in the class path: " + missing);
    } catch (Throwable failure) {
      Throwable cause = failure.getCause() == null ? failure : failure.getCause();
      complain(cause.toString());
    }
  }

  private void complain(String reason) {
    if (!reason.equals(problem)) {
      problem = reason;
      LOG.error("stormcut: no metrics are written to Kafka: {}", reason);
    }
  }

  /** Behind a head as log4j writes it: what LoggingMetricsConsumer logs. */
  static String line(TaskInfo task, DataPoint point) {
    return String.format(
        Locale.ROOT,
        "%d %-8d %d\t%15s:%-4d\t%3d:%-11s\t%-23.23s\t%s",
        System.currentTimeMillis() / 1000,
        ManagementFactory.getRuntimeMXBean().getUptime(),
        task.timestamp,
        task.srcWorkerHost,
        task.srcWorkerPort,
        task.srcTaskId,
        task.srcComponentId,
        point.name,
        point.value);
  }
}
