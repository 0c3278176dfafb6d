package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Map;
import org.apache.storm.shade.org.json.simple.JSONValue;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class WorkerUsageTest {
  @TempDir Path root;

  @BeforeEach
  void machine() throws IOException {
    write("proc/self/stat", "7 (java) S 1 7 7 0 -1 4194304 10 0 0 0 250 50 0 0 20 0 1 0 5 6 7");
    write("proc/self/status", "Name:\tjava\nCpus_allowed_list:\t0-2,7\n");
    write("proc/self/cgroup", "0::/\n");
    write("proc/stat", "cpu  100 20 30 999 999 4 6 50 0 0\ncpu0 1 1 1 1\n");
    write("proc/sys/kernel/random/boot_id", "0f-1a\n");
    write("proc/net/dev", dev(1000, 2000));
  }

  @Test
  void nothingIsToldBeforeThereIsADifference() {
    WorkerUsage usage = new WorkerUsage(root);
    assertNull(read(usage));
    assertEquals(0.0, read(usage).get("cpu_ms"));
  }

  @Test
  void withoutAQuotaItIsTheMachine() throws IOException {
    WorkerUsage usage = new WorkerUsage(root);
    read(usage);
    write("proc/self/stat", "7 (java) S 1 7 7 0 -1 4194304 10 0 0 0 280 60 0 0 20 0 1 0 5 6 7");
    write("proc/stat", "cpu  150 20 40 999 999 4 6 70 0 0\ncpu0 1 1 1 1\n");
    write("proc/net/dev", dev(5000, 9000));
    Map<?, ?> told = read(usage);
    assertEquals(400.0, told.get("cpu_ms"));
    assertEquals(600.0, told.get("machine_cpu_ms"));
    assertEquals(4.0, told.get("cores"));
    assertEquals(4000L, told.get("in_bytes"));
    assertEquals(7000L, told.get("out_bytes"));
    assertEquals("0f-1a", told.get("machine"));
  }

  @Test
  void networkCardsCountAndNotTheBridgesBehindThem() throws IOException {
    Files.createDirectories(root.resolve("sys/class/net/eth0/device"));
    WorkerUsage usage = new WorkerUsage(root);
    read(usage);
    write("proc/net/dev", dev(5000, 9000) + " docker0: 99 1 0 0 0 0 0 0 99 1 0 0 0 0 0 0\n");
    assertEquals(4000L, read(usage).get("in_bytes"));
  }

  /** A limit of what comes in passes it through an ifb: the kernel counts it there again. */
  @Test
  void inAContainerWhatLeadsOutCountsAndNotWhatPassesItOn() throws IOException {
    device("eth0", 2, 17);
    device("ifb0", 3, 3);
    device("veth1", 4, 9);
    Files.createDirectories(root.resolve("sys/class/net/veth1/master"));
    WorkerUsage usage = new WorkerUsage(root);
    read(usage);
    write(
        "proc/net/dev",
        dev(5000, 9000)
            + " ifb0: 5000 1 0 0 0 0 0 0 5000 1 0 0 0 0 0 0\n"
            + " veth1: 70 1 0 0 0 0 0 0 70 1 0 0 0 0 0 0\n");
    Map<?, ?> told = read(usage);
    assertEquals(4000L, told.get("in_bytes"));
    assertEquals(7000L, told.get("out_bytes"));
  }

  private void device(String name, int index, int otherEnd) throws IOException {
    write("sys/class/net/" + name + "/ifindex", index + "\n");
    write("sys/class/net/" + name + "/iflink", otherEnd + "\n");
  }

  @Test
  void aQuotaIsTheMachineInBothVersionsOfControlGroups() throws IOException {
    write("proc/self/cgroup", "0::/system.slice/storm.service\n");
    write("sys/fs/cgroup/system.slice/cpu.max", "150000 100000\n");
    write("sys/fs/cgroup/system.slice/cpu.stat", "usage_usec 1000000\nuser_usec 7\n");
    write("sys/fs/cgroup/system.slice/storm.service/cpu.max", "max 100000\n");
    assertQuota("sys/fs/cgroup/system.slice/cpu.stat", "usage_usec 1200000\n");
    write("proc/self/cgroup", "4:memory:/docker/1\n3:cpu,cpuacct:/docker/1\n0::/\n");
    write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n");
    write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    write("sys/fs/cgroup/cpuacct/cpuacct.usage", "1000000000\n");
    assertQuota("sys/fs/cgroup/cpuacct/cpuacct.usage", "1200000000\n");
    write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    assertNull(WorkerUsage.Quota.of(root));
  }

  private void assertQuota(String file, String later) throws IOException {
    WorkerUsage usage = new WorkerUsage(root);
    read(usage);
    write(file, later);
    Map<?, ?> told = read(usage);
    assertEquals(1.5, told.get("cores"));
    assertEquals(200.0, told.get("machine_cpu_ms"));
    assertFalse(told.containsKey("machine"));
  }

  @Test
  void whereTheSystemDoesNotTellNothingIsToldAndNothingFails() throws IOException {
    Files.delete(root.resolve("proc/stat"));
    WorkerUsage usage = new WorkerUsage(root);
    assertNull(read(usage));
    assertNull(read(usage));
  }

  @Test
  void thisMachineTells() throws Exception {
    WorkerUsage usage = new WorkerUsage(Paths.get("/"));
    read(usage);
    StormcutHookTest.burn(200);
    Map<?, ?> told = read(usage);
    assertTrue((Double) told.get("cpu_ms") >= 100);
    assertTrue((Double) told.get("cores") > 0);
    assertTrue((Double) told.get("machine_cpu_ms") >= 100);
  }

  private static Map<?, ?> read(WorkerUsage usage) {
    StringBuilder json = new StringBuilder("{\"v\":1");
    usage.appendTo(json);
    return (Map<?, ?>) ((Map<?, ?>) JSONValue.parse(json.append('}').toString())).get("worker");
  }

  private static String dev(long in, long out) {
    return "Inter-| Receive\n face |bytes\n    lo: 7 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n  eth0: "
        + in
        + " 1 0 0 0 0 0 0 "
        + out
        + " 1 0 0 0 0 0 0\n";
  }

  private void write(String file, String text) throws IOException {
    Path path = root.resolve(file);
    Files.createDirectories(path.getParent());
    Files.write(path, text.getBytes(StandardCharsets.UTF_8));
  }
}
