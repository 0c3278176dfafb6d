package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Set;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.WorkerSlot;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The jar as Nimbus loads it: with Storm's classes, and nothing of this build beside it. */
class ShadedJarIT {
  private static final File JAR = new File(System.getProperty("stormcut.jar"));
  private static final int JAVA_8 = 52;

  @Test
  void nothingLeaksAndJava8CanLoadIt() throws Exception {
    try (JarFile jar = new JarFile(JAR)) {
      for (JarEntry entry : Collections.list(jar.entries())) {
        String name = entry.getName();
        assertTrue(
            entry.isDirectory() || name.startsWith("io/stormcut/") || name.startsWith("META-INF/"),
            name);
        if (name.endsWith(".class")) {
          try (DataInputStream in = new DataInputStream(jar.getInputStream(entry))) {
            in.readInt();
            in.readUnsignedShort();
            assertTrue(in.readUnsignedShort() <= JAVA_8, name);
          }
        }
      }
    }
  }

  @Test
  void worksWithRelocatedClients(@TempDir Path folder) throws Exception {
    Clusters given = new Clusters().supervisor("n", 1, 2).topology("a", 2, 1);
    try (TestZooKeeper zookeeper = new TestZooKeeper(folder);
        TestBrain brain =
            new TestBrain(
                state -> Plans.plan(state, Plans.topology("a", Plans.worker("n", 2, 1, 2))));
        URLClassLoader loader =
            new URLClassLoader(new URL[] {JAR.toURI().toURL()}, new StormOnly())) {
      zookeeper.lead(brain.port());
      IScheduler scheduler =
          (IScheduler)
              loader
                  .loadClass("io.stormcut.StormcutScheduler")
                  .getDeclaredConstructor()
                  .newInstance();
      scheduler.prepare(zookeeper.conf(10_000));
      Set<WorkerSlot> planned = Collections.singleton(new WorkerSlot("n", 2));
      SchedulerAssignment runs;
      int rounds = 0;
      do { // on a busy machine an answer may come too late for its own round
        Cluster cluster = given.cluster();
        scheduler.schedule(given.topologies(), cluster);
        runs = cluster.getAssignmentById("a");
      } while (!planned.equals(runs.getSlots()) && ++rounds < 10);
      assertEquals(planned, runs.getSlots());
      assertEquals(2, runs.getExecutors().size());
    }
  }

  /** Hides this build's classes and the clients that the jar must bring itself. */
  private static final class StormOnly extends ClassLoader {
    StormOnly() {
      super(ShadedJarIT.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (name.matches("(io\\.stormcut|org\\.apache\\.(thrift|zookeeper|jute))\\..*")) {
        throw new ClassNotFoundException(name);
      }
      return super.loadClass(name, resolve);
    }
  }
}
