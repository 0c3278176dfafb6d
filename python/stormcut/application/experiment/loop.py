"""One turn of the loop, before and after a plan: what was predicted, and what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stormcut.profile.flows import Flow, Flows, between, total
from stormcut.profile.measured import Measured

#: Predicted and measured drop of traffic between nodes may differ by this share of the prediction.
AGREEMENT = 0.10


@dataclass(frozen=True)
class PlacedExecutor:
    """An executor and the slot it runs in."""

    component: str
    start_task: int
    end_task: int
    host: str
    port: int


@dataclass(frozen=True)
class Phase:
    """A measured window under one placement.

    What is said of places follows from ``executors``, as Nimbus shows them, and ``traffic``.
    """

    label: str
    measured: Measured
    executors: tuple[PlacedExecutor, ...]
    traffic: Flows

    @property
    def hosts(self) -> dict[int, str]:
        """The node of each task."""
        return {task: executor.host for executor, task in self._tasks}

    @property
    def workers(self) -> dict[int, tuple[str, int]]:
        """The worker (host, port) of each task."""
        return {task: (executor.host, executor.port) for executor, task in self._tasks}

    @property
    def _tasks(self) -> Iterator[tuple[PlacedExecutor, int]]:
        for executor in self.executors:
            for task in range(executor.start_task, executor.end_task + 1):
                yield executor, task

    @property
    def between_nodes(self) -> Flow:
        """What travelled between nodes."""
        return between(self.traffic, self.hosts)

    @property
    def between_workers(self) -> Flow:
        """What travelled between workers, on one node or two."""
        return between(self.traffic, self.workers)

    @property
    def nodes_used(self) -> int:
        """Nodes with an executor."""
        return len(set(self.hosts.values()))

    @property
    def workers_used(self) -> int:
        """Workers with an executor."""
        return len(set(self.workers.values()))


@dataclass(frozen=True)
class Drop:
    """How much less crosses nodes, of each tuple or byte that is sent, as predicted and measured.

    Shares, for a source that does not keep its rate sends more or less in the second window.
    """

    unit: str
    predicted: float
    measured: float

    @property
    def difference(self) -> float:
        """Difference of the two as a share of the predicted one."""
        if self.predicted == 0:
            return 0.0 if self.measured == 0 else float("inf")
        return abs(self.measured - self.predicted) / abs(self.predicted)

    @property
    def agrees(self) -> bool:
        """Return whether prediction and measurement agree."""
        return self.difference <= AGREEMENT


@dataclass(frozen=True)
class Loop:
    """Two phases: the second under a placement made from the measurements of the first."""

    before: Phase
    after: Phase
    hosts: tuple[str, ...]
    workers_restarted: int
    reason: str
    settings: Mapping[str, str]

    @property
    def predicted(self) -> Flow:
        """What would travel between nodes if the first phase's traffic were placed anew."""
        return between(self.before.traffic, self.after.hosts)

    @property
    def drops(self) -> tuple[Drop, ...]:
        """In bytes, if any size was measured in both phases, and in tuples."""
        sent, sent_after = total(self.before.traffic), total(self.after.traffic)
        now, then, found = self.before.between_nodes, self.predicted, self.after.between_nodes
        tuples = Drop(
            "tuples",
            _drop(now.tuples, sent.tuples, then.tuples, sent.tuples),
            _drop(now.tuples, sent.tuples, found.tuples, sent_after.tuples),
        )
        if not (sent.bytes and sent_after.bytes):
            return (tuples,)
        sizes = Drop(
            "bytes",
            _drop(now.bytes, sent.bytes, then.bytes, sent.bytes),
            _drop(now.bytes, sent.bytes, found.bytes, sent_after.bytes),
        )
        return sizes, tuples

    @property
    def agrees(self) -> bool:
        """Return whether predictions and measurements agree."""
        return all(drop.agrees for drop in self.drops)


def _drop(before: float, sent_before: float, after: float, sent_after: float) -> float:
    """Return by which share the part of what is sent that crosses nodes is smaller."""
    if not (before and sent_after):
        return 0.0
    return 1 - (after / sent_after) / (before / sent_before)
