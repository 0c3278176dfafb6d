package io.stormcut;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Shows by HMACs that brain and shim know the auth file's secret: docs/protocol.md. */
final class Seal {
  static final int NONCE_BYTES = 16;
  private static final byte[] MAGIC = {'S', 'C', 'T', 2};
  private static final int MAC_BYTES = 32;
  /** Before an answer. */
  static final int REPLY_HEADER_BYTES = MAGIC.length + MAC_BYTES;

  private static final SecureRandom RANDOM = new SecureRandom();

  private final byte[] key;

  /** `secret` is the line `user:password`. */
  Seal(String secret) {
    this.key = derived(secret, "seal");
  }

  /** The line `user:password` by which ZooKeeper knows who has the secret; it tells nothing of it. */
  static String zookeeperUser(String secret) {
    String user = secret.substring(0, secret.indexOf(':'));
    return user + ":" + Fingerprint.hexadecimal(derived(secret, "zookeeper"));
  }

  private static byte[] derived(String secret, String purpose) {
    return hmac(utf8(secret), utf8("stormcut " + purpose));
  }

  static byte[] nonce() {
    byte[] nonce = new byte[NONCE_BYTES];
    RANDOM.nextBytes(nonce);
    return nonce;
  }

  /** A request that only the brain of this name takes, at this time. */
  byte[] request(String reader, long timeMs, byte[] nonce, byte[] payload) {
    byte[] time = ByteBuffer.allocate(Long.BYTES).putLong(timeMs).array();
    byte[] to = utf8(reader + "\n");
    byte[] length = ByteBuffer.allocate(Integer.BYTES).putInt(payload.length).array();
    byte[] head = mac("head", to, time, nonce, length);
    byte[] mac = mac("request", to, time, nonce, payload);
    return joined(MAGIC, time, nonce, head, mac, payload);
  }

  /**
   * What the answer to the request with this nonce says.
   *
   * @throws BrainTrouble if whoever answers does not know the secret or answers something else
   */
  byte[] openReply(byte[] nonce, byte[] content) throws BrainTrouble {
    boolean sealed =
        content.length >= REPLY_HEADER_BYTES
            && Arrays.equals(MAGIC, Arrays.copyOf(content, MAGIC.length));
    if (!sealed) {
      throw new BrainTrouble("its answer is not signed by the secret of the auth file");
    }
    byte[] payload = Arrays.copyOfRange(content, REPLY_HEADER_BYTES, content.length);
    byte[] mac = Arrays.copyOfRange(content, MAGIC.length, REPLY_HEADER_BYTES);
    if (!MessageDigest.isEqual(mac, mac("reply", nonce, payload))) {
      throw new BrainTrouble("its answer is signed by another secret, or for another question");
    }
    return payload;
  }

  /** Whether `mark` is the hexadecimal HMAC of these texts in this order. */
  boolean isMark(String mark, String... parts) {
    return MessageDigest.isEqual(utf8(mark), utf8(mark(parts)));
  }

  String mark(String... parts) {
    return Fingerprint.hexadecimal(mac("node", utf8(String.join("\n", parts))));
  }

  /** HMAC-SHA256 of what kind of message it is, and its parts. */
  byte[] mac(String kind, byte[]... parts) {
    byte[][] all = new byte[parts.length + 1][];
    all[0] = utf8("stormcut " + kind + "\n");
    System.arraycopy(parts, 0, all, 1, parts.length);
    return hmac(key, all);
  }

  private static byte[] hmac(byte[] key, byte[]... parts) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(key, "HmacSHA256"));
      for (byte[] part : parts) {
        mac.update(part);
      }
      return mac.doFinal();
    } catch (GeneralSecurityException impossible) {
      throw new IllegalStateException("every Java platform has HmacSHA256", impossible);
    }
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] joined(byte[]... parts) {
    ByteBuffer whole = ByteBuffer.allocate(Arrays.stream(parts).mapToInt(part -> part.length).sum());
    for (byte[] part : parts) {
      whole.put(part);
    }
    return whole.array();
  }
}
