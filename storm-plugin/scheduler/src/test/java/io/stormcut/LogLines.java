package io.stormcut;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.appender.AbstractAppender;

/** What the shim logs, through Storm's own log4j. */
final class LogLines extends AbstractAppender implements AutoCloseable {
  private final List<String> lines = Collections.synchronizedList(new ArrayList<>());
  private final Logger logger = (Logger) LogManager.getLogger("io.stormcut");

  LogLines() {
    super("lines", null, null);
    start();
    logger.setLevel(org.apache.logging.log4j.Level.INFO);
    logger.addAppender(this);
  }

  @Override
  public void append(LogEvent event) {
    lines.add(event.getLevel() + " " + event.getMessage().getFormattedMessage());
  }

  long count(String level, String part) {
    synchronized (lines) {
      return lines.stream().filter(l -> l.startsWith(level) && l.contains(part)).count();
    }
  }

  @Override
  public String toString() {
    synchronized (lines) {
      return String.join("\n", lines);
    }
  }

  @Override
  public void close() {
    logger.removeAppender(this);
    stop();
  }
}
