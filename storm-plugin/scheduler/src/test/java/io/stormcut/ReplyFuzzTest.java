package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stormcut.protocol.ClusterState;
import io.stormcut.protocol.Plan;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Arrays;
import java.util.Random;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.transport.TMemoryBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a brain that knows the secret may answer, 10,000 times: a plan, or trouble, in little memory. */
@Timeout(300)
class ReplyFuzzTest {
  private static final int MESSAGES = 10_000;
  private static final int MOST_BYTES = 1 << 16;
  /** A reply, its copies, and what is decoded of it. */
  private static final long MOST_ALLOCATED = 64L * MOST_BYTES;

  private final Seal seal = new Seal(TestZooKeeper.CREDENTIALS);
  private final Random random = new Random(13);
  private final ClusterState state = new ClusterState(1, "f", Arrays.asList(), Arrays.asList());
  private final com.sun.management.ThreadMXBean threads =
      (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
  private byte[] whole;

  @Test
  void mutatedReplies() throws Exception {
    TMemoryBuffer buffer = new TMemoryBuffer(1 << 12);
    Plan plan = Plans.plan("f", Plans.topology("a", Plans.worker("n", 1, 1, 2, 3)));
    io.stormcut.protocol.Brain.plan_result result = new io.stormcut.protocol.Brain.plan_result();
    result.setSuccess(plan);
    TBinaryProtocol protocol = new TBinaryProtocol(buffer);
    protocol.writeMessageBegin(
        new org.apache.thrift.protocol.TMessage("plan", org.apache.thrift.protocol.TMessageType.REPLY, 1));
    result.write(protocol);
    whole = Arrays.copyOf(buffer.getArray(), buffer.length());
    int understood = 0;
    int troubles = 0;
    long most = 0;
    try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      Thread brain = new Thread(() -> answer(server));
      brain.setDaemon(true);
      brain.start();
      Leader leader = Leader.parse(
          ("{\"version\": 1, \"id\": \"b\", \"host\": \"127.0.0.1\", \"port\": "
              + server.getLocalPort() + "}").getBytes("UTF-8"));
      for (int message = 0; message < MESSAGES; message++) {
        long before = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
        try (BrainClient client =
            new BrainClient(leader, seal, MOST_BYTES, 60_000, 60_000, null)) {
          client.ask(state);
          understood++;
        } catch (BrainTrouble named) {
          troubles++;
        }
        long after = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
        most = Math.max(most, after - before);
      }
    }
    assertTrue(most < MOST_ALLOCATED, most + " bytes for one answer");
    assertTrue(understood > 100 && troubles > MESSAGES / 2, understood + " and " + troubles);
  }

  private void answer(ServerSocket server) {
    while (!server.isClosed()) {
      try (Socket client = server.accept()) {
        DataInputStream in = new DataInputStream(client.getInputStream());
        byte[] request = new byte[in.readInt()];
        in.readFully(request);
        byte[] reply = Damage.of(whole, random);
        DataOutputStream out = new DataOutputStream(client.getOutputStream());
        out.writeInt(Seal.REPLY_HEADER_BYTES + reply.length);
        out.write(new byte[] {'S', 'C', 'T', 2});
        out.write(seal.mac("reply", Arrays.copyOfRange(request, 12, 28), reply));
        out.write(reply);
      } catch (java.io.IOException closed) {
        continue;
      }
    }
  }
}
