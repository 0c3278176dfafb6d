"""The configuration of each daemon: small heaps, fast reactions, everything on loopback."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from stormcut.lab.adapters.clusters.local.layout import Daemon, Layout, LocalState

Config = dict[str, object]

#: Below ZooKeeper's home.
ZOOKEEPER_DATA = "data"

#: Storm's own option strings hold flags that Java 9 and later refuse. Short-lived daemons are up
#: sooner with the first compiler stage alone and without verified classes; workers do the measured
#: work and keep both stages.
DAEMON_JVM = (
    "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -XX:-BytecodeVerificationRemote"
)

_COMMON: Config = {
    "nimbus.childopts": f"-Xmx384m {DAEMON_JVM}",
    "supervisor.childopts": f"-Xmx128m {DAEMON_JVM}",
    "worker.childopts": "-Xmx%HEAP-MEM%m -XX:+UseSerialGC -XX:-UsePerfData",
    "topology.worker.logwriter.childopts": f"-Xmx32m {DAEMON_JVM}",
    "worker.heap.memory.mb": 256,
    "worker.profiler.enabled": False,
    # Placements are large messages: 1 MB is Storm's limit for what Nimbus accepts.
    "nimbus.thrift.max_buffer_size": 64 * 1024 * 1024,
    "nimbus.monitor.freq.secs": 1,
    "supervisor.monitor.frequency.secs": 1,
    "supervisor.heartbeat.frequency.secs": 1,
    "supervisor.worker.shutdown.sleep.secs": 1,
    "task.refresh.poll.secs": 1,
    "storm.messaging.netty.max_wait_ms": 200,
}


#: For a cluster that loses no machine: a process that waits for a busy core is slow, not dead, and
#: one that ends is seen to end.
PATIENT: Config = {
    "storm.zookeeper.session.timeout": 40_000,
    "storm.zookeeper.connection.timeout": 40_000,
    "supervisor.worker.timeout.secs": 3600,
    "nimbus.task.timeout.secs": 3600,
    "nimbus.supervisor.timeout.secs": 3600,
    "nimbus.task.launch.secs": 3600,
    "supervisor.worker.start.timeout.secs": 3600,
}


def nimbus_config(layout: Layout, state: LocalState, overrides: Mapping[str, object]) -> Config:
    """Return Nimbus's storm.yaml; ``overrides`` win."""
    return {**_shared(layout, state, state.nimbus), **overrides}


def supervisor_config(
    layout: Layout, state: LocalState, daemon: Daemon, overrides: Mapping[str, object]
) -> Config:
    """Return one supervisor's storm.yaml; ``overrides`` win."""
    slots: Config = {"supervisor.slots.ports": list(daemon.ports)}
    return {**_shared(layout, state, daemon), **slots, **overrides}


def _shared(layout: Layout, state: LocalState, daemon: Daemon) -> Config:
    return {
        **_COMMON,
        "storm.zookeeper.servers": [state.zookeeper.host],
        "nimbus.seeds": [state.nimbus.host],
        "storm.zookeeper.port": state.zookeeper.ports[0],
        "nimbus.thrift.port": state.nimbus.ports[0],
        "storm.local.hostname": daemon.host,
        "storm.local.dir": str(layout.storm_home(daemon.name) / "local"),
        "storm.log4j2.conf.dir": str(layout.log4j2),
    }


def zookeeper_config(layout: Layout, daemon: Daemon) -> str:
    """Return the server's zoo.cfg, in Java's properties format."""
    data = str(layout.storm_home(daemon.name) / ZOOKEEPER_DATA).replace("\\", "\\\\")
    return "\n".join(
        [
            "tickTime=2000",
            f"dataDir={data}",
            f"clientPortAddress={daemon.host}",
            f"clientPort={daemon.ports[0]}",
            "maxClientCnxns=0",
            "autopurge.snapRetainCount=3",
            "autopurge.purgeInterval=1",
            "",
        ]
    )


def write(path: Path, config: Mapping[str, object]) -> None:
    """Write a storm.yaml."""
    path.write_text(yaml.safe_dump(dict(config), allow_unicode=True), encoding="utf-8")


def read(path: Path) -> Config:
    """Read a storm.yaml back."""
    config: Config = yaml.safe_load(path.read_text(encoding="utf-8"))
    return config
