package io.stormcut;

import io.stormcut.protocol.ClusterState;
import io.stormcut.protocol.Plan;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Gets plans on one background thread, so that whoever asks waits no longer than the deadline.
 *
 * <p>A request that outlives its round goes on, and its reply is kept for later rounds; one that
 * outlives {@link #PATIENCE} deadlines is cut off. There is never a second one beside it.
 */
final class PlanSource {
  /** In deadlines. */
  private static final int PATIENCE = 10;

  private final ShimConfig config;
  private final Warnings warnings;
  private final ZooKeeperReader zookeeper;
  private FutureTask<Plan> request;
  private Thread thread;
  private long startedNanos;
  private volatile BrainClient client;
  private volatile String awaited = "";
  private volatile Plan lastReply;
  private volatile Plan lastPublished;

  PlanSource(ShimConfig config, Warnings warnings) {
    this.config = config;
    this.warnings = warnings;
    this.zookeeper = new ZooKeeperReader(config);
  }

  /**
   * Ask the leading brain for a plan, at most as long as the deadline.
   *
   * @throws BrainTrouble if there is none in time, with the reason
   */
  synchronized Plan ask(ClusterState state) throws BrainTrouble, InterruptedException {
    // Not whether its thread lives: that ends a moment later.
    if (request != null && !request.isDone()) {
      long waitedMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startedNanos);
      if (waitedMs < (long) PATIENCE * config.deadlineMs) {
        throw new BrainTrouble("an earlier round's request still waits for " + awaited);
      }
      abandon();
      throw new BrainTrouble("an earlier round's request is cut off: it hangs at " + awaited);
    }
    start(state);
    return await();
  }

  /** Plans that may still fit, newest first: what the brain answered, and what it published. */
  List<Plan> remembered() {
    List<Plan> plans = new ArrayList<>();
    if (lastReply != null) {
      plans.add(lastReply);
    }
    if (lastPublished != null) {
      plans.add(lastPublished);
    }
    return plans;
  }

  private void start(ClusterState state) {
    awaited = "ZooKeeper at " + config.zookeeperConnect();
    request = new FutureTask<>(() -> fetch(state));
    thread = new Thread(request, "stormcut-brain-request");
    thread.setDaemon(true);
    startedNanos = System.nanoTime();
    thread.start();
  }

  private Plan await() throws BrainTrouble, InterruptedException {
    try {
      return request.get(config.deadlineMs, TimeUnit.MILLISECONDS);
    } catch (TimeoutException late) {
      throw new BrainTrouble(
          awaited + " did not answer within " + config.deadlineMs + " ms (a late answer is kept)");
    } catch (ExecutionException failed) {
      if (failed.getCause() instanceof BrainTrouble) {
        throw (BrainTrouble) failed.getCause();
      }
      throw new BrainTrouble("asking the brain failed: " + failed.getCause());
    }
  }

  private Plan fetch(ClusterState state) throws BrainTrouble, InterruptedException {
    // First, so that it is known even if the brain hangs.
    int mostBytes = PlanSize.most(state);
    readPublished(mostBytes);
    Leader leader = zookeeper.leader();
    awaited = "the brain";
    int patienceMs = PATIENCE * config.deadlineMs;
    String named = "plan";
    try (BrainClient asked = new BrainClient(leader, zookeeper.seal(), mostBytes,
            config.deadlineMs, patienceMs, config.tlsFolder)) {
      client = asked;
      Plan plan = asked.ask(state);
      named = "plan " + plan.getId();
      PlanCheck.whole(plan, state.getFingerprint());
      lastReply = plan;
      return plan;
    } catch (Unusable refusal) {
      throw new BrainTrouble("the brain's " + named + " is refused: it " + refusal.getMessage());
    } finally {
      client = null;
    }
  }

  private void readPublished(int mostBytes) throws BrainTrouble, InterruptedException {
    try {
      lastPublished = zookeeper.lastPlan(mostBytes);
    } catch (Unusable damaged) {
      warnings.warn(damaged.getMessage() + "; the one known before is kept");
    }
  }

  private void abandon() {
    BrainClient hanging = client;
    if (hanging != null) {
      hanging.close();
    }
    thread.interrupt();
  }
}
