package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stormcut.protocol.Plan;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.Collections;
import java.util.Map;
import org.apache.zookeeper.ZooDefs;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Against the ZooKeeper server inside storm-core. */
class ZooKeeperReaderTest {
  @TempDir Path folder;
  private TestZooKeeper zookeeper;
  private Map<String, Object> conf;
  private ZooKeeperReader reader;

  @BeforeEach
  void start() throws Exception {
    zookeeper = new TestZooKeeper(folder);
    conf = zookeeper.conf(2000);
    reader = new ZooKeeperReader(ShimConfig.from(conf));
  }

  @AfterEach
  void stop() throws Exception {
    reader.close();
    zookeeper.close();
  }

  private static void says(String part, Class<? extends Exception> kind, Executable action) {
    String message = assertThrows(kind, action).getMessage();
    assertTrue(message.contains(part), message);
    assertTrue(!message.contains("geheim"), "a secret in: " + message);
  }

  private void put(String path, String content) throws Exception {
    zookeeper.put(path, content.getBytes(StandardCharsets.UTF_8), ZooDefs.Ids.CREATOR_ALL_ACL);
  }

  @Test
  void leader() throws Exception {
    says("no brain leads", BrainTrouble.class, reader::leader);
    zookeeper.lead(7070);
    assertEquals("127.0.0.1:7070", reader.leader().toString());
    put("/stormcut/leader", "{\"version\": 2, \"id\": \"b\", \"host\": \"h\", \"port\": 1}");
    says("of version 2", BrainTrouble.class, reader::leader);
    put("/stormcut/leader", "{\"version\": 1, \"id\": \"b\", \"host\": \"h\", \"port\": 70000}");
    says("no usable id, host and port", BrainTrouble.class, reader::leader);
    for (String garbage : Arrays.asList("", "{", "[1]", "\u0001", "null", "{\"version\": \"1\"}")) {
      put("/stormcut/leader", garbage);
      says("the leader's address", BrainTrouble.class, reader::leader);
    }
    zookeeper.delete("/stormcut");
    says("no brain leads", BrainTrouble.class, reader::leader);
  }

  @Test
  void planInParts() throws Exception {
    assertNull(reader.lastPlan(64 << 20));
    Plan plan = Plans.plan("f", Plans.topology("a", Plans.worker("n", 1, 1, 2, 3)));
    zookeeper.publish(plan, "aa", 512_000);
    assertEquals(plan, reader.lastPlan(64 << 20));
    assertEquals(plan, reader.lastPlan(64 << 20));
    Plan large = large();
    zookeeper.publish(large, "bb", 512_000);
    assertEquals(large, reader.lastPlan(64 << 20));
  }

  /** Above one part even when compressed: its reason is noise. */
  private static Plan large() {
    StringBuilder noise = new StringBuilder();
    new java.util.Random(1)
        .ints(1_500_000, ' ', '~')
        .forEach(character -> noise.append((char) character));
    Plan plan = Plans.plan("f", Plans.topology("a"));
    plan.getTopologies().get(0).setReason(noise.toString());
    return plan;
  }

  @Test
  void damagedPlans() throws Exception {
    byte[] part = TestZooKeeper.gzip(new byte[] {1, 2, 3});
    String sha256 = Fingerprint.sha256(part);
    zookeeper.publish(Collections.singletonList(part), "aa", part.length, sha256);
    says("is malformed", Unusable.class, () -> reader.lastPlan(64 << 20));
    zookeeper.publish(Collections.singletonList(part), "ab", part.length, "00");
    says("does not fit its checksum", Unusable.class, () -> reader.lastPlan(64 << 20));
    zookeeper.publish(Collections.singletonList(part), "ac", Integer.MAX_VALUE, sha256);
    says("impossible size", Unusable.class, () -> reader.lastPlan(64 << 20));
    String sized = "\"parts\": 1, \"bytes\": 1, \"sha256\": \"0\"";
    put("/stormcut/plan", "{\"version\": 2, \"id\": \"../x\", " + sized + "}");
    says("impossible size or id", Unusable.class, () -> reader.lastPlan(64 << 20));
    put("/stormcut/plan", "{\"version\": 2, \"id\": \"ad\"}");
    says("lacks its", Unusable.class, () -> reader.lastPlan(64 << 20));
    zookeeper.publish(Collections.singletonList(part), "ae", part.length, sha256);
    zookeeper.delete("/stormcut/plan/ae-0");
    says("lacks a part", Unusable.class, () -> reader.lastPlan(64 << 20));
    byte[] bomb = TestZooKeeper.gzip(new byte[70_000_000]);
    zookeeper.publish(Collections.singletonList(bomb), "af", bomb.length, Fingerprint.sha256(bomb));
    says("larger than any plan", Unusable.class, () -> reader.lastPlan(64 << 20));
  }

  @Test
  void nodesThatOthersMayWrite() throws Exception {
    zookeeper.put(
        "/stormcut/leader",
        "{\"version\": 1, \"id\": \"b\", \"host\": \"h\", \"port\": 1}".getBytes(StandardCharsets.UTF_8),
        ZooDefs.Ids.OPEN_ACL_UNSAFE);
    says("open to others", BrainTrouble.class, reader::leader);
  }

  @Test
  void strangers() throws Exception {
    zookeeper.lead(7070);
    conf.put(
        ShimConfig.ZOOKEEPER_AUTH_FILE,
        TestZooKeeper.authFile(folder, "stormcut:falsch").toString());
    try (ZooKeeperReader stranger = new ZooKeeperReader(ShimConfig.from(conf))) {
      says("refuses the user of", BrainTrouble.class, stranger::leader);
    }
  }

  @Test
  void authFiles() throws Exception {
    says("is not set", BrainTrouble.class, () -> AuthFile.read(null));
    says("cannot be read", BrainTrouble.class, () -> AuthFile.read("/no/such"));
    for (String content : Arrays.asList("", "user", ":geheim", "user:", "a:geheim\nb:geheim")) {
      Path file = TestZooKeeper.authFile(folder, content);
      says("one line user:password", BrainTrouble.class, () -> AuthFile.read(file.toString()));
    }
    Path open = Paths.get((String) conf.get(ShimConfig.ZOOKEEPER_AUTH_FILE));
    Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rw-r--r--"));
    says("chmod 600", BrainTrouble.class, () -> AuthFile.read(open.toString()));
  }

  @Test
  void noServer() throws Exception {
    try (ServerSocket unused = new ServerSocket(0)) {
      conf.put("storm.zookeeper.port", (long) unused.getLocalPort());
    }
    try (ZooKeeperReader alone = new ZooKeeperReader(ShimConfig.from(conf))) {
      says("does not answer", BrainTrouble.class, alone::leader);
    }
  }
}
