package io.stormcut;

import java.util.Map;

/** Where the leading brain listens, as its node in ZooKeeper says. */
final class Leader {
  private static final int VERSION = 1;

  final String host;
  final int port;

  private Leader(String host, int port) {
    this.host = host;
    this.port = port;
  }

  static Leader parse(byte[] json) throws Unusable {
    Map<?, ?> fields = Json.object(json, "the leader's address in ZooKeeper", VERSION);
    Object host = fields.get("host");
    Object port = fields.get("port");
    boolean usable = host instanceof String && !((String) host).isEmpty() && port instanceof Long;
    if (!usable || (Long) port < 1 || (Long) port > 65_535) {
      throw new Unusable("the leader's address in ZooKeeper has no usable host and port");
    }
    return new Leader((String) host, ((Long) port).intValue());
  }

  @Override
  public String toString() {
    return host + ":" + port;
  }
}
