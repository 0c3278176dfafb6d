package io.stormcut.topologies;

import java.util.Random;

/**
 * Decides by which key a tuple travels on, when streams are grouped by key.
 *
 * <p>A key that stays leads to the task of the same position in the next component.
 */
final class Keys {
  private final double stays;
  private final int keys;
  private final Random random;

  Keys(Options options, int seed) {
    stays = options.number("local.share");
    keys = options.whole("keys");
    random = new Random(seed);
  }

  long next(long key) {
    return random.nextDouble() < stays ? key : random.nextInt(keys);
  }
}
