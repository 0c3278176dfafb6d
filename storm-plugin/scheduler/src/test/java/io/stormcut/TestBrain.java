package io.stormcut;

import io.stormcut.protocol.Brain;
import io.stormcut.protocol.ClusterState;
import io.stormcut.protocol.Evidence;
import io.stormcut.protocol.Health;
import io.stormcut.protocol.LastState;
import io.stormcut.protocol.Plan;
import io.stormcut.protocol.Refusal;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.transport.TMemoryBuffer;
import org.apache.thrift.transport.TMemoryInputTransport;

/** A real server of the protocol; its answers come from a function. */
final class TestBrain implements AutoCloseable {
  /** What a brain thinks. */
  interface Mind {
    Plan plan(ClusterState state) throws Exception;
  }

  private static final int MAC_AT = 4 + 8 + 16;
  private static final int PAYLOAD_AT = MAC_AT + 2 * 32;

  private final ServerSocket socket;
  private final Seal seal;
  private final Thread listener;
  private volatile Mind mind;

  TestBrain(Mind mind) throws IOException {
    this(mind, TestZooKeeper.CREDENTIALS);
  }

  TestBrain(Mind mind, String credentials) throws IOException {
    this.mind = mind;
    this.seal = new Seal(credentials);
    this.socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    this.listener = daemon(this::accept);
  }

  private static Thread daemon(Runnable work) {
    Thread thread = new Thread(work, "brain");
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  int port() {
    return socket.getLocalPort();
  }

  void think(Mind other) {
    mind = other;
  }

  /** Whoever connects after it is refused: the socket listens until its last accept has ended. */
  @Override
  public void close() {
    try {
      socket.close();
      listener.join();
    } catch (IOException already) {
      return;
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void accept() {
    while (!socket.isClosed()) {
      try {
        Socket client = socket.accept();
        daemon(() -> serve(client));
      } catch (IOException closed) {
        return;
      }
    }
  }

  private void serve(Socket client) {
    try (Socket connection = client) {
      DataInputStream in = new DataInputStream(connection.getInputStream());
      byte[] request = new byte[in.readInt()];
      in.readFully(request);
      byte[] nonce = Arrays.copyOfRange(request, 12, MAC_AT);
      byte[] payload = Arrays.copyOfRange(request, PAYLOAD_AT, request.length);
      long time = ByteBuffer.wrap(request, 4, 8).getLong();
      if (!Arrays.equals(request, seal.request("b", time, nonce, payload))) {
        return;
      }
      byte[] answer = answer(payload);
      byte[] mac = seal.mac("reply", nonce, answer);
      DataOutputStream out = new DataOutputStream(connection.getOutputStream());
      out.writeInt(Seal.REPLY_HEADER_BYTES + answer.length);
      out.write(new byte[] {'S', 'C', 'T', 2});
      out.write(mac);
      out.write(answer);
    } catch (IOException | TException hungUp) {
      return;
    }
  }

  private byte[] answer(byte[] payload) throws TException {
    TMemoryBuffer answer = new TMemoryBuffer(1 << 10);
    new Brain.Processor<>(new Handler())
        .process(
            new TBinaryProtocol(new TMemoryInputTransport(payload)), new TBinaryProtocol(answer));
    return Arrays.copyOf(answer.getArray(), answer.length());
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

    @Override
    public String outlook() {
      throw new UnsupportedOperationException("Nimbus never asks this");
    }
  }
}
