package io.stormcut;

import io.stormcut.protocol.ClusterState;
import io.stormcut.protocol.Supervisor;
import io.stormcut.protocol.Topology;
import io.stormcut.protocol.stormcutConstants;
import java.nio.charset.StandardCharsets;

/** How large a plan can be that a cluster has a use for: more is not even read. */
final class PlanSize {
  /** Plan id, fingerprint, headers. */
  private static final int PLAN_BYTES = 1 << 16;
  /** Algorithm, headers and a reason of some pages, planned or declined. */
  private static final int TOPOLOGY_BYTES = 1 << 14;
  /** A worker of its own, but for the node's id. */
  private static final int EXECUTOR_BYTES = 64;

  private PlanSize() {}

  /** Bytes of Thrift's binary protocol. */
  static int most(ClusterState state) {
    long node = 0;
    for (Supervisor supervisor : state.getSupervisors()) {
      node = Math.max(node, bytes(supervisor.getId()));
    }
    long most = PLAN_BYTES;
    for (Topology topology : state.getTopologies()) {
      most += TOPOLOGY_BYTES + bytes(topology.getId());
      most += topology.getExecutorsSize() * (EXECUTOR_BYTES + node);
    }
    return (int) Math.min(most, stormcutConstants.MAX_MESSAGE_BYTES);
  }

  private static int bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8).length;
  }
}
