package io.stormcut;

import com.esotericsoftware.kryo.io.Output;
import java.io.OutputStream;
import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.storm.serialization.KryoValuesSerializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Measures a tuple as Storm would serialise it for another worker.
 *
 * <p>The bytes are counted, not kept, whatever the tuple's size.
 */
final class TupleSize {
  static final int UNKNOWN = -1;

  private static final Logger LOG = LoggerFactory.getLogger(TupleSize.class);
  private static final int BUFFER_BYTES = 4096;
  /** By topology: a JVM has several of them where Storm runs locally. */
  private static final Map<String, WeakReference<TupleSize>> OF_WORKER = new HashMap<>();

  private final KryoValuesSerializer serializer;
  private final Output counted = new Output(new Nowhere(), BUFFER_BYTES);
  private final AtomicBoolean complained = new AtomicBoolean();

  private TupleSize(Map<?, ?> conf) {
    serializer = new KryoValuesSerializer(conf);
  }

  /** The one that all of a worker's tasks share. */
  static TupleSize ofWorker(String topology, Map<?, ?> conf) {
    synchronized (OF_WORKER) {
      WeakReference<TupleSize> known = OF_WORKER.get(topology);
      TupleSize size = known == null ? null : known.get();
      if (size == null) {
        size = new TupleSize(conf);
        OF_WORKER.put(topology, new WeakReference<>(size));
      }
      return size;
    }
  }

  /** Bytes of `values`, or UNKNOWN if Storm cannot serialise them. */
  int of(List<Object> values) {
    try {
      // Kryo is not thread safe.
      synchronized (serializer) {
        counted.clear();
        serializer.serializeInto(values, counted);
        return (int) Math.min(counted.total(), Integer.MAX_VALUE);
      }
    } catch (Throwable unserialisable) {
      if (complained.compareAndSet(false, true)) {
        LOG.warn("stormcut: a tuple's size cannot be measured (said once)", unserialisable);
      }
      return UNKNOWN;
    }
  }

  private static final class Nowhere extends OutputStream {
    @Override
    public void write(int one) {}

    @Override
    public void write(byte[] bytes, int from, int length) {}
  }
}
