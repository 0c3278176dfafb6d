"""A topology whose source follows a rate: started where it shall run, and tried at rates."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from stormcut.application.waiting import TimedOut, wait_until
from stormcut.lab.adapters.bench.rig import ClusterRig
from stormcut.lab.experiment.bench.entrants import FIRST_PORT, Hosts
from stormcut.lab.experiment.bench.planner import BenchPlanner, Wanted
from stormcut.lab.experiment.bench.ports import Entrant
from stormcut.lab.experiment.bench.windows import STEP_S, Sample
from stormcut.lab.experiment.trials import latencies
from stormcut.model.cluster import RunningTopology

OPTIONS: Mapping[str, object] = {
    "language": "java",
    "steered": "yes",
    # Open loop: what is not served waits, and shows in the latency.
    "topology.max.spout.pending": 1_000_000,
    "topology.message.timeout.secs": 600,
    "topology.acker.executors": 1,
    # By default 1: flushing the queues of tens of threads that wait takes all CPU of a small node.
    "topology.disruptor.batch.timeout.millis": 10,
}
#: Of a trial, not counted; of idle workers, measured.
SETTLE_S, IDLE_S = 4.0, 4.0
#: A trial is over when tuples of so many seconds, and so many, wait.
BACKLOG_S, BACKLOG = 5.0, 20
#: What waits is given so long to be served.
DRAIN_S = 60.0
LOOK_S = 0.25


@dataclass(frozen=True)
class ObservedTrial:
    """What a trial was seen to do.

    Attributes
    ----------
    latency_ms : tuple of float
        Mean of the tuples acknowledged in each step of `STEP_S`.
    sent_per_second, acked_per_second : float
        Of the source.
    cores : tuple of float
        That each node used.
    """

    latency_ms: tuple[float, ...]
    sent_per_second: float
    acked_per_second: float
    cores: tuple[float, ...]


class Steered:
    """A topology that runs; its source sends what it is told."""

    def __init__(self, rig: ClusterRig, entrant: Entrant) -> None:
        self.entrant = entrant
        self._rig = rig

    def idle(self) -> tuple[float, ...]:
        """Return the cores that each node uses while nothing is sent."""
        self._steer(0)
        time.sleep(SETTLE_S)
        return self._cores(lambda: time.sleep(IDLE_S))

    def trial(self, rate: float, seconds: float) -> ObservedTrial:
        """Send so many tuples/s for so long, or until too much waits."""
        self._steer(rate)
        time.sleep(SETTLE_S)
        samples: list[Sample] = []
        cores = self._cores(lambda: samples.extend(self._watched(rate, seconds)))
        if self._waiting() > rate:
            self._drain()
        first, last = samples[0], samples[-1]
        length = max(last.taken_at - first.taken_at, STEP_S)
        return ObservedTrial(
            latencies([sample.latency for sample in samples]),
            (last.sent - first.sent) / length,
            (last.acked - first.acked) / length,
            cores,
        )

    def _watched(self, rate: float, seconds: float) -> list[Sample]:
        samples: list[Sample] = []
        end = time.time() + seconds
        while time.time() < end:
            newest = self._newest()
            if not samples or newest.taken_at > samples[-1].taken_at:
                samples.append(newest)
            if newest.sent - newest.acked > BACKLOG_S * rate + BACKLOG:
                break
            time.sleep(LOOK_S)
        return samples

    def _waiting(self) -> int:
        newest = self._newest()
        return newest.sent - newest.acked

    def _drain(self) -> None:
        self._steer(0)
        with suppress(TimedOut):
            wait_until(lambda: not self._waiting(), DRAIN_S, "what waits is served", poll_s=LOOK_S)

    def _newest(self) -> Sample:
        (sample,) = self._rig.samples(self.entrant).values()
        return sample

    def _steer(self, rate: float) -> None:
        # Where the source's reports are, so is what it follows.
        for folder in self.entrant.reports:
            if folder.is_dir():
                part = folder / "rate.part"
                part.write_text(f"{rate!r}", encoding="ascii")
                part.replace(folder / "rate")

    def _cores(self, work: Callable[[], object]) -> tuple[float, ...]:
        before = self._rig.counters()
        work()
        after = self._rig.counters()
        seconds = after.taken_at - before.taken_at
        return tuple((b - a) / seconds for a, b in zip(before.cpu_s, after.cpu_s, strict=True))


@contextmanager
def steered(
    rig: ClusterRig,
    planner: BenchPlanner,
    name: str,
    topology: str,
    options: Mapping[str, object],
    hosts: Callable[[RunningTopology], Hosts],
) -> Iterator[Steered]:
    """Yield a topology that runs, with the nodes' limits in force, as long as the block.

    Parameters
    ----------
    hosts : callable
        From the topology as Nimbus describes it to the host of each executor, by first task.
    """
    planner.register(name, lambda running: Wanted("trial", FIRST_PORT, hosts(running)))
    entrant = rig.start(name, topology, {**OPTIONS, **options})
    try:
        with rig.running(entrant):
            yield Steered(rig, entrant)
    finally:
        rig.end(entrant)
