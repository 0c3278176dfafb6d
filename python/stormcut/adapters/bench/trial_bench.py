"""Threads of one task on a node of their own; source and sink on another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from stormcut.adapters.bench.rig import Rig
from stormcut.adapters.bench.workers import processes
from stormcut.adapters.clusters.docker.engine import engine
from stormcut.application.experiment.bench.entrants import FIRST_PORT
from stormcut.application.experiment.bench.planner import BenchPlanner, Wanted
from stormcut.application.experiment.bench.ports import Entrant
from stormcut.application.experiment.bench.windows import STEP_S, Sample
from stormcut.application.experiment.trials import Reading, latencies
from stormcut.application.waiting import TimedOut, wait_until
from stormcut.model.cluster import RunningTopology

TOPOLOGY, COMPONENT = "one_task", "task"
OPTIONS: Mapping[str, object] = {
    "language": "java",
    "steered": "yes",
    # Open loop: what is not served waits, and shows in the latency.
    "topology.max.spout.pending": 1_000_000,
    "topology.message.timeout.secs": 600,
    "topology.acker.executors": 1,
}
#: Of a trial, not counted; of an idle worker, measured.
SETTLE_S, IDLE_S = 4.0, 4.0
#: A trial is over when tuples of so many seconds, and so many, wait.
BACKLOG_S, BACKLOG = 5.0, 20
#: What waits is given so long to be served.
DRAIN_S = 60.0
LOOK_S = 0.25


@dataclass(frozen=True)
class SlotNode:
    """The node on which the task is alone: its container, its cores and its memory."""

    name: str
    container: str
    cores: float
    memory_mb: float


@dataclass(frozen=True)
class _Use:
    cores: float
    memory_mb: float


class TrialBench:
    """Runs a task with some threads, and tries rates; see `trials.Trials`."""

    def __init__(
        self,
        rig: Rig,
        planner: BenchPlanner,
        slot: SlotNode,
        task: str,
        options: Mapping[str, object],
    ) -> None:
        self._rig = rig
        self._planner = planner
        self._slot = slot
        self._task = task
        self._options = {**OPTIONS, **options, "task": task}
        self._node = list(rig.nodes).index(slot.name)

    @contextmanager
    def threads(self, count: int) -> Iterator[Callable[[float, float], Reading]]:
        """Yield what tries a rate for some seconds while so many threads run."""
        name = f"{self._task}-{count}"
        self._planner.register(name, self._wanted)
        options = {**self._options, "threads.task": count}
        entrant = self._rig.start(name, TOPOLOGY, options)
        try:
            with self._rig.running(entrant):
                yield partial(self._trial, entrant, self._idle(entrant))
        finally:
            self._rig.end(entrant)

    def _wanted(self, running: RunningTopology) -> Wanted:
        nodes = self._rig.nodes
        (other,) = (name for name in nodes if name != self._slot.name)
        hosts = {
            executor.start_task: nodes[
                self._slot.name if executor.component == COMPONENT else other
            ].address
            for executor in running.executors
        }
        return Wanted("trial", FIRST_PORT, hosts)

    def _idle(self, entrant: Entrant) -> _Use:
        self._steer(entrant, 0)
        time.sleep(SETTLE_S)
        return self._use(entrant, lambda: time.sleep(IDLE_S))

    def _trial(self, entrant: Entrant, idle: _Use, rate: float, seconds: float) -> Reading:
        self._steer(entrant, rate)
        time.sleep(SETTLE_S)
        samples: list[Sample] = []
        use = self._use(entrant, lambda: samples.extend(self._watched(entrant, rate, seconds)))
        reading = _reading(samples, idle, use, self._slot)
        if self._waiting(entrant) > rate:
            self._drain(entrant)
        return reading

    def _watched(self, entrant: Entrant, rate: float, seconds: float) -> list[Sample]:
        """Return what the source reports for so long, or until too much waits."""
        samples: list[Sample] = []
        end = time.time() + seconds
        while time.time() < end:
            newest = self._newest(entrant)
            if not samples or newest.at > samples[-1].at:
                samples.append(newest)
            if newest.sent - newest.acked > BACKLOG_S * rate + BACKLOG:
                break
            time.sleep(LOOK_S)
        return samples

    def _waiting(self, entrant: Entrant) -> int:
        newest = self._newest(entrant)
        return newest.sent - newest.acked

    def _drain(self, entrant: Entrant) -> None:
        self._steer(entrant, 0)
        with suppress(TimedOut):
            wait_until(
                lambda: not self._waiting(entrant), DRAIN_S, "what waits is served", poll_s=LOOK_S
            )

    def _newest(self, entrant: Entrant) -> Sample:
        (sample,) = self._rig.samples(entrant).values()
        return sample

    def _steer(self, entrant: Entrant, rate: float) -> None:
        # Where the source's reports are, so is what it follows.
        for folder in entrant.reports:
            if folder.is_dir():
                part = folder / "rate.part"
                part.write_text(f"{rate!r}", encoding="ascii")
                part.replace(folder / "rate")

    def _use(self, entrant: Entrant, work: Callable[[], object]) -> _Use:
        """Return what the slot's node uses while some work is done."""
        before = self._rig.counters()
        work()
        after = self._rig.counters()
        cpu_s = after.cpu_s[self._node] - before.cpu_s[self._node]
        return _Use(cpu_s / (after.at - before.at), self._memory_mb(entrant))

    def _memory_mb(self, entrant: Entrant) -> float:
        with engine() as client:
            container = str(client.containers.get(self._slot.container).id)
        found = 0
        for process in processes(entrant.id):
            with suppress(psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
                if container in Path(f"/proc/{process.pid}/cgroup").read_text(encoding="utf-8"):
                    found += process.memory_info().rss
        return found / 2**20


def _reading(samples: list[Sample], idle: _Use, use: _Use, slot: SlotNode) -> Reading:
    first, last = samples[0], samples[-1]
    seconds = max(last.at - first.at, STEP_S)
    return Reading(
        latencies([sample.latency for sample in samples]),
        STEP_S,
        (last.sent - first.sent) / seconds,
        (last.acked - first.acked) / seconds,
        _percent(use.cores, idle.cores, slot.cores),
        _percent(use.memory_mb, idle.memory_mb, slot.memory_mb),
    )


def _percent(used: float, idle: float, whole: float) -> float:
    """Return a use above an idle worker's, in percent of what that leaves."""
    return min(100.0, max(0.0, 100 * (used - idle) / (whole - idle)))
