package stormcut.crawler;

import com.digitalpebble.stormcrawler.Metadata;
import com.digitalpebble.stormcrawler.bolt.FetcherBolt;
import com.digitalpebble.stormcrawler.bolt.JSoupParserBolt;
import com.digitalpebble.stormcrawler.bolt.SiteMapParserBolt;
import com.digitalpebble.stormcrawler.bolt.URLPartitionerBolt;
import com.digitalpebble.stormcrawler.indexing.DummyIndexer;
import com.digitalpebble.stormcrawler.persistence.Status;
import java.util.ArrayList;
import java.util.Collections;
import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;

/**
 * Submits a crawl of StormCrawler's bolts: NAME PARALLELISM WORKERS RATE NIMBUS_HOST NIMBUS_PORT
 * [PREFIX]. Pages are those of PREFIX1 to PREFIX40, this machine's without one.
 */
public final class Crawl {
  static final int PORT = 18_088;
  private static final int HOSTS = 40;
  private static final int PENDING = 50;

  private Crawl() {}

  public static void main(String[] arguments) throws Exception {
    int parallelism = Integer.parseInt(arguments[1]);
    Fields url = new Fields("url");
    TopologyBuilder builder = new TopologyBuilder();
    builder.setSpout("spout", new Addresses(), 2);
    builder.setBolt("partitioner", new URLPartitionerBolt(), parallelism).shuffleGrouping("spout");
    builder.setBolt("fetch", new FetcherBolt(), parallelism)
        .fieldsGrouping("partitioner", new Fields("key"));
    builder.setBolt("sitemap", new SiteMapParserBolt(), parallelism).localOrShuffleGrouping("fetch");
    builder.setBolt("parse", new JSoupParserBolt(), parallelism).localOrShuffleGrouping("sitemap");
    builder.setBolt("index", new DummyIndexer(), parallelism).localOrShuffleGrouping("parse");
    builder.setBolt("status", new Seen(), parallelism)
        .fieldsGrouping("fetch", "status", url)
        .fieldsGrouping("sitemap", "status", url)
        .fieldsGrouping("parse", "status", url)
        .fieldsGrouping("index", "status", url);
    String prefix = arguments.length > 6 ? arguments[6] : "http://127.0.1.";
    Config config = config(Double.parseDouble(arguments[3]), prefix);
    config.setNumWorkers(Integer.parseInt(arguments[2]));
    config.put(Config.NIMBUS_SEEDS, Collections.singletonList(arguments[4]));
    config.put(Config.NIMBUS_THRIFT_PORT, Integer.parseInt(arguments[5]));
    StormSubmitter.submitTopology(arguments[0], config, builder.createTopology());
  }

  private static Config config(double rate, String prefix) {
    Config config = new Config();
    config.setMaxSpoutPending(PENDING);
    config.registerSerialization(Metadata.class);
    config.registerSerialization(Status.class);
    config.put("crawler.prefix", prefix);
    config.put("crawler.hosts", HOSTS);
    config.put("crawler.rate", rate);
    config.put("fetcher.server.delay", 0.0);
    config.put("fetcher.server.min.delay", 0.0);
    config.put("fetcher.threads.number", 10);
    config.put("fetcher.threads.per.queue", 10);
    config.put("partition.url.mode", "byHost");
    config.put("http.agent.name", "test");
    config.put("http.agent.version", "1");
    config.put("http.agent.description", "test");
    config.put("http.agent.url", "http://localhost");
    config.put("http.agent.email", "test@localhost");
    String http = "com.digitalpebble.stormcrawler.protocol.httpclient.HttpProtocol";
    config.put("http.protocol.implementation", http);
    config.put("https.protocol.implementation", http);
    config.put("http.content.limit", 200_000);
    config.put("http.store.headers", false);
    config.put("http.timeout", 10_000);
    config.put("http.skip.robots", true);
    config.put("parser.emitOutlinks", true);
    config.put("parser.emitOutlinks.max.per.page", 20);
    config.put("sitemap.discovery", false);
    config.put("urlfilters.config.file", "");
    config.put("parsefilters.config.file", "");
    config.put("metadata.persist", new ArrayList<String>());
    config.put("metadata.transfer", new ArrayList<String>());
    config.put("metadata.track.path", false);
    config.put("metadata.track.depth", false);
    return config;
  }
}
