package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.apache.thrift.TSerializer;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** Whatever a node in ZooKeeper or Nimbus's own file holds, 10,000 times each: read, or unusable. */
@Timeout(300)
class NodeFuzzTest {
  private static final int MESSAGES = 10_000;
  private static final int MOST_BYTES = 1 << 20;
  /** Of some hundred bytes. */
  private static final long MOST_ALLOCATED = 1L << 20;

  /** May throw Unusable, nothing else. */
  private interface Reader {
    void read(byte[] content) throws Exception;
  }

  private final com.sun.management.ThreadMXBean threads =
      (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();

  private void fuzz(byte[] whole, Reader reader) throws Exception {
    Random random = new Random(17);
    reader.read(whole);
    int unusable = 0;
    for (int message = 0; message < MESSAGES; message++) {
      byte[] damaged = Damage.of(whole, random);
      long before = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
      try {
        reader.read(damaged);
      } catch (Unusable named) {
        unusable++;
      }
      long allocated = threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - before;
      assertTrue(allocated < MOST_ALLOCATED, allocated + " bytes for one");
    }
    assertTrue(unusable > MESSAGES / 4, unusable + " unusable");
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  @Test
  void leaders() throws Exception {
    fuzz(
        utf8("{\"version\": 1, \"id\": \"b\", \"host\": \"127.0.0.1\", \"port\": 7070}"),
        Leader::parse);
  }

  @Test
  void blobs() throws Exception {
    String json =
        "{\"version\": 2, \"id\": \"ab12\", \"parts\": 1, \"bytes\": 200, \"sha256\": \"00\","
            + " \"hmac\": \"00\"}";
    fuzz(utf8(json), Blob::parse);
  }

  private static byte[] plan() throws Exception {
    return new TSerializer(new TBinaryProtocol.Factory())
        .serialize(Plans.plan("f", Plans.topology("a", Plans.worker("n", 1, 1, 2, 3))));
  }

  private static void decode(byte[] packed) throws Exception {
    String json =
        "{\"version\": 2, \"id\": \"a\", \"parts\": 1, \"bytes\": " + packed.length
            + ", \"sha256\": \"" + Fingerprint.sha256(packed) + "\", \"hmac\": \"\"}";
    Blob.parse(utf8(json)).decode(new byte[][] {packed}, MOST_BYTES);
  }

  @Test
  void packedPlans() throws Exception {
    fuzz(TestZooKeeper.gzip(plan()), NodeFuzzTest::decode);
  }

  @Test
  void plans() throws Exception {
    fuzz(plan(), content -> decode(TestZooKeeper.gzip(content)));
  }

  @Test
  void appliedPlacements(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("stormcut-applied.json");
    Warnings warnings = new Warnings(LoggerFactory.getLogger("none"), System::nanoTime);
    String json =
        "{\"version\": 1, \"topologies\": {\"a-1-1\": [{\"node\": \"n\", \"port\": 6700,"
            + " \"executors\": [[1, 1], [2, 3]]}]}}";
    Random random = new Random(17);
    for (int message = 0; message < MESSAGES / 10; message++) {
      Files.write(file, Damage.of(utf8(json), random));
      AppliedPlacements.in(file, warnings).get("a-1-1");
    }
  }

  @Test
  void deepAndLongValues() {
    StringBuilder deep = new StringBuilder("{\"version\": 1, \"id\": ");
    for (int level = 0; level < 1_000_000; level++) {
      deep.append('[');
    }
    assertThrows(Unusable.class, () -> Leader.parse(utf8(deep.toString())));
    String number = new String(new char[5_000]).replace('\0', '9');
    assertThrows(Unusable.class, () -> Leader.parse(utf8("{\"version\": " + number + "}")));
    assertThrows(Unusable.class, () -> Blob.parse(utf8("{\"version\": " + number + "}")));
  }
}
