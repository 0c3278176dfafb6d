package io.stormcut;

import io.stormcut.protocol.ClusterState;
import io.stormcut.protocol.Declined;
import io.stormcut.protocol.Plan;
import io.stormcut.protocol.TopologyPlan;
import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.storm.Config;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.DefaultScheduler;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.utils.ConfigUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The scheduler shim in Nimbus: `storm.scheduler: io.stormcut.StormcutScheduler`.
 *
 * <p>It describes the cluster to the brain, waits for a plan no longer than its deadline, checks
 * it, applies what is sound, and leaves everything else to Storm's DefaultScheduler, or to the one
 * that `stormcut.fallback.scheduler` names. It never throws: an exception here would end Nimbus.
 */
public final class StormcutScheduler implements IScheduler {
  private static final Logger LOG = LoggerFactory.getLogger(StormcutScheduler.class);
  private static final String APPLIED_FILE = "stormcut-applied.json";

  /** Decides wherever no plan does. */
  private IScheduler storm = new DefaultScheduler();
  private String stormDecides = "; Storm's default scheduler decides";
  private final Warnings warnings = new Warnings(LOG, System::nanoTime);
  /** Null: Storm's DefaultScheduler and nothing else. */
  private PlanSource source;
  private AppliedPlacements applied = AppliedPlacements.in(null, warnings);
  /** Why each topology was left alone that a plan left alone last, by its id. */
  private final Map<String, String> announced = new HashMap<>();
  private String lastPlan;

  @Override
  public void prepare(Map conf) {
    try {
      ShimConfig config = ShimConfig.from(conf == null ? Collections.emptyMap() : conf);
      useStorms(config.fallback, conf);
      applied = AppliedPlacements.in(appliedFile(conf), warnings);
      source = config.enabled ? new PlanSource(config, warnings) : null;
      LOG.info(
          "stormcut: {}",
          config.enabled
              ? "plans come from the brain that leads in ZooKeeper at "
                  + config.zookeeperConnect()
                  + config.zookeeperRoot + stormDecides + " wherever no plan does"
              : "switched off by " + ShimConfig.ENABLED + stormDecides);
    } catch (Throwable failure) {
      source = null;
      LOG.error("stormcut: cannot start" + stormDecides, failure);
    }
  }

  /** One that cannot be loaded or does not start must not end Nimbus: Storm's default does. */
  private void useStorms(String fallback, Map conf) {
    if (fallback != null) {
      try {
        IScheduler named = (IScheduler) Class.forName(fallback).getDeclaredConstructor().newInstance();
        if (named instanceof StormcutScheduler) {
          throw new IllegalArgumentException("it would ask itself");
        }
        named.prepare(conf);
        storm = named;
        stormDecides = "; " + named.getClass().getSimpleName() + " decides";
        return;
      } catch (Throwable failure) {
        LOG.error("stormcut: {}: {} cannot be used{}", ShimConfig.FALLBACK,
            Warnings.oneLine(fallback), stormDecides, failure);
      }
    }
    storm.prepare(conf);
  }

  /** Null where Storm keeps nothing, as in tests of the default configuration. */
  private static Path appliedFile(Map conf) throws IOException {
    if (conf == null || conf.get(Config.STORM_LOCAL_DIR) == null) {
      return null;
    }
    return Paths.get(ConfigUtils.masterLocalDir(conf)).resolve(APPLIED_FILE);
  }

  @Override
  public void schedule(Topologies topologies, Cluster cluster) {
    Round round = null;
    try {
      round = new Round(topologies, cluster, storm);
      if (source == null) {
        round.finish(applied, Collections.emptyList());
      } else {
        run(round, topologies, cluster);
      }
      round.restarted().keySet().forEach(this::announceRestart);
      applied.update(round.placed(), topologies, cluster);
    } catch (Throwable failure) {
      giveUp(round, topologies, cluster, failure);
    }
  }

  private void run(Round round, Topologies topologies, Cluster cluster) {
    announced.keySet().removeIf(id -> topologies.getById(id) == null);
    ClusterState state = StateReader.read(topologies, cluster, warnings);
    Plan plan = state.getTopologies().isEmpty() ? null : make(state, round);
    Map<String, Set<ExecutorDetails>> worse = round.finish(applied, source.remembered());
    report(round, plan, worse);
  }

