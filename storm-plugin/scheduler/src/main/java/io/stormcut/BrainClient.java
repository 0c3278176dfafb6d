package io.stormcut;

import io.stormcut.protocol.Brain;
import io.stormcut.protocol.ClusterState;
import io.stormcut.protocol.Plan;
import io.stormcut.protocol.Refusal;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import org.apache.thrift.TConfiguration;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.transport.TMemoryBuffer;
import org.apache.thrift.transport.TMemoryInputTransport;

/** One request to a brain: framed, sealed, binary protocol; limits on time and size. */
final class BrainClient implements AutoCloseable {
  private final Leader leader;
  private final Seal seal;
  private final int mostBytes;
  private final int connectTimeoutMs;
  private final Path tlsFolder;
  /** Ends whatever goes on over it, TLS too, which would first say goodbye. */
  private final Socket socket = new Socket();

  /** `mostBytes` is how long an answer may be; without `tlsFolder` there is no TLS. */
  BrainClient(
      Leader leader,
      Seal seal,
      int mostBytes,
      int connectTimeoutMs,
      int readTimeoutMs,
      String tlsFolder)
      throws BrainTrouble {
    this.leader = leader;
    this.seal = seal;
    this.mostBytes = mostBytes;
    this.connectTimeoutMs = connectTimeoutMs;
    this.tlsFolder = tlsFolder == null ? null : Paths.get(tlsFolder);
    try {
      socket.setSoTimeout(readTimeoutMs);
    } catch (IOException trouble) {
      throw trouble(trouble);
    }
  }

  Plan ask(ClusterState state) throws BrainTrouble {
    try {
      TMemoryBuffer request = new TMemoryBuffer(1 << 16);
      TMemoryInputTransport answer = new TMemoryInputTransport(limits());
      Brain.Client client =
          new Brain.Client(new BoundedProtocol(answer), new TBinaryProtocol(request));
      client.send_plan(state);
      answer.reset(exchange(Arrays.copyOf(request.getArray(), request.length())));
      return client.recv_plan();
    } catch (Refusal refusal) {
      throw new BrainTrouble("the brain at " + leader + " refuses: " + refusal.getReason());
    } catch (EOFException hungUp) {
      throw new BrainTrouble("the brain at " + leader + " cannot be talked to: it hung up, its log says why"
          + (tlsFolder == null ? "; does it want TLS? " + ShimConfig.TLS_FOLDER + " is not set" : ""));
    } catch (IOException trouble) {
      throw trouble(trouble);
    } catch (TException | RuntimeException garbage) {
      throw new BrainTrouble(
          "the brain at " + leader + " answers garbage: " + garbage.getMessage());
    }
  }

  /** No text in an answer is longer than it. */
  private TConfiguration limits() {
    return TConfiguration.custom().setMaxMessageSize(mostBytes).build();
  }

  private byte[] exchange(byte[] payload) throws IOException, BrainTrouble {
    byte[] nonce = Seal.nonce();
    byte[] request = seal.request(leader.id, System.currentTimeMillis(), nonce, payload);
    socket.connect(new InetSocketAddress(leader.host, leader.port), connectTimeoutMs);
    Socket connection = tlsFolder == null ? socket : Tls.over(socket, tlsFolder);
    DataOutputStream out = new DataOutputStream(connection.getOutputStream());
    out.writeInt(request.length);
    out.write(request);
    out.flush();
    DataInputStream in = new DataInputStream(connection.getInputStream());
    int length = in.readInt();
    if (length < 0 || length > mostBytes + Seal.REPLY_HEADER_BYTES) {
      throw new BrainTrouble("the brain at " + leader + " announces an answer of " + length
          + " bytes, larger than any plan for this cluster: it is not read");
    }
    byte[] reply = new byte[length];
    in.readFully(reply);
    try {
      return seal.openReply(nonce, reply);
    } catch (BrainTrouble foreign) {
      throw new BrainTrouble("the brain at " + leader + " is not believed: " + foreign.getMessage());
    }
  }

  private BrainTrouble trouble(IOException trouble) {
    String what = trouble.getMessage() == null ? trouble.toString() : trouble.getMessage();
    return new BrainTrouble("the brain at " + leader + " cannot be talked to: " + what);
  }

  /** From any thread: a request under way then fails. */
  @Override
  public void close() {
    try {
      socket.close();
    } catch (IOException alreadyBroken) {
      return;
    }
  }
}
