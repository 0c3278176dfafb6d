package io.stormcut.topologies;

/**
 * The tuples of one source of several: numbers {@code index}, {@code index + sources}, ...
 *
 * <p>At a set pace a tuple has its moment, whatever happened before; a source that is more than a
 * second behind goes on from now, as a live feed would.
 */
final class Schedule {
  private static final double PATIENCE_SECONDS = 1;

  private final Pace pace;
  private final int sources;
  private final long end;
  private long next;
  private long skipped;

  /** With {@code end} 0 there is no end. */
  Schedule(Pace pace, int index, int sources, long end, double elapsed) {
    this.pace = pace;
    this.sources = sources;
    this.end = end == 0 ? Long.MAX_VALUE : end;
    this.next = index;
    catchUp(elapsed);
    this.skipped = 0;
  }

  long next() {
    return next;
  }

  long skipped() {
    return skipped;
  }

  boolean isOver() {
    return next >= end;
  }

  /** The number of a tuple that is due now, -1 if there is none. */
  long poll(double elapsed) {
    catchUp(elapsed);
    if (isOver() || !pace.unlimited && pace.moment(next) > elapsed) {
      return -1;
    }
    long due = next;
    next += sources;
    return due;
  }

  private void catchUp(double elapsed) {
    if (pace.unlimited) {
      return;
    }
    double oldest = Math.min(pace.due(elapsed - PATIENCE_SECONDS), end);
    long behind = Math.max(0, (long) Math.ceil((oldest - next) / sources));
    next += behind * sources;
    skipped += behind;
  }
}
