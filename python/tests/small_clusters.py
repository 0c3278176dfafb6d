"""Clusters that many tests run beside each other."""

#: Of topologies on which nobody measures speed: executors with nothing to do wake less often.
SLOW_TO_WAKE = {
    "topology.disruptor.batch.timeout.millis": 50,
    "topology.sleep.spout.wait.strategy.time.ms": 20,
}

#: Of embedded clusters for them: workers need half the CPU time to start and a third to idle.
SLOW_BUT_SMALL = {
    **SLOW_TO_WAKE,
    "worker.childopts": "-Xmx%HEAP-MEM%m -XX:+UseSerialGC -XX:-UsePerfData"
    " -XX:TieredStopAtLevel=1 -XX:-BytecodeVerificationRemote",
}
