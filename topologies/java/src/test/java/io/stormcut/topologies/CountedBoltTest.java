package io.stormcut.topologies;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.storm.Constants;
import org.apache.storm.task.IOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.tuple.MessageId;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.TupleImpl;
import org.apache.storm.tuple.Values;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CountedBoltTest implements IOutputCollector {
  @TempDir Path folder;
  private final List<List<Object>> emitted = new ArrayList<>();
  private final List<Tuple> anchors = new ArrayList<>();
  private final List<Tuple> acked = new ArrayList<>();
  private Chain chain;

  @BeforeEach
  void setUp() {
    chain = new Chain().with("rig.results", folder.toString());
  }

  private CountedBolt prepared(CountedBolt bolt) {
    bolt.prepare(chain.conf, chain.task(4), new OutputCollector(this));
    return bolt;
  }

  private Tuple tuple(long key, long number) {
    Values values = new Values(key, number, "xxx");
    return new TupleImpl(chain.task(4), values, 2, "default", MessageId.makeUnanchored());
  }

  private Tuple tick() {
    return new TupleImpl(
        chain.task(4), new Values(2L), (int) Constants.SYSTEM_TASK_ID,
        Constants.SYSTEM_TICK_STREAM_ID, MessageId.makeUnanchored());
  }

  @Test
  void aRelayPassesTuplesOnAndAcksThem() {
    CountedBolt relay = prepared(new Relay());
    Tuple given = tuple(5, 17);
    relay.execute(given);
    assertEquals(Collections.singletonList(Arrays.<Object>asList(5L, 17L, "xxx")), emitted);
    // Anchored: were it lost behind this bolt, the source would have to know.
    assertSame(given, anchors.get(0));
    assertEquals(Collections.singletonList(given), acked);
  }

  @Test
  void whatComesAndGoesIsCountedAndReportedAtTicks() {
    CountedBolt relay = prepared(new Relay());
    for (long number = 0; number < 3; number++) {
      relay.execute(tuple(0, number));
    }
    assertEquals(null, Chain.report(folder));
    relay.execute(tick());
    Map<?, ?> report = Chain.report(folder);
    // The tick is none of them, though it is acknowledged too.
    assertEquals(Collections.singletonMap("source", 3L), report.get("received"));
    assertEquals(Collections.singletonMap("default", 3L), report.get("emitted"));
    assertEquals(4, acked.size());
  }

  @Test
  void aSinkTakesTuplesIn() {
    CountedBolt sink = prepared(new Sink());
    sink.execute(tuple(5, 17));
    sink.execute(tick());
    assertEquals(Collections.emptyList(), emitted);
    assertEquals(Collections.singletonMap("source", 1L), Chain.report(folder).get("received"));
    assertEquals(Collections.singletonMap("default", 0L), Chain.report(folder).get("emitted"));
    assertEquals(2, acked.size());
  }

  @Override
  public List<Integer> emit(String stream, Collection<Tuple> from, List<Object> values) {
    emitted.add(values);
    anchors.addAll(from);
    return Collections.emptyList();
  }

  @Override
  public void emitDirect(int task, String stream, Collection<Tuple> from, List<Object> values) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void ack(Tuple tuple) {
    acked.add(tuple);
  }

  @Override
  public void fail(Tuple tuple) {
    throw new AssertionError("failed " + tuple);
  }

  @Override
  public void resetTimeout(Tuple tuple) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void reportError(Throwable error) {
    throw new AssertionError(error);
  }
}
