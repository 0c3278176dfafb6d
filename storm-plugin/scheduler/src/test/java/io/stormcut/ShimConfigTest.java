package io.stormcut;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ShimConfigTest {
  private final Map<String, Object> conf = new HashMap<>();

  @Test
  void defaultsComeFromStorm() {
    conf.put("storm.zookeeper.servers", Arrays.asList("zk1", "::1"));
    conf.put("storm.zookeeper.port", 2222L);
    ShimConfig config = ShimConfig.from(conf);
    assertTrue(config.enabled);
    assertEquals(2000, config.deadlineMs);
    assertEquals("zk1:2222,[::1]:2222", config.zookeeperConnect());
    assertEquals("/stormcut", config.zookeeperRoot);
    assertNull(config.zookeeperAuthFile);
    assertNull(config.tlsFolder);
  }

  @Test
  void ownValuesAreTaken() {
    conf.put(ShimConfig.ENABLED, false);
    conf.put(ShimConfig.DEADLINE_MS, 50);
    conf.put(ShimConfig.ZOOKEEPER_SERVERS, Collections.singletonList("zk"));
    conf.put(ShimConfig.ZOOKEEPER_PORT, 1L);
    conf.put(ShimConfig.ZOOKEEPER_ROOT, "/a/b");
    conf.put(ShimConfig.ZOOKEEPER_AUTH_FILE, "/etc/auth");
    conf.put(ShimConfig.TLS_FOLDER, "/etc/tls");
    ShimConfig config = ShimConfig.from(conf);
    assertFalse(config.enabled);
    assertEquals(50, config.deadlineMs);
    assertEquals("zk:1", config.zookeeperConnect());
    assertEquals("/a/b", config.zookeeperRoot);
    assertEquals("/etc/auth", config.zookeeperAuthFile);
    assertEquals("/etc/tls", config.tlsFolder);
  }

  @Test
  void impossibleValuesAreNamedAndReplaced() {
    conf.put(ShimConfig.ENABLED, "yes");
    conf.put(ShimConfig.DEADLINE_MS, 10_001L);
    conf.put(ShimConfig.ZOOKEEPER_SERVERS, "zk");
    conf.put(ShimConfig.ZOOKEEPER_PORT, 2.5);
    conf.put(ShimConfig.ZOOKEEPER_AUTH_FILE, 7);
    conf.put(ShimConfig.TLS_FOLDER, true);
    try (LogLines log = new LogLines()) {
      ShimConfig config = ShimConfig.from(conf);
      assertTrue(config.enabled);
      assertEquals(2000, config.deadlineMs);
      assertEquals("localhost:2181", config.zookeeperConnect());
      assertNull(config.zookeeperAuthFile);
      assertEquals("/dev/null", config.tlsFolder, "never plain where TLS was meant");
      conf.forEach(
          (key, value) ->
              assertEquals(1, log.count("WARN", key + " is " + value + ", allowed is")));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"stormcut", "/", "/a/", "//a", "/a//b", "/a/..", "/./a", "/a b", ""})
  void pathsThatZooKeeperWouldRefuse(String root) {
    conf.put(ShimConfig.ZOOKEEPER_ROOT, root);
    assertEquals("/stormcut", ShimConfig.from(conf).zookeeperRoot);
  }
}
