package io.stormcut;

import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The hook's keys in storm.yaml or a topology's own configuration: docs/protocol.md. */
final class HookConfig {
  static final String INTERVAL_SECS = "stormcut.hook.interval.secs";
  static final String BYTE_SAMPLE_EVERY = "stormcut.hook.byte.sample.every";
  static final String BUSY_PER_SEC = "stormcut.hook.busy.per.sec";

  private static final Logger LOG = LoggerFactory.getLogger(HookConfig.class);

  final int intervalSecs;
  /** 1: every tuple is sampled; 0: none. */
  final int byteSampleEvery;
  /** A task with more events is not measured all the time. */
  final int busyPerSec;

  HookConfig(Map<?, ?> conf) {
    intervalSecs = integer(conf, INTERVAL_SECS, 1, 3600, 10);
    byteSampleEvery = integer(conf, BYTE_SAMPLE_EVERY, 0, Integer.MAX_VALUE, 100);
    busyPerSec = integer(conf, BUSY_PER_SEC, 0, Integer.MAX_VALUE, 20_000);
  }

  private static int integer(Map<?, ?> conf, String key, int low, int high, int otherwise) {
    Object value = conf.get(key);
    if (value == null) {
      return otherwise;
    }
    boolean whole = value instanceof Integer || value instanceof Long;
    long number = whole ? ((Number) value).longValue() : Long.MIN_VALUE;
    if (number < low || number > high) {
      LOG.warn(
          "stormcut: {} is {}, allowed is a whole number from {} to {}; {} is taken",
          key, value, low, high, otherwise);
      return otherwise;
    }
    return (int) number;
  }
}
