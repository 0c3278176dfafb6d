package io.stormcut;

import io.stormcut.protocol.Plan;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;

/** Reads the brain's nodes. Not safe for use by several threads, except {@link #close}. */
final class ZooKeeperReader implements AutoCloseable {
  private static final int SESSION_TIMEOUT_MS = 20_000;
  /** Against a server that accepts connections and says nothing. */
  private static final int REQUEST_TIMEOUT_MS = 10_000;

  private final ShimConfig config;
  private volatile ZooKeeper client;
  private String credentials = "";
  private Id owner;
  private String knownBlob = "";
  private Plan knownPlan;

  static {
    quieten();
  }

  ZooKeeperReader(ShimConfig config) {
    this.config = config;
  }

  /**
   * Where the leading brain is.
   *
   * @throws BrainTrouble if no brain leads, or ZooKeeper cannot tell
   */
  Leader leader() throws BrainTrouble, InterruptedException {
    try {
      return Leader.parse(read("/leader"));
    } catch (Unusable content) {
      throw new BrainTrouble(content.getMessage());
    } catch (KeeperException.NoNodeException nobody) {
      throw new BrainTrouble(
          "no brain leads (ZooKeeper has no " + config.zookeeperRoot + "/leader)");
    } catch (KeeperException trouble) {
      throw trouble(trouble);
    }
  }

  /**
   * The last plan that a brain published, or null.
   *
   * @throws Unusable if what was published is damaged, or larger than `mostBytes`
   * @throws BrainTrouble if ZooKeeper cannot tell
   */
  Plan lastPlan(int mostBytes) throws BrainTrouble, Unusable, InterruptedException {
    try {
      return readPlan(mostBytes);
    } catch (Unusable perhapsReplacedMeanwhile) {
      return readPlan(mostBytes);
    }
  }

  private Plan readPlan(int mostBytes) throws BrainTrouble, Unusable, InterruptedException {
    Blob blob;
    try {
      blob = Blob.parse(read("/plan"));
    } catch (KeeperException.NoNodeException none) {
      return null;
    } catch (KeeperException trouble) {
      throw trouble(trouble);
    }
    if (!blob.id.equals(knownBlob)) {
      blob.check(seal(), mostBytes);
      knownPlan = blob.decode(parts(blob), mostBytes);
      knownBlob = blob.id;
    }
    return knownPlan;
  }

  /** Of the secret by which ZooKeeper knows this reader. */
  Seal seal() {
    return new Seal(credentials);
  }

  private byte[][] parts(Blob blob) throws BrainTrouble, Unusable, InterruptedException {
    byte[][] parts = new byte[blob.parts][];
    try {
      for (int part = 0; part < blob.parts; part++) {
        parts[part] = read("/plan/" + blob.id + "-" + part);
      }
    } catch (KeeperException.NoNodeException gone) {
      throw new Unusable("the plan in ZooKeeper lacks a part");
    } catch (KeeperException trouble) {
      throw trouble(trouble);
    }
    return parts;
  }

  private byte[] read(String name)
      throws BrainTrouble, Unusable, InterruptedException, KeeperException {
    ZooKeeper connected = connected();
    String path = config.zookeeperRoot + name;
    byte[] data = connected.getData(path, false, null);
    // Whoever may write to ZooKeeper could have made the node before the brain did.
    for (ACL acl : connected.getACL(path, null)) {
      if (!acl.getId().equals(owner)) {
        throw new Unusable(path + " is open to others than the brain's user: it is not used");
      }
    }
    return data;
  }

  private ZooKeeper connected() throws BrainTrouble {
    // Read each time: who exchanges the secret need not restart Nimbus.
    String now = AuthFile.read(config.zookeeperAuthFile);
    if (client != null && client.getState().isAlive() && now.equals(credentials)) {
      return client;
    }
    close();
    credentials = now;
    try {
      owner = digest(Seal.zookeeperUser(credentials));
      ZKClientConfig settings = new ZKClientConfig();
      // Storm's own JAAS login, if any, is not for this client.
      settings.setProperty(ZKClientConfig.ENABLE_CLIENT_SASL_KEY, "false");
      settings.setProperty(
          ZKClientConfig.ZOOKEEPER_REQUEST_TIMEOUT, Integer.toString(REQUEST_TIMEOUT_MS));
      client =
          new ZooKeeper(
              config.zookeeperConnect(), SESSION_TIMEOUT_MS, event -> {}, false, settings);
    } catch (IOException | IllegalArgumentException trouble) {
      throw new BrainTrouble("ZooKeeper cannot be used: " + trouble.getMessage());
    }
    client.addAuthInfo("digest", Seal.zookeeperUser(credentials).getBytes(StandardCharsets.UTF_8));
    return client;
  }

  /**
   * Leave out what ZooKeeper's client logs of each attempt to connect, some a second, with stack
   * traces: what matters of it is told once a minute. With another logger than Storm's it stays.
   */
  private static void quieten() {
    try {
      Configurator.setLevel(ZooKeeper.class.getPackage().getName(), Level.ERROR);
    } catch (LinkageError | RuntimeException anotherLogger) {
      return;
    }
  }

  /** As ZooKeeper's digest scheme names a user. */
  private static Id digest(String credentials) {
    try {
      byte[] bytes = credentials.getBytes(StandardCharsets.UTF_8);
      byte[] sha1 = MessageDigest.getInstance("SHA-1").digest(bytes);
      String user = credentials.substring(0, credentials.indexOf(':'));
      return new Id("digest", user + ":" + Base64.getEncoder().encodeToString(sha1));
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("every Java platform has SHA-1", impossible);
    }
  }

  private BrainTrouble trouble(KeeperException trouble) {
    if (trouble instanceof KeeperException.NoAuthException) {
      return new BrainTrouble(
          "ZooKeeper refuses the user of " + config.zookeeperAuthFile + " at " + trouble.getPath());
    }
    return new BrainTrouble(
        "ZooKeeper at " + config.zookeeperConnect() + " does not answer: " + trouble.code());
  }

  @Override
  public void close() {
    ZooKeeper old = client;
    client = null;
    if (old != null) {
      try {
        old.close(1);
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
