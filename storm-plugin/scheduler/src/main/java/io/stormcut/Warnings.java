package io.stormcut;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;

/** Logs a warning at once, and the same one again at most once a minute, with a count. */
final class Warnings {
  private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(60);
  private static final int MOST_TEXTS = 1000;
  private static final int LONGEST_TEXT = 1000;

  private final Logger log;
  private final LongSupplier nanoClock;
  private final Map<String, Repeats> seen = new HashMap<>();

  Warnings(Logger log, LongSupplier nanoClock) {
    this.log = log;
    this.nanoClock = nanoClock;
  }

  synchronized void warn(String text) {
    String line = oneLine(text);
    long now = nanoClock.getAsLong();
    if (seen.size() >= MOST_TEXTS) {
      seen.clear();
    }
    Repeats repeats = seen.get(line);
    if (repeats == null) {
      seen.put(line, new Repeats(now));
      log.warn("stormcut: {}", line);
    } else {
      repeats.count++;
      if (now - repeats.loggedAt >= PAUSE_NANOS) {
        log.warn("stormcut: {} ({} times more since it was last logged)", line, repeats.count);
        seen.put(line, new Repeats(now));
      }
    }
  }

  /** The brain's words end up in Nimbus's log: they must not look like lines of their own. */
  static String oneLine(String text) {
    String line = String.valueOf(text).replaceAll("\\p{Cntrl}+", " ");
    return line.length() <= LONGEST_TEXT ? line : line.substring(0, LONGEST_TEXT) + "...";
  }

  private static final class Repeats {
    private final long loggedAt;
    private int count;

    private Repeats(long loggedAt) {
      this.loggedAt = loggedAt;
    }
  }
}
