package io.stormcut.topologies;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the tasks of the model-driven topologies yield; the Python ones yield the same. */
class TaskTest {
  @TempDir Path folder;
  private final Chain chain =
      new Chain()
          .with("rig.xml.orders", 20)
          .with("rig.pi.repeats", 2)
          .with("rig.file.batch", 3)
          .with("rig.blob.bytes", 1000)
          .with("rig.blob.delay.ms", 0.0)
          .with("rig.blob.per.second", 0.0)
          .with("rig.blobs", "127.0.0.1:1")
          .with("rig.redis", "127.0.0.1:1")
          .with("rig.table.rows", 100)
          .with("rig.table.delay.ms", 0.0);

  private <T extends Task> T prepared(T task) {
    task.prepare(chain.options(), 4);
    return task;
  }

  @Test
  void aDocumentYieldsTheSumOfItsAmounts() throws Unavailable {
    XmlParse parse = prepared(new XmlParse());
    for (long number : new long[] {0, 5, 64 + 5}) {
      long expected = 0;
      for (int at = 0; at < 20; at++) {
        expected += (number % 64 * 31 + at * 7) % 100;
      }
      assertEquals(expected, parse.work(number));
    }
  }

  @Test
  void piYieldsItsFirstDigits() {
    assertEquals(3141, prepared(new Pi()).work(7));
  }

  @Test
  void everyLineHasAHundredBytesAlsoBeyondABatch() {
    BatchedWrite write = prepared(new BatchedWrite());
    for (int number = 0; number < 7; number++) {
      assertEquals(100, write.work(number));
    }
  }

  @Test
  void anObjectIsReadToItsEnd() throws IOException, Unavailable {
    List<String> clients = Collections.synchronizedList(new ArrayList<>());
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          clients.add(exchange.getRequestHeaders().getFirst("X-Client"));
          String query = exchange.getRequestURI().getQuery();
          int bytes = Integer.parseInt(query.replaceAll(".*bytes=(\\d+).*", "$1"));
          exchange.sendResponseHeaders(200, bytes);
          exchange.getResponseBody().write(new byte[bytes]);
          exchange.close();
        });
    server.start();
    try {
      chain.with("rig.blobs", "127.0.0.1:" + server.getAddress().getPort());
      assertEquals(1000 + 21 % 16, prepared(new BlobDownload()).work(21));
      assertTrue(clients.get(0).contains("@"), "a worker names itself: " + clients);
    } finally {
      server.stop(0);
    }
  }

  @Test
  void whatDoesNotAnswerIsUnavailable() {
    assertThrows(Unavailable.class, () -> prepared(new BlobDownload()).work(0));
    assertThrows(Unavailable.class, () -> prepared(new TableQuery()).work(0));
  }

  @Test
  void aSteeredSourceFollowsItsFile() throws IOException, InterruptedException {
    chain.with("rig.results", folder.toString());
    SourceBench emitted = new SourceBench(new TrialSource(), chain, 2);
    for (String rate : new String[] {"500", "1000", "0"}) {
      Files.write(folder.resolve("rate"), rate.getBytes(StandardCharsets.UTF_8));
      int before = emitted.ids.size();
      long begin = System.nanoTime();
      while (System.nanoTime() - begin < 1_000_000_000L) {
        emitted.source.nextTuple();
        Thread.sleep(1);
      }
      // Two sources share the rate; a file is looked at every 200 ms.
      double most = Double.parseDouble(rate) / 2 * 1.3 + 100;
      int found = emitted.ids.size() - before;
      assertTrue(found <= most, rate + "/s: " + found);
      assertTrue(rate.equals("0") || found > 0, rate + "/s: " + found);
    }
    assertEquals(emitted.ids.size(), emitted.ids.stream().distinct().count(), "no number twice");
    for (int at = 0; at < emitted.ids.size(); at++) {
      assertEquals(0L, emitted.values.get(at).get(0));
      assertEquals((Long) emitted.ids.get(at) % 5000, emitted.values.get(at).get(1));
    }
  }
}
