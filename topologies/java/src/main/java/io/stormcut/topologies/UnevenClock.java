package io.stormcut.topologies;

/**
 * A clock that runs unevenly: a source that follows it has a noisy rate.
 *
 * <p>Seconds are longer or shorter by up to a share, drawn alike in every run, and now and then three
 * of them do not count at all; each minute has its 60.
 */
final class UnevenClock {
  private static final int BLOCK_SECONDS = 60;
  private static final int STALL_SECONDS = 3;
  private static final double STALLS = 60;

  private final double noise;
  private final double[] lengths = new double[BLOCK_SECONDS];
  private int block = -1;
  private double sum;

  /** With {@code noise} 0 it is even. */
  UnevenClock(double noise) {
    this.noise = noise;
  }

  /** What it shows after so many seconds. */
  double read(double elapsed) {
    if (noise == 0 || elapsed <= 0) {
      return elapsed;
    }
    fill((int) (elapsed / BLOCK_SECONDS));
    double within = elapsed - block * BLOCK_SECONDS;
    int whole = (int) within;
    double passed = (within - whole) * lengths[whole];
    for (int i = 0; i < whole; i++) {
      passed += lengths[i];
    }
    return BLOCK_SECONDS * (block + passed / sum);
  }

  private void fill(int wanted) {
    if (wanted == block) {
      return;
    }
    block = wanted;
    sum = 0;
    for (int i = 0; i < BLOCK_SECONDS; i++) {
      lengths[i] = length(block * BLOCK_SECONDS + i);
      sum += lengths[i];
    }
  }

  private double length(int second) {
    if (drawn(2 * (second / STALL_SECONDS) + 1) < 1 / STALLS) {
      return 0;
    }
    return 1 + noise * (2 * drawn(2 * second) - 1);
  }

  /** A number from 0 to 1 by another, as rig/noise.py does: a 32-bit hash. */
  private static double drawn(int number) {
    int mixed = (number ^ number >>> 16) * 0x7FEB352D;
    mixed = (mixed ^ mixed >>> 15) * 0x846CA68B;
    mixed ^= mixed >>> 16;
    return Integer.toUnsignedLong(mixed) / 4294967296.0;
  }
}
