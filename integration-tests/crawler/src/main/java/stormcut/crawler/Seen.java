package stormcut.crawler;

import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;

/** Takes what became of an address, and forgets it. */
public final class Seen extends BaseRichBolt {
  private OutputCollector collector;

  @Override
  public void prepare(Map conf, TopologyContext context, OutputCollector collector) {
    this.collector = collector;
  }

  @Override
  public void execute(Tuple status) {
    collector.ack(status);
  }

  @Override
  public void declareOutputFields(OutputFieldsDeclarer declarer) {}
}
