package stormcut.crawler;

import com.sun.net.httpserver.HttpServer;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

/** Serves one page of 60 links for every address, on all of this machine's loopback addresses. */
public final class Pages {
  private static final int LINKS = 60;
  private static final int WORDS = 4000;

  private Pages() {}

  public static void main(String[] arguments) throws Exception {
    HttpServer server = HttpServer.create(new InetSocketAddress("0.0.0.0", Integer.parseInt(arguments[0])), 0);
    byte[] page = page().getBytes(StandardCharsets.UTF_8);
    server.createContext("/", exchange -> {
      exchange.getResponseHeaders().set("Content-Type", "text/html");
      exchange.sendResponseHeaders(200, page.length);
      try (OutputStream body = exchange.getResponseBody()) {
        body.write(page);
      }
    });
    server.setExecutor(Executors.newFixedThreadPool(16));
    server.start();
    System.out.println("serves " + page.length + " bytes");
  }

  private static String page() {
    StringBuilder text = new StringBuilder("<html><head><title>a page</title></head><body>");
    for (int link = 0; link < LINKS; link++) {
      text.append("<p><a href=\"/p/").append(link).append("\">link ").append(link).append("</a></p>");
    }
    for (int word = 0; word < WORDS; word++) {
      text.append("word").append(word % 89).append(' ');
    }
    return text.append("</body></html>").toString();
  }
}
