package io.stormcut;

import static io.stormcut.Plans.topology;
import static io.stormcut.Plans.worker;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.DefaultScheduler;
import org.apache.storm.scheduler.EvenScheduler;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.IsolationScheduler;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.scheduler.multitenant.MultitenantScheduler;
import org.apache.storm.scheduler.resource.ResourceAwareScheduler;
import org.apache.storm.utils.Utils;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Wherever no plan decides, the scheduler does that the cluster had before. */
@Timeout(120)
class FallbackTest {
  private static final List<Class<? extends IScheduler>> OF_STORM =
      Arrays.asList(DefaultScheduler.class, EvenScheduler.class, IsolationScheduler.class,
          MultitenantScheduler.class, ResourceAwareScheduler.class);

  @TempDir Path folder;

  /** Topology a runs on n:1 and m:1, b runs nowhere. */
  private static Clusters given() {
    return new Clusters()
        .supervisor("n", 1, 2, 3)
        .supervisor("m", 1, 2, 3)
        .topology("a", 2, 3)
        .topology("b", 2, 3)
        .assigned("a", "n", 1, 1, 2)
        .assigned("a", "m", 1, 3, 4);
  }

  private static Map<String, Object> conf(String fallback) {
    Map<String, Object> conf = new HashMap<String, Object>(Utils.readDefaultConfig());
    conf.put(ShimConfig.ENABLED, false);
    conf.put(ShimConfig.FALLBACK, fallback);
    conf.remove(Config.STORM_LOCAL_DIR);
    return conf;
  }

  private static Map<ExecutorDetails, WorkerSlot> runs(Cluster cluster, String topology) {
    SchedulerAssignment assignment = cluster.getAssignmentById(topology);
    return assignment == null ? new HashMap<>() : assignment.getExecutorToSlot();
  }

  private static Cluster alone(IScheduler scheduler, Map<String, Object> conf) {
    Clusters given = given();
    Cluster cluster = given.cluster();
    scheduler.prepare(conf);
    scheduler.schedule(given.topologies(), cluster);
    return cluster;
  }

  @Test
  void switchedOffItIsTheOneThatIsNamed() throws Exception {
    for (Class<? extends IScheduler> each : OF_STORM) {
      Map<String, Object> conf = conf(each.getName());
      Cluster expected = alone(each.getDeclaredConstructor().newInstance(), conf);
      Cluster found = alone(new StormcutScheduler(), conf);
      for (String topology : Arrays.asList("a", "b")) {
        assertEquals(runs(expected, topology), runs(found, topology), each + " " + topology);
        assertEquals(4, runs(found, topology).size(), each + " " + topology);
      }
    }
  }

  @Test
  void itPlacesWhatAPlanLeavesAndLeavesWhatAPlanPlaces() throws Exception {
    for (Class<? extends IScheduler> each : OF_STORM) {
      TestZooKeeper zookeeper = new TestZooKeeper(folder.resolve(each.getSimpleName()));
      TestBrain brain = new TestBrain(state ->
          Plans.plan(state, topology("a", worker("n", 1, 1, 2), worker("n", 2, 3, 4))));
      try {
        zookeeper.lead(brain.port());
        Map<String, Object> conf = new HashMap<>(zookeeper.conf(10_000));
        Utils.readDefaultConfig().forEach((key, value) -> conf.putIfAbsent((String) key, value));
        conf.put(ShimConfig.FALLBACK, each.getName());
        conf.remove(Config.STORM_LOCAL_DIR);
        Cluster found = alone(new StormcutScheduler(), conf);
        Map<ExecutorDetails, WorkerSlot> a = runs(found, "a");
        assertEquals(4, a.size(), each.getName());
        a.forEach((executor, slot) -> assertEquals(
            new WorkerSlot("n", executor.getStartTask() <= 2 ? 1 : 2), slot, each.getName()));
        assertEquals(4, runs(found, "b").size(), each.getName());
      } finally {
        brain.close();
        zookeeper.close();
      }
    }
  }

  @Test
  void oneThatCannotBeUsedIsStormsDefault() {
    LogLines log = new LogLines();
    Cluster expected = alone(new DefaultScheduler(), conf(null));
    for (String name : Arrays.asList("no.such.Class", "java.lang.String",
        StormcutScheduler.class.getName())) {
      Cluster found = alone(new StormcutScheduler(), conf(name));
      assertEquals(runs(expected, "b"), runs(found, "b"), name);
      assertTrue(log.toString().contains(name + " cannot be used"), log.toString());
    }
    log.close();
  }
}
