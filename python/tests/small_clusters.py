"""Clusters that many tests run beside each other."""

from stormcut.lab.adapters.clusters.local.storm_yaml import DAEMON_JVM

#: Of topologies on which nobody measures speed: executors with nothing to do wake less often.
SLOW_TO_WAKE = {
    "topology.disruptor.batch.timeout.millis": 50,
    "topology.sleep.spout.wait.strategy.time.ms": 20,
}

#: Of embedded clusters for them: workers need half the CPU time to start and a third to idle.
SLOW_BUT_SMALL = {
    **SLOW_TO_WAKE,
    "worker.childopts": f"-Xmx%HEAP-MEM%m {DAEMON_JVM}",
}
