package io.stormcut.topologies;

import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.net.HttpURLConnection;
import java.net.URL;

/** Reads an object of an HTTP server into memory; yields its size. */
public class BlobDownload extends Task {
  private static final int OBJECTS = 16;
  private static final int TIMEOUT_MILLIS = 20_000;
  private static final String CLIENT = ManagementFactory.getRuntimeMXBean().getName();

  private transient String server;
  private transient int bytes;
  private transient String query;

  @Override
  void prepare(Options options, int task) {
    server = options.text("blobs");
    bytes = options.whole("blob.bytes");
    query = "delay_ms=" + options.number("blob.delay.ms") + "&per_second="
        + options.number("blob.per.second");
  }

  @Override
  long work(long number) throws Unavailable {
    long object = number % OBJECTS;
    String address = "http://" + server + "/" + object + "?bytes=" + (bytes + object) + "&" + query;
    try {
      HttpURLConnection connection = (HttpURLConnection) new URL(address).openConnection();
      connection.setConnectTimeout(TIMEOUT_MILLIS);
      connection.setReadTimeout(TIMEOUT_MILLIS);
      // What the server serves a second is limited for each worker.
      connection.setRequestProperty("X-Client", CLIENT);
      try (InputStream body = connection.getInputStream()) {
        return read(body, new byte[connection.getContentLength()]);
      }
    } catch (IOException error) {
      throw new Unavailable("no object from " + server, error);
    }
  }

  private static long read(InputStream body, byte[] object) throws IOException {
    int length = 0;
    int more;
    while ((more = body.read(object, length, object.length - length)) > 0) {
      length += more;
    }
    return length;
  }
}
