package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.ConnectException;
import java.net.InetAddress;
import java.net.Socket;
import org.junit.jupiter.api.Test;

/** A test that ends its brain relies on nobody being answered after that. */
class TestBrainTest {
  @Test
  void aClosedBrainIsNotReached() throws Exception {
    int reached = 0;
    for (int time = 0; time < 200; time++) {
      TestBrain brain = new TestBrain(state -> null);
      Thread.sleep(0, 300_000);
      int port = brain.port();
      brain.close();
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
        reached++;
      } catch (ConnectException refused) {
        continue;
      }
    }
    assertEquals(0, reached);
  }
}
