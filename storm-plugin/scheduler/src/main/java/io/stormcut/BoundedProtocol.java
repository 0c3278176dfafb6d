package io.stormcut;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TList;
import org.apache.thrift.protocol.TMap;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.protocol.TProtocolException;
import org.apache.thrift.protocol.TProtocolFactory;
import org.apache.thrift.protocol.TSet;
import org.apache.thrift.transport.TTransport;

/**
 * Thrift's binary protocol over a message in memory; a count is believed only if so many elements
 * or bytes may follow. Thrift's own takes a struct for nothing, and makes room for two billions of
 * them, or for a text of 100 MB.
 */
final class BoundedProtocol extends TBinaryProtocol {
  BoundedProtocol(TTransport message) {
    super(message);
  }

  static TProtocolFactory factory() {
    return new Factory();
  }

  @Override
  public TList readListBegin() throws TException {
    TList list = super.readListBegin();
    check(list.size);
    return list;
  }

  @Override
  public TSet readSetBegin() throws TException {
    TSet set = super.readSetBegin();
    check(set.size);
    return set;
  }

  @Override
  public TMap readMapBegin() throws TException {
    TMap map = super.readMapBegin();
    check(map.size);
    return map;
  }

  @Override
  public String readString() throws TException {
    return new String(readBytes(), StandardCharsets.UTF_8);
  }

  @Override
  public ByteBuffer readBinary() throws TException {
    return ByteBuffer.wrap(readBytes());
  }

  private byte[] readBytes() throws TException {
    int size = readI32();
    check(size);
    byte[] bytes = new byte[size];
    getTransport().readAll(bytes, 0, size);
    return bytes;
  }

  private void check(int count) throws TProtocolException {
    if (count < 0 || count > getTransport().getBytesRemainingInBuffer()) {
      throw new TProtocolException(
          TProtocolException.SIZE_LIMIT, "it announces " + count + " elements, which cannot follow");
    }
  }

  private static final class Factory implements TProtocolFactory {
    private static final long serialVersionUID = 1L;

    @Override
    public TProtocol getProtocol(TTransport message) {
      return new BoundedProtocol(message);
    }
  }
}
