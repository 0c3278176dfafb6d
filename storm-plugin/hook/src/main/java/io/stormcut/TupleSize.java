package io.stormcut;

import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.storm.serialization.KryoValuesSerializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Measures a tuple as Storm would serialise it for another worker. */
final class TupleSize {
  static final int UNKNOWN = -1;

  private static final Logger LOG = LoggerFactory.getLogger(TupleSize.class);

  private final KryoValuesSerializer serializer;
  private final AtomicBoolean complained = new AtomicBoolean();

  TupleSize(Map<?, ?> conf) {
    serializer = new KryoValuesSerializer(conf);
  }

  /** Bytes of `values`, or UNKNOWN if Storm cannot serialise them. */
  int of(List<Object> values) {
    try {
      // Kryo is not thread safe, and a ShellBolt emits on a thread of its own.
      synchronized (serializer) {
        return serializer.serialize(values).length;
      }
    } catch (Throwable unserialisable) {
      if (complained.compareAndSet(false, true)) {
        LOG.warn("stormcut: a tuple's size cannot be measured (said once)", unserialisable);
      }
      return UNKNOWN;
    }
  }
}
