package io.stormcut;

import io.stormcut.protocol.Plan;
import java.io.ByteArrayOutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPOutputStream;
import org.apache.storm.shade.org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.storm.shade.org.apache.zookeeper.server.ZooKeeperServer;
import org.apache.thrift.TSerializer;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;

/** Storm's own ZooKeeper 3.4.14 server in this process, and what a brain writes into it. */
final class TestZooKeeper implements AutoCloseable {
  static final String CREDENTIALS = "stormcut:geheim";

  private final NIOServerCnxnFactory factory = new NIOServerCnxnFactory();
  private final ZooKeeperServer server;
  private ZooKeeper brain;
  private final Path authFile;
  private final Path localDir;

  TestZooKeeper(Path folder) throws Exception {
    server =
        new ZooKeeperServer(
            folder.resolve("data").toFile(), folder.resolve("log").toFile(), 500);
    factory.configure(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 100);
    factory.startup(server);
    brain = new ZooKeeper("127.0.0.1:" + port(), 20_000, event -> {});
    identify(CREDENTIALS);
    authFile = authFile(folder, CREDENTIALS);
    localDir = folder.resolve("local");
    brain.create("/stormcut", null, ZooDefs.Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT);
  }

  static Path authFile(Path folder, String credentials) throws Exception {
    Path file = Files.createTempFile(folder, "auth", "");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    return Files.write(file, (credentials + "\n").getBytes(StandardCharsets.UTF_8));
  }

  int port() {
    return factory.getLocalPort();
  }

  /** Of a Nimbus that uses this server. */
  Map<String, Object> conf(int deadlineMs) {
    Map<String, Object> conf = new HashMap<>();
    conf.put("storm.zookeeper.servers", Collections.singletonList("127.0.0.1"));
    conf.put("storm.zookeeper.port", (long) port());
    conf.put("storm.local.dir", localDir.toString());
    conf.put(ShimConfig.ZOOKEEPER_AUTH_FILE, authFile.toString());
    conf.put(ShimConfig.DEADLINE_MS, (long) deadlineMs);
    return conf;
  }

  /** Where the shim of that Nimbus keeps what plans have put. */
  Path appliedFile() {
    return localDir.resolve("nimbus").resolve("stormcut-applied.json");
  }

  void lead(int port) throws Exception {
    put(
        "/stormcut/leader",
        ("{\"version\": 1, \"id\": \"b\", \"host\": \"127.0.0.1\", \"port\": " + port + "}")
            .getBytes(StandardCharsets.UTF_8),
        ZooDefs.Ids.CREATOR_ALL_ACL);
  }

  /** In parts of `partBytes`, so that small plans have several too. */
  void publish(Plan plan, String id, int partBytes) throws Exception {
    byte[] content = gzip(new TSerializer(new TBinaryProtocol.Factory()).serialize(plan));
    List<byte[]> parts = new ArrayList<>();
    for (int from = 0; from < content.length; from += partBytes) {
      parts.add(
          java.util.Arrays.copyOfRange(
              content, from, Math.min(content.length, from + partBytes)));
    }
    publish(parts, id, content.length, Fingerprint.sha256(content));
  }

  void publish(List<byte[]> parts, String id, int bytes, String sha256) throws Exception {
    if (brain.exists("/stormcut/plan", false) == null) {
      put("/stormcut/plan", new byte[0], ZooDefs.Ids.CREATOR_ALL_ACL);
    }
    for (int part = 0; part < parts.size(); part++) {
      put("/stormcut/plan/" + id + "-" + part, parts.get(part), ZooDefs.Ids.CREATOR_ALL_ACL);
    }
    String hmac = new Seal(CREDENTIALS).mark("blob", "plan", id, sha256);
    String json =
        "{\"version\": 2, \"id\": \"" + id + "\", \"parts\": " + parts.size()
            + ", \"bytes\": " + bytes + ", \"sha256\": \"" + sha256
            + "\", \"hmac\": \"" + hmac + "\"}";
    put("/stormcut/plan", json.getBytes(StandardCharsets.UTF_8), ZooDefs.Ids.CREATOR_ALL_ACL);
  }

  /** The published plan as somebody would leave it who does not know the secret. */
  void unsignPlan() throws Exception {
    String json = new String(brain.getData("/stormcut/plan", false, null), StandardCharsets.UTF_8);
    byte[] unsigned = json.replaceAll("\"hmac\": \".", "\"hmac\": \"x").getBytes("UTF-8");
    brain.setData("/stormcut/plan", unsigned, -1);
  }

  /** All nodes change hands, and the auth file says so. */
  void exchangeSecret(String credentials) throws Exception {
    delete("/stormcut");
    brain.close();
    brain = new ZooKeeper("127.0.0.1:" + port(), 20_000, event -> {});
    identify(credentials);
    brain.create("/stormcut", null, ZooDefs.Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT);
    Files.write(authFile, (credentials + "\n").getBytes(StandardCharsets.UTF_8));
  }

  private void identify(String credentials) {
    String user = Seal.zookeeperUser(credentials);
    brain.addAuthInfo("digest", user.getBytes(StandardCharsets.UTF_8));
  }

  void put(String path, byte[] data, List<ACL> acl) throws Exception {
    try {
      brain.create(path, data, acl, CreateMode.PERSISTENT);
    } catch (KeeperException.NodeExistsException exists) {
      brain.setData(path, data, -1);
    }
  }

  void delete(String path) throws Exception {
    for (String child : brain.getChildren(path, false)) {
      delete(path + "/" + child);
    }
    brain.delete(path, -1);
  }

  static byte[] gzip(byte[] content) throws Exception {
    ByteArrayOutputStream compressed = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(compressed)) {
      out.write(content);
    }
    return compressed.toByteArray();
  }

  @Override
  public void close() throws Exception {
    brain.close();
    factory.shutdown();
    server.shutdown();
  }
}
