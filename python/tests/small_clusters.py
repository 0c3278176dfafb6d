"""Clusters that many tests run beside each other."""

#: Settings of clusters on which nobody measures speed: workers need half the CPU time to start and
#: a third to idle.
SLOW_BUT_SMALL = {
    "worker.childopts": "-Xmx%HEAP-MEM%m -XX:+UseSerialGC -XX:-UsePerfData -XX:TieredStopAtLevel=1",
    "topology.disruptor.batch.timeout.millis": 50,
    "topology.sleep.spout.wait.strategy.time.ms": 20,
}
