package io.stormcut.topologies;

/** A staircase of rates in tuples per second; its last step lasts for ever. */
final class Pace {
  final boolean unlimited;
  private final double[] steps;
  private final double stepSeconds;

  Pace(double[] steps, double stepSeconds) {
    this.steps = steps.clone();
    this.stepSeconds = stepSeconds;
    this.unlimited = steps[0] == 0;
  }

  /** How many tuples are due within so many seconds from the start. */
  double due(double elapsed) {
    int step = (int) Math.max(0, Math.min(Math.floor(elapsed / stepSeconds), steps.length - 1));
    double before = 0;
    for (int i = 0; i < step; i++) {
      before += steps[i] * stepSeconds;
    }
    return before + (elapsed - step * stepSeconds) * steps[step];
  }

  /** How many seconds after the start a tuple is due. */
  double moment(long ordinal) {
    double left = ordinal;
    int step = 0;
    while (step < steps.length - 1 && left >= steps[step] * stepSeconds) {
      left -= steps[step++] * stepSeconds;
    }
    return step * stepSeconds + left / steps[step];
  }
}
