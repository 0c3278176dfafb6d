package io.stormcut;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.hooks.info.BoltExecuteInfo;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.hooks.info.SpoutAckInfo;
import org.apache.storm.hooks.info.SpoutFailInfo;
import org.apache.storm.task.TopologyContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Measures one task: `topology.auto.task.hooks: ["io.stormcut.StormcutHook"]`.
 *
 * <p>It never throws: a failure is logged once and costs a number, not the worker.
 */
public class StormcutHook extends BaseTaskHook {
  static final String METRIC = "stormcut";

  private static final Logger LOG = LoggerFactory.getLogger(StormcutHook.class);
  private static final AtomicBoolean COMPLAINED = new AtomicBoolean();

  /** Null: nothing is measured. */
  private TaskMetric metric;

  @Override
  public void prepare(Map conf, TopologyContext context) {
    try {
      // Storm's own bookkeeping task of each worker, with id -1, is not scheduled.
      if (context.getThisTaskId() < 0) {
        return;
      }
      Map<?, ?> settings = conf == null ? new HashMap<>() : conf;
      HookConfig config = new HookConfig(settings);
      TaskMetric prepared = new TaskMetric(context, config, settings);
      context.registerMetric(METRIC, prepared, config.intervalSecs);
      metric = prepared;
    } catch (Throwable failure) {
      LOG.error("stormcut: a task cannot be measured", failure);
      return;
    }
    try {
      metric.switchBy(new HookSwitch(context, this));
    } catch (Throwable failure) {
      LOG.warn("stormcut: a task is measured all the time, also while it is busy", failure);
    }
  }

  @Override
  public void emit(EmitInfo info) {
    if (metric == null) {
      return;
    }
    try {
      metric.tally().emitted(info.values, info.outTasks);
    } catch (Throwable failure) {
      complain(failure);
    }
  }

  @Override
  public void boltExecute(BoltExecuteInfo info) {
    count(Tally.EXECUTED, 1);
  }

  @Override
  public void spoutAck(SpoutAckInfo info) {
    count(Tally.ACKED, 1);
    if (info.completeLatencyMs != null) { // only sampled tuples have one
      count(Tally.COMPLETE_MS, info.completeLatencyMs);
      count(Tally.COMPLETE_SAMPLES, 1);
    }
  }

  @Override
  public void spoutFail(SpoutFailInfo info) {
    count(Tally.FAILED, 1);
  }

  private void count(int total, long amount) {
    if (metric == null) {
      return;
    }
    try {
      metric.tally().add(total, amount);
    } catch (Throwable failure) {
      complain(failure);
    }
  }

  static void complain(Throwable failure) {
    if (COMPLAINED.compareAndSet(false, true)) {
      LOG.error("stormcut: measuring failed (said once)", failure);
    }
  }
}
