package io.stormcut;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.atomic.AtomicReference;

/**
 * What this worker's process uses of its machine, what the machine has, and what all on it use, as
 * Linux's /proc and /sys show it.
 *
 * <p>"Machine" is what limits the worker: the container or control group with a CPU quota around
 * it, if there is one.
 */
final class WorkerUsage {
  private static final double MS_PER_TICK = 10; // see ChildProcess

  /** The task whose lines tell it: one of the worker's. */
  private static final AtomicReference<Integer> TELLER = new AtomicReference<>();

  private static final WorkerUsage OF_THIS_WORKER = new WorkerUsage(Paths.get("/"));

  private final Path root;
  private double cpuMsBefore = Double.NaN;
  private double machineMsBefore;
  private long[] bytesBefore;

  WorkerUsage(Path root) {
    this.root = root;
  }

  /** Write {@code ,"worker":{...}} on the line of one task of this worker, on no other's. */
  static void appendSince(StringBuilder json, int task) {
    Integer teller = TELLER.get();
    if (teller == null && TELLER.compareAndSet(null, task)) {
      teller = task;
    }
    if (teller != null && teller == task) {
      OF_THIS_WORKER.appendTo(json);
    }
  }

  /** Nothing the first time, and where the system does not tell. */
  void appendTo(StringBuilder json) {
    try {
      Quota quota = Quota.of(root);
      double cpuMs = ChildProcess.cpuTicks(read("proc/self/stat")) * MS_PER_TICK;
      double machineMs = quota == null ? machineMs(read("proc/stat")) : quota.usedMs;
      long[] bytes = bytes(read("proc/net/dev"));
      if (!Double.isNaN(cpuMsBefore)) {
        double cores = processors(read("proc/self/status"));
        json.append(",\"worker\":{\"cpu_ms\":").append(cpuMs - cpuMsBefore);
        json.append(",\"cores\":").append(quota == null ? cores : Math.min(cores, quota.cores));
        json.append(",\"machine_cpu_ms\":").append(Math.max(0, machineMs - machineMsBefore));
        json.append(",\"in_bytes\":").append(Math.max(0, bytes[0] - bytesBefore[0]));
        json.append(",\"out_bytes\":").append(Math.max(0, bytes[1] - bytesBefore[1]));
        if (quota == null) {
          // Workers of several supervisors on one machine share it.
          String id = read("proc/sys/kernel/random/boot_id").trim();
          json.append(",\"machine\":\"").append(id.replaceAll("[^0-9a-f-]", "")).append('"');
        }
        json.append('}');
      }
      cpuMsBefore = cpuMs;
      machineMsBefore = machineMs;
      bytesBefore = bytes;
    } catch (IOException | RuntimeException untold) {
      return; // another system, or /proc is hidden
    }
  }

  /** CPU time of all processes since boot: all of the first line but idle, iowait, steal, guests. */
  static double machineMs(String stat) {
    String[] fields = stat.substring(0, stat.indexOf('\n')).trim().split(" +");
    double ticks = 0;
    for (int at : new int[] {1, 2, 3, 6, 7}) { // user, nice, system, irq, softirq
      ticks += Long.parseLong(fields[at]);
    }
    return ticks * MS_PER_TICK;
  }

  /** How many processors the worker may run on, from lists such as {@code 0-3,8}. */
  static int processors(String status) {
    for (String line : status.split("\n")) {
      if (line.startsWith("Cpus_allowed_list:")) {
        int count = 0;
        for (String range : line.substring(line.indexOf(':') + 1).trim().split(",")) {
          String[] ends = range.split("-");
          count += Integer.parseInt(ends[ends.length - 1]) - Integer.parseInt(ends[0]) + 1;
        }
        return count;
      }
    }
    throw new IllegalArgumentException("a process without processors");
  }

