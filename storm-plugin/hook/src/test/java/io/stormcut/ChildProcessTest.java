package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Paths;
import java.util.Map;
import org.apache.storm.shade.org.json.simple.JSONValue;
import org.junit.jupiter.api.Test;

class ChildProcessTest {
  @Test
  void ownProcessIsReadAndItsCpuIsADifference() throws Exception {
    long pid = Long.parseLong(Paths.get("/proc/self").toRealPath().getFileName().toString());
    assertNull(ChildProcess.of(70, null));
    ChildProcess.started(70, pid);
    ChildProcess process = ChildProcess.of(70, null);
    Map<?, ?> first = read(process);
    assertEquals(pid, first.get("pid"));
    assertTrue((Long) first.get("cpu_ms") > 0);
    assertTrue((Long) first.get("rss_bytes") > 10_000_000);
    StormcutHookTest.burn(100);
    long spent = (Long) read(process).get("cpu_ms");
    assertTrue(spent >= 80 && spent < 5000, "spent " + spent);
    assertEquals(process, ChildProcess.of(70, process));
  }

  @Test
  void namesWithBlanksAndBrackets() {
    String stat = "7 (a ) b) S 1 7 7 0 -1 4194304 10 0 0 0 250 50 0 0 20 0 1 0 5 6 7";
    assertEquals(300, ChildProcess.cpuTicks(stat));
    assertEquals(812, ChildProcess.rssKilobytes("Name:\tsh\nVmRSS:\t     812 kB\nThreads:\t1\n"));
    assertThrows(RuntimeException.class, () -> ChildProcess.rssKilobytes("State:\tZ (zombie)\n"));
  }

  private static Map<?, ?> read(ChildProcess process) {
    StringBuilder json = new StringBuilder("{\"v\":1");
    process.appendSince(json);
    return (Map<?, ?>) ((Map<?, ?>) JSONValue.parse(json.append('}').toString())).get("child");
  }
}
