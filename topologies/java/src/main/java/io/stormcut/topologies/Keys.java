package io.stormcut.topologies;

import java.util.Random;

/**
 * Decides by which key a tuple travels on, when streams are grouped by key.
 *
 * <p>A key that stays leads to the task of the same position in the next component; after
 * {@code shift.seconds} to the next odd one, so that others talk to each other, and half are idle.
 * After another {@code shift.period} it is the next even one, then the next odd one again, and so on.
 */
final class Keys {
  private final double stays;
  private final int keys;
  private final Random random;
  private final double shift;
  private final double period;
  private final long launched;

  Keys(Options options, int seed) {
    stays = options.number("local.share");
    keys = options.whole("keys");
    random = new Random(seed);
    shift = options.number("shift.seconds");
    period = options.number("shift.period");
    launched = options.launched();
  }

  long next(long key) {
    if (random.nextDouble() >= stays) {
      return random.nextInt(keys);
    }
    long shifts = shifts();
    if (shifts == 0) {
      return key;
    }
    return (shifts % 2 == 1 ? key + 1 | 1 : key + 2 & ~1L) % keys;
  }

  private long shifts() {
    double since = System.currentTimeMillis() / 1000.0 - launched - shift;
    if (shift == 0 || since < 0) {
      return 0;
    }
    return period == 0 ? 1 : 1 + (long) (since / period);
  }
}
