package io.stormcut;

import java.util.Arrays;
import java.util.Random;

/** What becomes of a message on its way. */
final class Damage {
  private Damage() {}

  /** Some bytes changed, often to what makes counts huge; cut off; or noise. */
  static byte[] of(byte[] whole, Random random) {
    if (random.nextInt(10) == 0) {
      byte[] noise = new byte[random.nextInt(200)];
      random.nextBytes(noise);
      return noise;
    }
    byte[] damaged = whole.clone();
    for (int change = random.nextInt(4); change >= 0; change--) {
      int at = random.nextInt(damaged.length);
      damaged[at] = random.nextBoolean() ? 0x7f : (byte) random.nextInt();
      if (random.nextInt(4) == 0) {
        Arrays.fill(damaged, at, Math.min(at + 4, damaged.length), (byte) 0x7f);
      }
    }
    return random.nextInt(5) == 0 ? Arrays.copyOf(damaged, random.nextInt(damaged.length)) : damaged;
  }
}
