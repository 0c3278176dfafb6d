package io.stormcut.topologies;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/** Keeps a line of 100 bytes for each record, and writes so many at a time; yields the bytes. */
public class BatchedWrite extends Task {
  private static final String LINE = "%099d\n";

  private transient List<String> lines;
  private transient int batch;
  private transient FileChannel file;

  @Override
  void prepare(Options options, int task) {
    batch = options.whole("file.batch");
    lines = new ArrayList<>();
    try {
      file =
          FileChannel.open(
              Files.createTempFile("stormcut-", ".batch"),
              StandardOpenOption.WRITE,
              StandardOpenOption.DELETE_ON_CLOSE);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  @Override
  long work(long number) {
    String line = String.format(LINE, number);
    lines.add(line);
    if (lines.size() >= batch) {
      write();
    }
    return line.length();
  }

  private void write() {
    try {
      file.position(0);
      file.write(ByteBuffer.wrap(String.join("", lines).getBytes(StandardCharsets.US_ASCII)));
      file.force(false);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    lines.clear();
  }
}
