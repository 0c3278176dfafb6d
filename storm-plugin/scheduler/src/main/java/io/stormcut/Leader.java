package io.stormcut;

import java.util.Map;

/** Where the leading brain listens, as its node in ZooKeeper says. */
final class Leader {
  private static final int VERSION = 1;

  /** The brain's name: requests are sealed for it. */
  final String id;
  final String host;
  final int port;

  private Leader(String id, String host, int port) {
    this.id = id;
    this.host = host;
    this.port = port;
  }

  static Leader parse(byte[] json) throws Unusable {
    Map<?, ?> fields = Json.object(json, "the leader's address in ZooKeeper", VERSION);
    Object id = fields.get("id");
    Object host = fields.get("host");
    Object port = fields.get("port");
    boolean named = id instanceof String && host instanceof String && !((String) host).isEmpty();
    boolean usable = named && port instanceof Long;
    if (!usable || (Long) port < 1 || (Long) port > 65_535) {
      throw new Unusable("the leader's address in ZooKeeper has no usable id, host and port");
    }
    return new Leader((String) id, (String) host, ((Long) port).intValue());
  }

  @Override
  public String toString() {
    return host + ":" + port;
  }
}
