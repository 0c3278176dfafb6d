package io.stormcut.topologies;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.apache.storm.spout.ISpoutOutputCollector;
import org.apache.storm.spout.SpoutOutputCollector;

/** A source without Storm: what it emits is kept. */
final class SourceBench implements ISpoutOutputCollector {
  final Source source;
  final List<List<Object>> values = new ArrayList<>();
  final List<Object> ids = new ArrayList<>();

  SourceBench(Source source, Chain chain, int task) {
    this.source = source;
    source.open(chain.conf, chain.task(task), new SpoutOutputCollector(this));
  }

  /** Ask for tuples until there are no more. */
  void drain() {
    int before;
    do {
      before = ids.size();
      source.nextTuple();
    } while (ids.size() > before);
  }

  /** Ask for tuples, as Storm does without end, until something is so. */
  void awaitThat(BooleanSupplier isSo) throws InterruptedException {
    long giveUp = System.nanoTime() + 60_000_000_000L;
    while (!isSo.getAsBoolean()) {
      assertTrue(System.nanoTime() < giveUp, "waited a minute");
      Thread.sleep(10);
      source.nextTuple();
    }
  }

  @Override
  public List<Integer> emit(String stream, List<Object> tuple, Object id) {
    assertEquals("default", stream);
    values.add(tuple);
    ids.add(id);
    return Collections.emptyList();
  }

  @Override
  public void emitDirect(int task, String stream, List<Object> tuple, Object id) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long getPendingCount() {
    return 0;
  }

  @Override
  public void reportError(Throwable error) {
    throw new AssertionError(error);
  }
}
