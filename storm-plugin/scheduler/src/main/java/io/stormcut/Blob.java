package io.stormcut;

import io.stormcut.protocol.Plan;
import io.stormcut.protocol.stormcutConstants;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import java.util.zip.GZIPInputStream;
import org.apache.thrift.TDeserializer;
import org.apache.thrift.TException;

/** A published plan, in parts below ZooKeeper's limit: docs/protocol.md. */
final class Blob {
  private static final int VERSION = 2;
  /** The largest plan makes 132 parts of 512,000 bytes. */
  private static final int MOST_PARTS = 1000;
  private static final String WHAT = "the plan in ZooKeeper";

  final String id;
  final int parts;
  private final long bytes;
  private final String sha256;
  private final String hmac;

  private Blob(String id, long parts, long bytes, String sha256, String hmac) throws Unusable {
    boolean sized = bytes >= 0 && bytes <= stormcutConstants.MAX_MESSAGE_BYTES;
    if (!sized || parts < 0 || parts > MOST_PARTS || !id.matches("[0-9a-zA-Z]+")) {
      throw new Unusable(WHAT + " has an impossible size or id");
    }
    this.id = id;
    this.parts = (int) parts;
    this.bytes = bytes;
    this.sha256 = sha256;
    this.hmac = hmac;
  }

  static Blob parse(byte[] json) throws Unusable {
    Map<?, ?> fields = Json.object(json, WHAT, VERSION);
    try {
      return new Blob(
          (String) fields.get("id"),
          (Long) fields.get("parts"),
          (Long) fields.get("bytes"),
          (String) fields.get("sha256"),
          (String) fields.get("hmac"));
    } catch (ClassCastException | NullPointerException incomplete) {
      throw new Unusable(WHAT + " lacks its id, parts, bytes or sha256");
    }
  }

  /**
   * Check before anything is read.
   *
   * @throws Unusable if it is larger, packed, than it may be unpacked, or not signed
   */
  void check(Seal seal, int mostBytes) throws Unusable {
    if (bytes > mostBytes) {
      throw tooLarge();
    }
    if (hmac == null || !seal.isMark(hmac, "blob", "plan", id, String.valueOf(sha256))) {
      throw new Unusable(WHAT + " is not signed by the secret of the auth file");
    }
  }

  private static Unusable tooLarge() {
    return new Unusable(WHAT + " is larger than any plan for this cluster");
  }

  Plan decode(byte[][] content, int mostBytes) throws Unusable {
    ByteArrayOutputStream whole = new ByteArrayOutputStream();
    for (byte[] part : content) {
      whole.write(part, 0, part.length);
    }
    byte[] compressed = whole.toByteArray();
    if (compressed.length != bytes || !Fingerprint.sha256(compressed).equals(sha256)) {
      throw new Unusable(WHAT + " does not fit its checksum");
    }
    try {
      Plan plan = new Plan();
      byte[] unpacked = unpack(compressed, mostBytes);
      new TDeserializer(BoundedProtocol.factory()).deserialize(plan, unpacked);
      return plan;
    } catch (IOException | TException | RuntimeException malformed) {
      throw new Unusable(WHAT + " is malformed");
    }
  }

  private static byte[] unpack(byte[] compressed, int mostBytes) throws IOException, Unusable {
    ByteArrayOutputStream unpacked = new ByteArrayOutputStream();
    byte[] buffer = new byte[1 << 16];
    try (InputStream in = new GZIPInputStream(new ByteArrayInputStream(compressed))) {
      for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
        unpacked.write(buffer, 0, read);
        if (unpacked.size() > mostBytes) {
          throw tooLarge();
        }
      }
    }
    return unpacked.toByteArray();
  }
}
