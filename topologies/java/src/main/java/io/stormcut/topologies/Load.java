package io.stormcut.topologies;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;

/** The work that {@code rig.cpu.ms} and {@code rig.io.bytes} ask of a bolt for every tuple. */
final class Load {
  private static final long FILE_BYTES = 8 << 20;
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private final long cpuNanos;
  private final ByteBuffer block;
  private final FileChannel file;

  Load(Options options) {
    cpuNanos = (long) (options.number("cpu.ms") * 1e6);
    block = ByteBuffer.allocate(options.whole("io.bytes"));
    file = block.capacity() == 0 ? null : open();
  }

  private static FileChannel open() {
    try {
      return FileChannel.open(
          Files.createTempFile("stormcut-", ".load"),
          StandardOpenOption.WRITE,
          StandardOpenOption.DELETE_ON_CLOSE);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  void spend() {
    if (cpuNanos > 0) {
      // CPU time of this thread, not the clock's: a neighbour must not make the work less.
      long end = THREADS.getCurrentThreadCpuTime() + cpuNanos;
      while (THREADS.getCurrentThreadCpuTime() < end) {
        // busy on purpose
      }
    }
    if (file != null) {
      write();
    }
  }

  private void write() {
    try {
      if (file.position() >= FILE_BYTES) {
        file.position(0);
      }
      block.clear();
      file.write(block);
      file.force(false);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }
}