  /**
   * Bytes that came and went: of network cards if there are any, else of what leads out of this
   * network namespace, as in a container, else of all but the loopback. Devices that only pass on,
   * such as bridges or the ifb of a limit, would count the same bytes twice.
   */
  private long[] bytes(String dev) {
    long[][] sums = new long[3][2];
    boolean[] any = new boolean[3];
    for (String line : dev.split("\n")) {
      int colon = line.indexOf(':');
      if (colon < 0) {
        continue; // a heading
      }
      String name = line.substring(0, colon).trim();
      if (name.equals("lo")) {
        continue;
      }
      String[] fields = line.substring(colon + 1).trim().split(" +");
      Path device = root.resolve("sys/class/net/" + name);
      boolean[] counts = {Files.exists(device.resolve("device")), leadsOut(device), true};
      for (int kind = 0; kind < counts.length; kind++) {
        any[kind] |= counts[kind];
        for (int way = 0; counts[kind] && way < 2; way++) {
          sums[kind][way] += Long.parseLong(fields[8 * way]);
        }
      }
    }
    return any[0] ? sums[0] : any[1] ? sums[1] : sums[2];
  }

  /** Whether its other end is another device, and no bridge here passes on what comes through it. */
  private static boolean leadsOut(Path device) {
    try {
      return !Files.exists(device.resolve("master"))
          && !read(device.resolve("iflink")).trim().equals(read(device.resolve("ifindex")).trim());
    } catch (IOException untold) {
      return false;
    }
  }

  private String read(String file) throws IOException {
    return read(root.resolve(file));
  }

  private static String read(Path file) throws IOException {
    return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
  }

  /** A limit of CPU around this process, and what all within it have used. */
  static final class Quota {
    final double cores;
    final double usedMs;

    private Quota(double cores, double usedMs) {
      this.cores = cores;
      this.usedMs = usedMs;
    }

    /** The tightest one, of either version of control groups; null if there is none. */
    static Quota of(Path root) throws IOException {
      Quota tightest = null;
      for (String line : read(root.resolve("proc/self/cgroup")).split("\n")) {
        String[] parts = line.split(":", 3);
        if (parts.length < 3) {
          continue;
        }
        boolean isV2 = parts[1].isEmpty();
        if (!isV2 && !("," + parts[1] + ",").contains(",cpu,")) {
          continue;
        }
        // Seen from within a container, its own group is the root, whatever it is called outside.
        for (Path at = Paths.get(parts[2]); at != null; at = at.getParent()) {
          String group = at.toString().equals("/") ? "" : at.toString();
          Quota its = isV2 ? v2(root, group) : v1(root, group);
          if (its != null && (tightest == null || its.cores < tightest.cores)) {
            tightest = its;
          }
        }
      }
      return tightest;
    }

    private static Quota v2(Path root, String group) throws IOException {
      Path folder = root.resolve("sys/fs/cgroup" + group);
      if (!Files.exists(folder.resolve("cpu.max"))) {
        return null;
      }
      String[] most = read(folder.resolve("cpu.max")).trim().split(" ");
      if (most[0].equals("max")) {
        return null;
      }
      double used = 0;
      for (String line : read(folder.resolve("cpu.stat")).split("\n")) {
        used = line.startsWith("usage_usec ") ? Long.parseLong(line.substring(11).trim()) : used;
      }
      return new Quota(Double.parseDouble(most[0]) / Double.parseDouble(most[1]), used / 1e3);
    }

    private static Quota v1(Path root, String group) throws IOException {
      Path folder = root.resolve("sys/fs/cgroup/cpu" + group);
      if (!Files.exists(folder.resolve("cpu.cfs_quota_us"))) {
        return null;
      }
      double most = Double.parseDouble(read(folder.resolve("cpu.cfs_quota_us")).trim());
      if (most <= 0) {
        return null;
      }
      double period = Double.parseDouble(read(folder.resolve("cpu.cfs_period_us")).trim());
      Path usage = root.resolve("sys/fs/cgroup/cpuacct" + group).resolve("cpuacct.usage");
      return new Quota(most / period, Long.parseLong(read(usage).trim()) / 1e6);
    }
  }
}
