package io.stormcut.topologies;

import java.util.Random;

/**
 * Decides by which key a tuple travels on, when streams are grouped by key.
 *
 * <p>A key that stays leads to the task of the same position in the next component; after
 * {@code shift.seconds} to the next odd one, so that others talk to each other, and half are idle.
 */
final class Keys {
  private final double stays;
  private final int keys;
  private final Random random;
  private final double shift;
  private final long launched;

  Keys(Options options, int seed) {
    stays = options.number("local.share");
    keys = options.whole("keys");
    random = new Random(seed);
    shift = options.number("shift.seconds");
    launched = options.launched();
  }

  long next(long key) {
    if (random.nextDouble() >= stays) {
      return random.nextInt(keys);
    }
    return hasShifted() ? (key + 1 | 1) % keys : key;
  }

  private boolean hasShifted() {
    return shift > 0 && System.currentTimeMillis() / 1000.0 - launched >= shift;
  }
}
