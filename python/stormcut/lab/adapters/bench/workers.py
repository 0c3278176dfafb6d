"""A topology's processes on this machine, stopped and continued."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import suppress

import psutil

#: Storm's patience with processes that are held, in seconds: nobody shall miss them.
PATIENCE_S = 86_400
CLUSTER_PATIENCE = {
    "supervisor.worker.timeout.secs": PATIENCE_S,
    "nimbus.task.timeout.secs": PATIENCE_S,
    "nimbus.supervisor.timeout.secs": PATIENCE_S,
    "storm.zookeeper.session.timeout": 1000 * PATIENCE_S,
}
TOPOLOGY_PATIENCE = {"topology.subprocess.timeout.secs": PATIENCE_S}


def hold(topology: str) -> None:
    """Stop all processes of the topology with this id, where they are (SIGSTOP)."""
    _send(topology, signal.SIGSTOP)


def let_go(topology: str) -> None:
    """Continue all processes of a topology that are held."""
    _send(topology, signal.SIGCONT)


def _send(topology: str, number: signal.Signals) -> None:
    for process in processes(topology):
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def processes(topology: str) -> Iterator[psutil.Process]:
    """Yield a topology's workers and log writers, and the components they started."""
    mark = f"-Dstorm.id={topology}"
    seen: set[int] = set()
    for process in psutil.process_iter(["cmdline"]):
        if mark not in (process.info["cmdline"] or ()):
            continue
        with suppress(psutil.NoSuchProcess):
            for each in (process, *process.children(recursive=True)):
                if each.pid not in seen:
                    seen.add(each.pid)
                    yield each
