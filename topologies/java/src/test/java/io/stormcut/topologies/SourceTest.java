package io.stormcut.topologies;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SourceTest {
  private static final long RECORDS = 10_000;

  @TempDir Path folder;

  private Chain reporting() {
    return new Chain().with("rig.results", folder.toString());
  }

  private long reported(String count) {
    Map<?, ?> report = Chain.report(folder);
    return report == null ? -1 : (Long) report.get(count);
  }

  private static List<Long> everySecond(long from, long end) {
    return LongStream.range(from, end).filter(n -> (n - from) % 2 == 0).boxed()
        .collect(Collectors.toList());
  }

  @Test
  void tasksShareTheTuplesOfAllReplays() {
    Chain chain = new Chain().with("rig.replays", 2L);
    SourceBench first = new SourceBench(new Source(), chain, 2);
    SourceBench second = new SourceBench(new Source(), chain, 3);
    first.drain();
    second.drain();
    assertEquals(everySecond(0, 2 * RECORDS), first.ids);
    assertEquals(everySecond(1, 2 * RECORDS), second.ids);
    // A key that stays is the source's own position; the number is the tuple's id.
    assertEquals(Arrays.<Object>asList(0L, 4L, "xxx"), first.values.get(2));
    assertEquals(Arrays.<Object>asList(1L, 5L, "xxx"), second.values.get(2));
  }

  @Test
  void whatFailsIsEmittedAgainUntilItIsAcked() throws InterruptedException {
    // So many keys that one drawn again is another one.
    Chain chain = reporting().with("rig.local.share", 0.0).with("rig.keys", 1_000_000);
    SourceBench bench = new SourceBench(new Source(), chain, 2);
    bench.drain();
    int all = bench.ids.size();
    for (int round = 1; round <= 2; round++) {
      int expected = all + round;
      long failed = System.currentTimeMillis();
      bench.source.fail(4L);
      bench.awaitThat(() -> bench.ids.size() >= expected);
      assertTrue(System.currentTimeMillis() >= failed + 1000, "what failed it may last a while");
      assertEquals(4L, bench.ids.get(expected - 1));
      assertEquals(bench.values.get(2), bench.values.get(expected - 1));
    }
    new ArrayList<>(bench.ids.subList(0, all)).forEach(bench.source::ack);
    bench.awaitThat(() -> reported("acked") == all);
    assertEquals(all + 2, bench.ids.size());
    assertEquals(2, reported("replayed"));
    // A tuple that comes again is not another one.
    assertEquals(all, reported("sent"));
  }

  @Test
  void severalFailuresWaitForTheirOwnTime() throws InterruptedException {
    SourceBench bench = new SourceBench(new Source(), new Chain(), 2);
    bench.drain();
    int all = bench.ids.size();
    for (long id : new long[] {6, 0, 4}) {
      bench.source.fail(id);
    }
    bench.awaitThat(() -> bench.ids.size() == all + 3);
    assertEquals(Arrays.<Object>asList(6L, 0L, 4L), bench.ids.subList(all, all + 3));
  }

  @Test
  void everyTupleIsInTheReport() throws InterruptedException {
    SourceBench bench = new SourceBench(new Source(), reporting(), 3);
    bench.source.nextTuple();
    // Emitted, but neither acknowledged nor all that there is.
    assertEquals(bench.ids.size(), reported("sent"));
    assertEquals(0, reported("acked"));
    assertEquals(false, Chain.report(folder).get("finished"));
    bench.drain();
    bench.ids.forEach(bench.source::ack);
    bench.awaitThat(() -> reported("acked") == RECORDS / 2);
    Map<?, ?> report = Chain.report(folder);
    assertEquals(RECORDS / 2, report.get("sent"));
    assertEquals(0L, report.get("replayed"));
    assertEquals(0L, report.get("skipped"));
    assertEquals(true, report.get("finished"));
    // The next one of this task would be 10,001.
    assertEquals(Arrays.<Object>asList(1L, RECORDS + 1, 2L), report.get("share"));
    Map<?, ?> latency = (Map<?, ?>) report.get("latency");
    assertEquals(RECORDS / 2, latency.values().stream().mapToLong(count -> (Long) count).sum());
  }

  @Test
  void aLatencyIsInTheBucketOfItsMilliseconds() throws InterruptedException {
    SourceBench bench = new SourceBench(new Source(), reporting(), 2);
    long before = System.currentTimeMillis();
    bench.source.nextTuple();
    long emitted = System.currentTimeMillis();
    Thread.sleep(200);
    long shortest = System.currentTimeMillis() - emitted;
    bench.source.ack(0L);
    long longest = System.currentTimeMillis() - before;
    bench.awaitThat(() -> reported("acked") == 1);
    Map<?, ?> latency = (Map<?, ?>) Chain.report(folder).get("latency");
    assertEquals(1, latency.size());
    // Bucket b ends at 1.05 to the power of b milliseconds.
    int bucket = Integer.parseInt((String) latency.keySet().iterator().next());
    assertTrue(Math.pow(1.05, bucket) >= shortest * 0.999, bucket + " for " + shortest);
    assertTrue(Math.pow(1.05, bucket - 1) <= longest * 1.001, bucket + " for " + longest);
  }

  @Test
  void aSourceThatComesLateJoinsTheOthers() {
    long launched = System.currentTimeMillis() / 1000 - 100;
    Chain chain = reporting().with("rig.rate", 100).with("rig.replays", 0);
    SourceBench bench = new SourceBench(new Source(), chain.with("storm.id", "t-1-" + launched), 2);
    bench.source.nextTuple();
    List<?> share = (List<?>) Chain.report(folder).get("share");
    long first = (Long) share.get(0);
    // 99 s after the launch the two sources were at 9,900; the patience of a second is theirs.
    assertTrue(first >= 9900 && first < 10_900 && first % 2 == 0, "first " + first);
    // What it was too late for at its start is not its own to skip.
    assertEquals(first + 2 * reported("skipped"), bench.ids.get(0));
  }

  @Test
  void aSourceStopsAfterItsSeconds() throws InterruptedException {
    SourceBench bench = new SourceBench(new Source(), reporting().with("rig.seconds", 0.001), 2);
    Thread.sleep(5);
    bench.source.nextTuple();
    assertEquals(Collections.emptyList(), bench.ids);
    assertEquals(true, Chain.report(folder).get("finished"));
  }
}
