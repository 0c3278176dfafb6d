package io.stormcut;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The shim's keys in storm.yaml, validated: docs/protocol.md lists them. */
final class ShimConfig {
  static final String ENABLED = "stormcut.enabled";
  static final String FALLBACK = "stormcut.fallback.scheduler";
  static final String DEADLINE_MS = "stormcut.brain.deadline.ms";
  static final String TLS_FOLDER = "stormcut.brain.tls.folder";
  static final String ZOOKEEPER_SERVERS = "stormcut.zookeeper.servers";
  static final String ZOOKEEPER_PORT = "stormcut.zookeeper.port";
  static final String ZOOKEEPER_ROOT = "stormcut.zookeeper.root";
  static final String ZOOKEEPER_AUTH_FILE = "stormcut.zookeeper.auth.file";

  /** Whoever meant TLS gets no plain connection instead, but none. */
  private static final String NOWHERE = "/dev/null";

  private static final Logger LOG = LoggerFactory.getLogger(ShimConfig.class);

  final boolean enabled;
  /** Class of the scheduler that decides wherever no plan does. */
  final String fallback;
  final int deadlineMs;
  final List<String> zookeeperServers;
  final int zookeeperPort;
  final String zookeeperRoot;
  /** Null when no file is configured: then no brain is asked. */
  final String zookeeperAuthFile;
  /** Null when none is configured: then brains are asked without TLS. */
  final String tlsFolder;

  private ShimConfig(Map<?, ?> conf) {
    enabled = bool(conf, ENABLED, true);
    fallback = path(conf, FALLBACK, "the class of a scheduler", null);
    deadlineMs = integer(conf, DEADLINE_MS, 50, 10_000, 2000);
    zookeeperServers =
        hosts(conf, ZOOKEEPER_SERVERS, hosts(conf, "storm.zookeeper.servers", localhost()));
    zookeeperPort = port(conf, ZOOKEEPER_PORT, port(conf, "storm.zookeeper.port", 2181));
    zookeeperRoot = root(conf);
    zookeeperAuthFile = path(conf, ZOOKEEPER_AUTH_FILE, "the path of a file with user:password", null);
    tlsFolder = path(conf, TLS_FOLDER, "the path of a folder", NOWHERE);
  }

  static ShimConfig from(Map<?, ?> conf) {
    return new ShimConfig(conf);
  }

  /** The connect string: host:port,host:port. */
  String zookeeperConnect() {
    List<String> addresses = new ArrayList<>();
    for (String host : zookeeperServers) {
      boolean bareIpv6 = host.indexOf(':') >= 0 && !host.startsWith("[");
      addresses.add((bareIpv6 ? "[" + host + "]" : host) + ":" + zookeeperPort);
    }
    return String.join(",", addresses);
  }

  private static boolean bool(Map<?, ?> conf, String key, boolean otherwise) {
    Object value = conf.get(key);
    if (value == null || value instanceof Boolean) {
      return value == null ? otherwise : (Boolean) value;
    }
    return refuse(key, value, "true or false", otherwise);
  }

  private static int integer(Map<?, ?> conf, String key, int low, int high, int otherwise) {
    Object value = conf.get(key);
    if (value == null) {
      return otherwise;
    }
    boolean whole = value instanceof Integer || value instanceof Long;
    long number = whole ? ((Number) value).longValue() : Long.MIN_VALUE;
    if (number < low || number > high) {
      return refuse(key, value, "a whole number from " + low + " to " + high, otherwise);
    }
    return (int) number;
  }

  private static int port(Map<?, ?> conf, String key, int otherwise) {
    return integer(conf, key, 1, 65_535, otherwise);
  }

  private static List<String> hosts(Map<?, ?> conf, String key, List<String> otherwise) {
    Object value = conf.get(key);
    if (value == null) {
      return otherwise;
    }
    List<String> hosts = new ArrayList<>();
    if (value instanceof Collection) {
      for (Object host : (Collection<?>) value) {
        if (!(host instanceof String) || !((String) host).matches("[^\\s,/]+")) {
          return refuse(key, value, "a list of host names", otherwise);
        }
        hosts.add((String) host);
      }
    }
    return hosts.isEmpty() ? refuse(key, value, "a list of host names", otherwise) : hosts;
  }

  private static String root(Map<?, ?> conf) {
    String otherwise = "/stormcut";
    Object value = conf.get(ZOOKEEPER_ROOT);
    if (value == null) {
      return otherwise;
    }
    boolean path = value instanceof String && ((String) value).matches("(/[^/\\s\\p{Cntrl}]+)+");
    if (!path || ((String) value).matches(".*/\\.\\.?(/.*)?")) {
      return refuse(
          ZOOKEEPER_ROOT, value, "an absolute path without a slash at its end", otherwise);
    }
    return (String) value;
  }

  private static String path(Map<?, ?> conf, String key, String allowed, String otherwise) {
    Object value = conf.get(key);
    if (value == null || value instanceof String && !((String) value).trim().isEmpty()) {
      return (String) value;
    }
    return refuse(key, value, allowed, otherwise);
  }

  private static List<String> localhost() {
    List<String> hosts = new ArrayList<>();
    hosts.add("localhost");
    return hosts;
  }

  private static <T> T refuse(String key, Object value, String allowed, T taken) {
    LOG.warn("stormcut: {} is {}, allowed is {}; {} is taken", key, value, allowed, taken);
    return taken;
  }
}