  /**
   * Make so what the brain answers. Without an answer, what a remembered plan for the same state
   * says of executors that run nowhere: the world may have changed since, and nothing that runs is
   * moved. Null if there is neither.
   */
  private Plan make(ClusterState state, Round round) {
    String reason;
    try {
      Plan plan = source.ask(state);
      round.apply(plan);
      return plan;
    } catch (BrainTrouble trouble) {
      reason = trouble.getMessage();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      reason = "interrupted while waiting for the brain";
    }
    for (Plan plan : source.remembered()) {
      try {
        PlanCheck.whole(plan, state.getFingerprint());
        warnings.warn(reason + "; plan " + plan.getId()
            + " for this same state places what runs nowhere, and moves nothing");
        round.complete(plan, applied);
        return plan;
      } catch (Unusable forAnotherState) {
        continue;
      }
    }
    warnings.warn(reason + stormDecides);
    return null;
  }

  private void report(Round round, Plan plan, Map<String, Set<ExecutorDetails>> worse) {
    if (!worse.isEmpty()) {
      warnings.warn("a plan or what it left in place would leave no slot for executors of "
          + worse.keySet() + " that Storm's default scheduler places, so it decides on all that"
          + " was to change in this round"
          + (plan == null ? "" : " (plan " + plan.getId() + ")"));
    }
    if (plan == null) {
      return;
    }
    round.refused().forEach((id, reason) ->
        warnings.warn("topology " + id + ": plan " + plan.getId() + " is refused: " + reason
            + stormDecides));
    int unchanged = 0;
    for (TopologyPlan part : plan.getTopologies()) {
      if (round.accepted().containsKey(part.getTopology()) && !announce(plan.getId(), part, round)) {
        unchanged++;
      }
    }
    announceUnchanged(plan.getId(), unchanged);
    for (Declined part : plan.getDeclined()) {
      announce(plan.getId(), part, round);
    }
  }

  /** Only what changes: in most rounds the plan is the one that already runs. */
  private boolean announce(String plan, TopologyPlan part, Round round) {
    String id = part.getTopology();
    announced.remove(id);
    int restarted = round.changed(id).size();
    if (restarted > 0) {
      int kept = part.getWorkersSize() - restarted;
      LOG.info("stormcut: topology {}: plan {} by {} applied: {} workers kept, {} (re)started: {}",
          id, Warnings.oneLine(plan), Warnings.oneLine(part.getAlgorithm()), kept, restarted,
          Warnings.oneLine(part.getReason()));
    }
    return restarted > 0;
  }

  /** Once per plan, be it of hundreds of topologies. */
  private void announceUnchanged(String plan, int topologies) {
    if (topologies > 0 && !plan.equals(lastPlan)) {
      LOG.info("stormcut: plan {}: {} topologies stay as they run", Warnings.oneLine(plan),
          topologies);
    }
    lastPlan = plan;
  }

  /** A warning only if something of the topology is to be placed. */
  private void announce(String plan, Declined part, Round round) {
    String id = part.getTopology();
    String text = "topology " + id + ": plan " + plan + " leaves it alone: " + part.getReason()
        + stormDecides;
    String before = announced.put(id, part.getReason());
    if (!round.wasWhole(id)) {
      warnings.warn(text);
    } else if (!part.getReason().equals(before)) {
      LOG.info("stormcut: {}", Warnings.oneLine(text));
    }
  }

  private void announceRestart(String topology) {
    LOG.info("stormcut: topology {}: lost workers start again, each in one slot; the others stay,"
        + " as no plan says otherwise", topology);
  }

  private void giveUp(Round round, Topologies topologies, Cluster cluster, Throwable failure) {
    try {
      LOG.warn("stormcut: the round failed" + stormDecides, failure);
      if (round == null) {
        storm.schedule(topologies, cluster);
      } else {
        round.giveUp();
      }
    } catch (Throwable stormsOwn) {
      try {
        LOG.error("stormcut: Storm's default scheduler failed too", stormsOwn);
      } catch (Throwable unloggable) {
        return;
      }
    }
  }
}
