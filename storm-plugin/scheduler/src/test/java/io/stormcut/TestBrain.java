package io.stormcut;

import io.stormcut.protocol.Brain;
import io.stormcut.protocol.ClusterState;
import io.stormcut.protocol.Evidence;
import io.stormcut.protocol.Health;
import io.stormcut.protocol.LastState;
import io.stormcut.protocol.Plan;
import io.stormcut.protocol.Refusal;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.TTransportException;
import org.apache.thrift.transport.layered.TFramedTransport;

/** A real Thrift server of the protocol; its answers come from a function. */
final class TestBrain implements AutoCloseable {
  /** What a brain thinks. */
  interface Mind {
    Plan plan(ClusterState state) throws Exception;
  }

  private final TServerSocket socket;
  private final TThreadPoolServer server;
  private volatile Mind mind;

  TestBrain(Mind mind) throws TTransportException {
    this.mind = mind;
    socket = new TServerSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    server =
        new TThreadPoolServer(
            new TThreadPoolServer.Args(socket)
                .processor(new Brain.Processor<>(new Handler()))
                .transportFactory(new TFramedTransport.Factory())
                .protocolFactory(new TBinaryProtocol.Factory()));
    Thread thread = new Thread(server::serve, "brain");
    thread.setDaemon(true);
    thread.start();
  }

  int port() {
    return socket.getServerSocket().getLocalPort();
  }

  void think(Mind other) {
    mind = other;
  }

  @Override
  public void close() {
    server.stop();
    socket.close();
  }

  private final class Handler implements Brain.Iface {
    @Override
    public Plan plan(ClusterState state) throws TException {
      try {
        return mind.plan(state);
      } catch (Refusal refusal) {
        throw refusal;
      } catch (Exception failure) {
        throw new TException(failure);
      }
    }

    @Override
    public Health health() {
      return new Health(1, "test", true, 0, 0);
    }

    @Override
    public LastState last_state() {
      throw new UnsupportedOperationException("Nimbus never asks this");
    }

    @Override
    public String preview(Evidence evidence) {
      throw new UnsupportedOperationException("Nimbus never asks this");
    }
  }
}
