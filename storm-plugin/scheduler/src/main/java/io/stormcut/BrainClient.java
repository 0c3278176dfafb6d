package io.stormcut;

import io.stormcut.protocol.Brain;
import io.stormcut.protocol.ClusterState;
import io.stormcut.protocol.Plan;
import io.stormcut.protocol.Refusal;
import org.apache.thrift.TConfiguration;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransportException;
import org.apache.thrift.transport.layered.TFramedTransport;

/** One request to a brain: framed transport, binary protocol, limits on time and size. */
final class BrainClient implements AutoCloseable {
  private final Leader leader;
  private final int mostBytes;
  private final TSocket socket;

  /** `mostBytes` is how long an answer may be. */
  BrainClient(Leader leader, int mostBytes, int connectTimeoutMs, int readTimeoutMs)
      throws BrainTrouble {
    this.leader = leader;
    this.mostBytes = mostBytes;
    TConfiguration limits =
        TConfiguration.custom().setMaxMessageSize(mostBytes).setMaxFrameSize(mostBytes).build();
    try {
      socket = new TSocket(limits, leader.host, leader.port, readTimeoutMs, connectTimeoutMs);
    } catch (TTransportException trouble) {
      throw trouble(trouble);
    }
  }

  Plan ask(ClusterState state) throws BrainTrouble {
    try {
      TFramedTransport framed = new TFramedTransport(socket, mostBytes);
      framed.open();
      return new Brain.Client(new TBinaryProtocol(framed)).plan(state);
    } catch (Refusal refusal) {
      throw new BrainTrouble("the brain at " + leader + " refuses: " + refusal.getReason());
    } catch (TTransportException trouble) {
      throw trouble(trouble);
    } catch (TException | RuntimeException garbage) {
      throw new BrainTrouble(
          "the brain at " + leader + " answers garbage: " + garbage.getMessage());
    }
  }

  private BrainTrouble trouble(TTransportException trouble) {
    return new BrainTrouble(
        "the brain at " + leader + " cannot be talked to: " + trouble.getMessage());
  }

  /** From any thread: a request under way then fails. */
  @Override
  public void close() {
    socket.close();
  }
}
