package io.stormcut;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The subprocess of a multilang task, as Linux's /proc shows it. */
final class ChildProcess {
  /**
   * USER_HZ: the kernel reports CPU time in hundredths of a second to every program, on all
   * architectures that Java runs on; {@code getconf CLK_TCK} prints it.
   */
  private static final long MS_PER_TICK = 10;

  /** Task id to process id. */
  private static final Map<Integer, Long> STARTED = new ConcurrentHashMap<>();

  private final long pid;
  private long cpuMsBefore;

  private ChildProcess(long pid) {
    this.pid = pid;
  }

  static void started(int task, long pid) {
    STARTED.put(task, pid);
  }

  /** The process of `task`; `known`, if it still is that one; null if there is none. */
  static ChildProcess of(int task, ChildProcess known) {
    Long pid = STARTED.get(task);
    if (pid == null) {
      return null;
    }
    return known != null && known.pid == pid ? known : new ChildProcess(pid);
  }

  /** Write `,"child":{...}` with the CPU time since the last call; nothing if it is gone. */
  void appendSince(StringBuilder json) {
    try {
      long cpuMs = cpuTicks(read("stat")) * MS_PER_TICK;
      long rssBytes = rssKilobytes(read("status")) * 1024;
      json.append(",\"child\":{\"pid\":").append(pid);
      json.append(",\"cpu_ms\":").append(cpuMs - cpuMsBefore);
      json.append(",\"rss_bytes\":").append(rssBytes).append('}');
      cpuMsBefore = cpuMs;
    } catch (IOException | RuntimeException gone) {
      return;
    }
  }

  /** utime + stime: fields 14 and 15; the program's name, field 2, may hold blanks and brackets. */
  static long cpuTicks(String stat) {
    String[] afterName = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    return Long.parseLong(afterName[11]) + Long.parseLong(afterName[12]);
  }

  /** Of status, not statm, which counts in pages of a size that differs between machines. */
  static long rssKilobytes(String status) {
    for (String line : status.split("\n")) {
      if (line.startsWith("VmRSS:")) {
        return Long.parseLong(line.substring("VmRSS:".length(), line.lastIndexOf(' ')).trim());
      }
    }
    throw new IllegalArgumentException("a process without memory: it has ended");
  }

  private String read(String file) throws IOException {
    byte[] content = Files.readAllBytes(Paths.get("/proc", Long.toString(pid), file));
    return new String(content, StandardCharsets.UTF_8);
  }
}
