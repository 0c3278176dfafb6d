package io.stormcut;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.appender.AbstractAppender;

/** What a package or class logs meanwhile, through Storm's own log4j. */
final class Logged extends AbstractAppender implements AutoCloseable {
  private final List<String> lines = new CopyOnWriteArrayList<>();
  private final Logger logger;

  Logged(String name) {
    super("logged", null, null);
    logger = (Logger) LogManager.getLogger(name);
    logger.setLevel(Level.INFO);
    start();
    logger.addAppender(this);
  }

  @Override
  public void append(LogEvent event) {
    lines.add(event.getMessage().getFormattedMessage());
  }

  List<String> lines() {
    return lines;
  }

  List<String> lines(String part) {
    return lines.stream().filter(line -> line.contains(part)).collect(Collectors.toList());
  }

  @Override
  public void close() {
    logger.removeAppender(this);
    stop();
  }
}
