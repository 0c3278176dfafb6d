package io.stormcut.topologies;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;

/**
 * Emits records at the rate that the file {@code rate} beside its reports names, in tuples per second
 * of all sources together: one submission serves many trials.
 */
public class TrialSource extends NumberSource {
  private static final long LOOK_MILLIS = 200;
  /** Until there is a file: what it takes to see that tuples are acknowledged. */
  private static final String FIRST_RATE = "5";

  private transient Path file;
  private transient Schedule schedule;
  private transient String rate;
  private transient long changed;
  private transient long looked;
  private transient long before;
  private transient long skipped;

  @Override
  void prepare(Options options, int task) {
    file = Paths.get(options.text("results"), "rate");
    rate = "";
  }

  @Override
  long poll(long now) {
    if (now >= looked + LOOK_MILLIS) {
      looked = now;
      look(now);
    }
    if (schedule == null) {
      return -1;
    }
    long due = schedule.poll((now - changed) / 1000.0);
    return due < 0 ? -1 : before + due;
  }

  @Override
  long skipped() {
    return skipped + (schedule == null ? 0 : schedule.skipped());
  }

  private void look(long now) {
    String found = read();
    if (found.equals(rate)) {
      return;
    }
    if (schedule != null) {
      // Numbers go on where they were: those under way are not acknowledged yet.
      before += schedule.next() - index();
      skipped += schedule.skipped();
    }
    rate = found;
    changed = now;
    double wanted = Double.parseDouble(found);
    Pace pace = new Pace(new double[] {wanted}, 1);
    schedule = wanted == 0 ? null : new Schedule(pace, index(), tasks(), 0, 0);
  }

  private String read() {
    try {
      return new String(Files.readAllBytes(file), StandardCharsets.UTF_8).trim();
    } catch (NoSuchFileException error) {
      return FIRST_RATE;
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }
}
