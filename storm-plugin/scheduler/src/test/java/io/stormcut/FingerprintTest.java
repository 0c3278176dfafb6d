package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.stormcut.protocol.ClusterState;
import io.stormcut.protocol.Executor;
import io.stormcut.protocol.Supervisor;
import io.stormcut.protocol.Topology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class FingerprintTest {
  /** Computed in Python from the rule of docs/protocol.md; sorting by UTF-16 would differ. */
  @Test
  void agreesWithPython() {
    List<Supervisor> supervisors =
        Arrays.asList(
            node("node-\uD83D\uDE00", 10000, 6800),
            node("node-ü", 6701, 6700),
            node("node-\uFF5E", 6900),
            node("node-a"),
            limited("node-b", 400.0, 0.1));
    List<Topology> topologies =
        Arrays.asList(
            topology("z-2-1700000001", new Executor(1, 1, "spout")),
            topology(
                "fahrten-ß-1-1700000000",
                new Executor(5, 6, "zähler"),
                new Executor(1, 1, "__acker"),
                new Executor(2, 4, "count")));
    assertEquals(
        "da4ceb7157febf2a16217827c528cdf4751c80303b4a253aaddb6523d7c40f75",
        Fingerprint.of(new ClusterState(1, "", supervisors, topologies)));
  }

  @Test
  void ofNothingIsTheHashOfNoText() {
    assertEquals(
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        Fingerprint.of(new ClusterState(1, "", new ArrayList<>(), new ArrayList<>())));
  }

  private static Supervisor node(String id, Integer... ports) {
    return new Supervisor(id, "host", Arrays.asList(ports), Collections.emptyMap());
  }

  private static Supervisor limited(String id, double cpuPercent, double memoryMb) {
    Map<String, String> meta = new HashMap<>();
    meta.put("stormcut.rack", "r1");
    meta.put("a", "ä");
    Supervisor limited = new Supervisor(id, "host", Arrays.asList(1), meta);
    return limited.setCpu_percent(cpuPercent).setMemory_mb(memoryMb);
  }

  private static Topology topology(String id, Executor... executors) {
    return new Topology(
        id, "name", 1, Arrays.asList(executors), new ArrayList<>(), new ArrayList<>());
  }
}
