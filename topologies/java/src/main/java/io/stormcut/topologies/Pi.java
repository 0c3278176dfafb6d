package io.stormcut.topologies;

/** Computes pi by 15 factors of Viete's product, some times over; yields its first four digits. */
public class Pi extends Task {
  private static final int FACTORS = 15;

  private transient int repeats;

  @Override
  void prepare(Options options, int task) {
    repeats = options.whole("pi.repeats");
  }

  @Override
  long work(long number) {
    double pi = 0;
    for (int repeat = 0; repeat < repeats; repeat++) {
      pi = viete(repeat);
    }
    return (long) (1000 * pi);
  }

  /** Each time from another first root, or a compiler would compute it once. */
  private static double viete(int repeat) {
    double root = repeat * 1e-12;
    double product = 1;
    for (int factor = 0; factor < FACTORS; factor++) {
      root = Math.sqrt(2 + root);
      product *= root / 2;
    }
    return 2 / product;
  }
}
