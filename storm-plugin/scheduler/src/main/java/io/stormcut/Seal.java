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
  private static final byte[] MAGIC = {'S', 'C', 'T', 1};
  private static final int MAC_BYTES = 32;
  /** Before an answer. */
  static final int REPLY_HEADER_BYTES = MAGIC.length + MAC_BYTES;

  private static final SecureRandom RANDOM = new SecureRandom();

  private final byte[] secret;

  /** `secret` is the line `user:password`. */
  Seal(String secret) {
    this.secret = secret.getBytes(StandardCharsets.UTF_8);
  }

  static byte[] nonce() {
    byte[] nonce = new byte[NONCE_BYTES];
    RANDOM.nextBytes(nonce);
    return nonce;
  }

  /** A request that only the brain of this name takes, at this time. */
  byte[] request(String reader, long timeMs, byte[] nonce, byte[] payload) {
    byte[] time = ByteBuffer.allocate(Long.BYTES).putLong(timeMs).array();
    byte[] mac = mac("request", utf8(reader + "\n"), time, nonce, payload);
    return joined(MAGIC, time, nonce, mac, payload);
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
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(secret, "HmacSHA256"));
      mac.update(utf8("stormcut " + kind + "\n"));
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
