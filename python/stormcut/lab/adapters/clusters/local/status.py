"""What runs of a local cluster, how much memory it takes, and what Nimbus says."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import psutil

from stormcut.adapters.storm.nimbus import NimbusClient, NimbusUnavailable
from stormcut.lab.adapters.clusters.local import processes
from stormcut.lab.adapters.clusters.local.layout import Layout, LocalState
from stormcut.model.summaries import ClusterSummary


@dataclass(frozen=True)
class DaemonStatus:
    """A daemon now; ``memory_mb`` is its resident memory, None when it is down."""

    name: str
    host: str
    ports: tuple[int, ...]
    pid: int | None
    up: bool
    memory_mb: float | None


@dataclass(frozen=True)
class ClusterStatus:
    """A cluster now; ``storm`` is what Nimbus says, None when it does not answer.

    ``processes`` and ``memory_mb`` count daemons, workers and all they started.
    """

    name: str
    daemons: tuple[DaemonStatus, ...]
    processes: int
    memory_mb: float
    storm: ClusterSummary | None


def status(layout: Layout, state: LocalState) -> ClusterStatus:
    """Return what runs; Nimbus is asked with a short timeout."""
    storm = None
    with suppress(NimbusUnavailable):
        storm = NimbusClient(state.nimbus.host, state.nimbus.ports[0], timeout_s=5.0).cluster()
    memory = {process.pid: _memory_mb(process) for process in processes.of_cluster(layout.folder)}
    daemons = (
        DaemonStatus(
            daemon.name,
            daemon.host,
            daemon.ports,
            daemon.pid,
            processes.is_running(daemon),
            memory.get(daemon.pid) if daemon.pid else None,
        )
        for daemon in state.daemons
    )
    return ClusterStatus(layout.name, tuple(daemons), len(memory), sum(memory.values()), storm)


def _memory_mb(process: psutil.Process) -> float:
    try:
        return float(process.memory_info().rss) / 2**20
    except psutil.Error:
        return 0.0
