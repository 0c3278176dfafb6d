"""Threads of one task on a node of their own; source and sink on another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from stormcut.lab.adapters.bench.rig import ClusterRig
from stormcut.lab.adapters.bench.steered import Steered, steered
from stormcut.lab.adapters.bench.workers import processes
from stormcut.lab.adapters.clusters.docker.engine import engine
from stormcut.lab.experiment.bench.entrants import Hosts
from stormcut.lab.experiment.bench.planner import BenchPlanner
from stormcut.lab.experiment.bench.windows import STEP_S
from stormcut.lab.experiment.trials import Reading
from stormcut.model.cluster import RunningTopology

TOPOLOGY, COMPONENT = "one_task", "task"


@dataclass(frozen=True)
class SlotNode:
    """The node on which the task is alone: its container, its cores and its memory."""

    name: str
    container: str
    cores: float
    memory_mb: float


class TrialBench:
    """Runs a task with some threads, and tries rates; see `trials.Trials`."""

    def __init__(
        self,
        rig: ClusterRig,
        planner: BenchPlanner,
        slot: SlotNode,
        task: str,
        options: Mapping[str, object],
    ) -> None:
        self._rig = rig
        self._planner = planner
        self._slot = slot
        self._task = task
        self._options = {**options, "task": task}
        self._node = list(rig.nodes).index(slot.name)

    @contextmanager
    def threads(self, count: int) -> Iterator[Callable[[float, float], Reading]]:
        """Yield what tries a rate for some seconds while so many threads run."""
        options = {**self._options, f"threads.{COMPONENT}": count}
        name = f"{self._task}-{count}"
        with steered(self._rig, self._planner, name, TOPOLOGY, options, self._hosts) as running:
            cores, memory_mb = running.idle()[self._node], self._memory_mb(running)

            def tried(rate: float, seconds: float) -> Reading:
                seen = running.trial(rate, seconds)
                slot = self._slot
                return Reading(
                    seen.latency_ms,
                    STEP_S,
                    seen.sent_per_second,
                    seen.acked_per_second,
                    percent(seen.cores[self._node], cores, slot.cores),
                    percent(self._memory_mb(running), memory_mb, slot.memory_mb),
                )

            yield tried

    def _hosts(self, running: RunningTopology) -> Hosts:
        nodes = self._rig.nodes
        (other,) = (name for name in nodes if name != self._slot.name)
        return {
            executor.start_task: nodes[
                self._slot.name if executor.component == COMPONENT else other
            ].address
            for executor in running.executors
        }

    def _memory_mb(self, running: Steered) -> float:
        """Return what the slot's processes have in memory."""
        with engine() as client:
            container = str(client.containers.get(self._slot.container).id)
        total = 0
        for process in processes(running.entrant.id):
            with suppress(psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
                if container in Path(f"/proc/{process.pid}/cgroup").read_text(encoding="utf-8"):
                    total += process.memory_info().rss
        return total / 2**20


def percent(used: float, idle: float, whole: float) -> float:
    """Return a use above an idle worker's, in percent of what that leaves."""
    return min(100.0, max(0.0, 100 * (used - idle) / (whole - idle)))
