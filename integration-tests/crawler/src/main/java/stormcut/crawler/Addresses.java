package stormcut.crawler;

import com.digitalpebble.stormcrawler.Metadata;
import java.util.Map;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.Utils;

/** Emits addresses of the hosts in turn, none of them twice; `crawler.rate` URLs/s, 0: all it may. */
public final class Addresses extends BaseRichSpout {
  private static final long NS = 1_000_000_000L;
  private static final long LATE_NS = NS / 5;

  private SpoutOutputCollector collector;
  private String prefix;
  private long hosts;
  private long next;
  private long gap;
  private long due;

  @Override
  public void open(Map conf, TopologyContext context, SpoutOutputCollector collector) {
    this.collector = collector;
    prefix = (String) conf.get("crawler.prefix");
    hosts = ((Number) conf.get("crawler.hosts")).longValue();
    double rate = ((Number) conf.get("crawler.rate")).doubleValue();
    gap = rate > 0 ? (long) (NS / rate) : 0;
    next = context.getThisTaskIndex() * NS;
  }

  @Override
  public void nextTuple() {
    if (gap > 0) {
      long now = System.nanoTime();
      if (now < due) {
        Utils.sleep(1);
        return;
      }
      due = Math.max(due, now - LATE_NS) + gap;
    }
    String url = prefix + (1 + next % hosts) + ":" + Crawl.PORT + "/p/" + next++;
    collector.emit(new Values(url, new Metadata()), url);
  }

  @Override
  public void declareOutputFields(OutputFieldsDeclarer declarer) {
    declarer.declare(new Fields("url", "metadata"));
  }
}
