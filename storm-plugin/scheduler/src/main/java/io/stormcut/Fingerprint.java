package io.stormcut;

import io.stormcut.protocol.ClusterState;
import io.stormcut.protocol.Executor;
import io.stormcut.protocol.Supervisor;
import io.stormcut.protocol.Topology;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/** Names a cluster's nodes, slots, capacities and executors, whatever runs where: docs/protocol.md. */
final class Fingerprint {
  private static final Comparator<String> BY_UTF8 = Fingerprint::compareUtf8;

  private Fingerprint() {}

  static String of(ClusterState state) {
    StringBuilder text = new StringBuilder();
    List<Supervisor> supervisors = new ArrayList<>(state.getSupervisors());
    supervisors.sort(Comparator.comparing(Supervisor::getId, BY_UTF8));
    for (Supervisor supervisor : supervisors) {
      appendNode(supervisor, text);
    }
    List<Topology> topologies = new ArrayList<>(state.getTopologies());
    topologies.sort(Comparator.comparing(Topology::getId, BY_UTF8));
    for (Topology topology : topologies) {
      text.append("topology ").append(topology.getId()).append('\n');
      appendExecutors(topology, text);
    }
    return sha256(text.toString().getBytes(StandardCharsets.UTF_8));
  }

  /** Lower-case hexadecimal SHA-256. */
  static String sha256(byte[] content) {
    try {
      return hexadecimal(MessageDigest.getInstance("SHA-256").digest(content));
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("every Java platform has SHA-256", impossible);
    }
  }

  static String hexadecimal(byte[] content) {
    StringBuilder digits = new StringBuilder(2 * content.length);
    for (byte value : content) {
      digits.append(Character.forDigit(value >> 4 & 0xf, 16));
      digits.append(Character.forDigit(value & 0xf, 16));
    }
    return digits.toString();
  }

  private static void appendNode(Supervisor supervisor, StringBuilder text) {
    text.append("node ").append(supervisor.getId()).append(' ').append(ports(supervisor));
    text.append(' ').append(supervisor.isSetCpu_percent() ? bits(supervisor.getCpu_percent()) : "-");
    text.append(' ').append(supervisor.isSetMemory_mb() ? bits(supervisor.getMemory_mb()) : "-");
    text.append('\n');
    List<String> keys = new ArrayList<>(supervisor.getMeta().keySet());
    keys.sort(BY_UTF8);
    for (String key : keys) {
      text.append("meta ").append(key).append('=').append(supervisor.getMeta().get(key));
      text.append('\n');
    }
  }

  /** As IEEE 754 bits, which all languages write alike. */
  private static String bits(double amount) {
    return String.format("%016x", Double.doubleToLongBits(amount));
  }

  private static String ports(Supervisor supervisor) {
    List<Integer> ports = new ArrayList<>(supervisor.getPorts());
    Collections.sort(ports);
    List<String> texts = new ArrayList<>();
    for (int port : ports) {
      texts.add(Integer.toString(port));
    }
    return String.join(",", texts);
  }

  private static void appendExecutors(Topology topology, StringBuilder text) {
    List<Executor> executors = new ArrayList<>(topology.getExecutors());
    executors.sort(Comparator.comparingInt(Executor::getStart_task));
    for (Executor executor : executors) {
      text.append("executor ").append(executor.getStart_task()).append(' ');
      text.append(executor.getEnd_task()).append(' ');
      text.append(executor.getComponent()).append('\n');
    }
  }

  /** Unlike String's own order, which compares UTF-16 units. */
  private static int compareUtf8(String left, String right) {
    byte[] a = left.getBytes(StandardCharsets.UTF_8);
    byte[] b = right.getBytes(StandardCharsets.UTF_8);
    for (int at = 0; at < Math.min(a.length, b.length); at++) {
      int difference = (a[at] & 0xff) - (b[at] & 0xff);
      if (difference != 0) {
        return difference;
      }
    }
    return a.length - b.length;
  }
}
