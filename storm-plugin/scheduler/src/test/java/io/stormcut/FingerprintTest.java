package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.stormcut.protocol.ClusterState;
import io.stormcut.protocol.Executor;
import io.stormcut.protocol.Supervisor;
import io.stormcut.protocol.Topology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
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
            node("node-a"));
    List<Topology> topologies =
        Arrays.asList(
            topology("z-2-1700000001", new Executor(1, 1, "spout")),
            topology(
                "fahrten-ß-1-1700000000",
                new Executor(5, 6, "zähler"),
                new Executor(1, 1, "__acker"),
                new Executor(2, 4, "count")));
    assertEquals(
        "950f039185ef376df47ac60fef18b80b19654152a63814df7daa8047c92925c8",
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

  private static Topology topology(String id, Executor... executors) {
    return new Topology(
        id, "name", 1, Arrays.asList(executors), new ArrayList<>(), new ArrayList<>());
  }
}
