package io.stormcut;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.StringSerializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A topic that is written to if and while it can be; alone in that it needs Kafka's client. */
final class KafkaTopic {
  private static final String TOPIC = "topic";

  private static final Logger LOG = LoggerFactory.getLogger(KafkaTopic.class);

  private final String name;
  private final Producer<String, String> producer;
  private final AtomicLong lost = new AtomicLong();

  private KafkaTopic(String name, Map<String, Object> settings) {
    this.name = name;
    producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    askForPartitions();
  }

  /**
   * Of `{topic: ..., bootstrap.servers: ...}` and any other settings of Kafka's producer.
   *
   * @throws RuntimeException if they cannot be used, or none of the servers' names is known
   */
  static KafkaTopic of(Object argument) {
    Object name = argument instanceof Map ? ((Map<?, ?>) argument).get(TOPIC) : null;
    if (name == null) {
      throw new IllegalArgumentException("argument is not {topic: ..., bootstrap.servers: ...}");
    }
    return new KafkaTopic(String.valueOf(name), settings((Map<?, ?>) argument));
  }

  private static Map<String, Object> settings(Map<?, ?> argument) {
    Map<String, Object> settings = new HashMap<>();
    // Some thousand lines: what waits for a broker is worth little after a minute.
    settings.put(ProducerConfig.BUFFER_MEMORY_CONFIG, "4194304");
    settings.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, "60000");
    settings.put(ProducerConfig.LINGER_MS_CONFIG, "100");
    // Kafka's client logs every attempt.
    settings.put(ProducerConfig.RECONNECT_BACKOFF_MS_CONFIG, "1000");
    settings.put(ProducerConfig.RECONNECT_BACKOFF_MAX_MS_CONFIG, "60000");
    argument.forEach(
        (key, value) ->
            // Of numbers Kafka takes an Integer where Storm has made a Long.
            settings.put(
                String.valueOf(key), value instanceof List ? value : String.valueOf(value)));
    settings.remove(TOPIC);
    // Rather lose a line than hold up a worker.
    settings.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, "0");
    return settings;
  }

  /** Who waits for nothing must have asked before the first line comes. */
  private void askForPartitions() {
    try {
      producer.partitionsFor(name);
    } catch (KafkaException notYet) {
      LOG.debug("stormcut: topic {} has been asked for", name, notYet);
    }
  }

  void send(String key, String line) {
    producer.send(new ProducerRecord<>(name, key, line), (written, failure) -> note(failure));
  }

  private void note(Exception failure) {
    if (failure != null && lost.getAndIncrement() == 0) {
      LOG.warn("stormcut: metrics do not reach topic {} and are dropped: {}", name, "" + failure);
    } else if (failure == null && lost.get() > 0) {
      LOG.info("stormcut: metrics reach topic {} again, {} were dropped", name, lost.getAndSet(0));
    }
  }

  void close() {
    producer.close(Duration.ZERO);
  }
}
