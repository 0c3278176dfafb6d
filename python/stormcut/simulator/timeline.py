"""The events engine over time: changes happen, and every interval says what became of it.

A worker that ends loses what waits in it; trees that miss a tuple fail after Storm's message
timeout, and hold their place in the window until then. It starts again ``restart_s`` later, which
stands for Nimbus's and the supervisor's rounds and the start of a JVM.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt

from stormcut.model.errors import InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.simulator.changes import (
    Change,
    LoadChange,
    NodeBack,
    NodeLost,
    SimulatedMove,
    SpeedChange,
    WorkersKilled,
)
from stormcut.simulator.events import Counts, Engine, Progress, latency_of, running
from stormcut.simulator.simulation import Latency
from stormcut.simulator.system import Executors, System, system_of

#: From the order to move a worker until it runs again, or from a node's return: moves held
#: topologies up for 8 s (docs/results/simulator-transients.md).
RESTART_S = 10.0

#: Part of that after which a killed worker runs again, in 4 s there: Nimbus and supervisor need
#: not agree on anything, nor wait for the worker to end.
KILLED = 0.4

#: Intervals of a run, unless their length is given.
INTERVALS = 60


@dataclass(frozen=True)
class TimelineInterval:
    """What happened from ``begin`` to ``end``, in seconds.

    ``sources`` and ``executed`` are in tuples/s, by topology; ``under_way`` are tuples at its end;
    ``lost`` tuples went nowhere, and ``failed`` trees ran out of time.
    """

    begin: float
    end: float
    sources: Mapping[str, float]
    executed: Mapping[str, float]
    latency: Mapping[str, Latency]
    under_way: int
    lost: int
    failed: int


def over_time(
    problem: Problem,
    placement: Placement,
    changes: Sequence[Change],
    *,
    seconds: float,
    every: float | None = None,
    closed: bool = False,
    seed: int = 1,
    flush_ms: float | None = None,
    containers: bool = False,
    restart_s: float = RESTART_S,
    progress: Progress = lambda done, wanted: None,
) -> tuple[TimelineInterval, ...]:
    """Return what a placement does from second 0 on, interval by interval.

    Parameters
    ----------
    changes : sequence of Change
        In order of time.
    every : float, optional
        Length of an interval in seconds; None: a part in `INTERVALS` of all.
    closed, seed, flush_ms, containers
        See `stormcut.simulator.events.simulate`.

    Raises
    ------
    InvalidInput
        Changes go back in time, or name what is not there; or see `simulate`.
    """
    _check(problem, changes)
    step = seconds / INTERVALS if every is None else every

    def system(placed: Placement) -> System:
        return system_of(problem, placed, closed, flush_ms, containers)

    first = system(placement)
    with running(first, seed, len(problem.topologies)) as engine:
        stage = _TimelineRun(problem, engine, system, placement, restart_s)
        stops = [index * step for index in range(1, int(np.ceil(seconds / step - 1e-9)) + 1)]
        for change in changes:
            stage.later(change.second, lambda change=change: stage.happens(change))  # type: ignore[misc]
        intervals, before, begin = [], engine.counts.copy(), 0.0
        for end in (min(each, seconds) for each in stops):
            if not stage.run(end, lambda done, _: progress(done, seconds)):
                break
            after = engine.counts.copy()
            span = begin, end
            intervals.append(
                _interval(problem, first.executors, span, after.since(before), engine.alive)
            )
            before, begin = after, end
        return tuple(intervals)


def _check(problem: Problem, changes: Sequence[Change]) -> None:
    nodes = {node.id for node in problem.nodes}
    topologies = {topology.id for topology in problem.topologies}
    last = 0.0
    for change in changes:
        if change.second < last:
            raise InvalidInput(
                f"second {change.second:g} comes after second {last:g}: time does not go back"
            )
        last = change.second
        node, topology = getattr(change, "node", None), getattr(change, "topology", None)
        if node is not None and node not in nodes:
            raise InvalidInput(f"second {change.second:g}: there is no node {node!r}")
        if topology is not None and topology not in topologies:
            raise InvalidInput(f"second {change.second:g}: there is no topology {topology!r}")


class _TimelineRun:
    """An engine, what it was at first, and what is still to happen."""

    def __init__(
        self,
        problem: Problem,
        engine: Engine,
        system: Callable[[Placement], System],
        placement: Placement,
        restart_s: float,
    ) -> None:
        self.problem, self.engine, self.system = problem, engine, system
        self.placement, self.restart_s = placement, restart_s
        self.rates = engine.system.executors.rate.copy()
        self.cores = engine.system.cluster.cores.copy()
        self.speed = np.ones(len(self.cores))
        self.links = (engine.system.cluster.out.copy(), engine.system.cluster.into.copy())
        self.lost: set[int] = set()
        #: When each slot's worker may start, the last time that it ended.
        self.starts: dict[int, float] = {}
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def later(self, at: float, do: Callable[[], None]) -> None:
        """Have something done at a second."""
        heapq.heappush(self._due, (at, next(self._numbers), do))

    def run(self, until: float, progress: Progress) -> bool:
        """Simulate to a second with all that is due before it; False once too much piles up."""
        while self._due and self._due[0][0] < until:
            moment, _, do = heapq.heappop(self._due)
            if not self.engine.run(moment, progress):
                return False
            do()
        return self.engine.run(until, progress)

    def happens(self, change: Change) -> None:
        """Do what a change says."""
        match change:
            case LoadChange():
                self._load(change)
            case SpeedChange():
                self._speed(change)
            case NodeLost():
                self.lost.add(self._ordinal(change.node))
                self._end(self._used(self._ordinal(change.node)))
            case NodeBack():
                self.lost.discard(self._ordinal(change.node))
                self._start_later(self._used(self._ordinal(change.node)))
            case WorkersKilled():
                used = self._used(self._ordinal(change.node))
                self._end(used)
                self._start_later(used, KILLED)
            case SimulatedMove():
                self._move(change.placement)

    def _ordinal(self, node: str) -> int:
        return [each.id for each in self.problem.nodes].index(node)

    def _used(self, node: int) -> list[int]:
        used = np.unique(self.placement.slots)
        return [int(each) for each in used[self.problem.slot_hosts[used] == node]]

    def _load(self, change: LoadChange) -> None:
        executors = self.engine.system.executors
        own = executors.is_source.copy()
        if change.topology is not None:
            names = [topology.id for topology in self.problem.topologies]
            own &= executors.topology == names.index(change.topology)
        executors.rate[own] = self.rates[own] * change.factor
        for source in np.flatnonzero(own).tolist():
            self.engine.source_changed(source)

    def _speed(self, change: SpeedChange) -> None:
        node, cluster = self._ordinal(change.node), self.engine.system.cluster
        if change.cpu is not None:
            self.speed[node] = change.cpu
            cluster.cores[node] = self.cores[node] * change.cpu
            self.engine.node_changed(node)
        if change.link is not None:
            for now, before in zip((cluster.out, cluster.into), self.links, strict=True):
                now[node] = before[node] * change.link

    def _end(self, slots: Sequence[int]) -> None:
        for slot in slots:
            self.engine.end(slot)

    def _start_later(self, slots: Sequence[int], part: float = 1.0) -> None:
        moment = self.engine.seconds + part * self.restart_s
        for slot in slots:
            self.starts[slot] = max(moment, self.starts.get(slot, moment))
        self.later(moment, lambda: self._start(slots, moment))

    def _start(self, slots: Sequence[int], at: float) -> None:
        for slot in slots:
            # What has ended again meanwhile starts later.
            due = self.starts[slot] <= at
            if due and int(self.problem.slot_hosts[slot]) not in self.lost:
                self.engine.start(slot)

    def _move(self, target: Placement) -> None:
        before, after = self.placement.slots, target.slots
        moved = before != after
        changed = np.unique(np.concatenate((before[moved], after[moved]))).tolist()
        self._end(changed)
        fresh, now = self.system(target), self.engine.system
        now.executors.worker[:] = fresh.executors.worker
        for was, becomes in zip(now.routes, fresh.routes, strict=True):
            was[...] = becomes
        self.cores[:] = fresh.cluster.cores
        now.cluster.cores[:] = self.cores * self.speed
        for node in range(len(self.cores)):
            self.engine.node_changed(node)
        self.placement = target
        self._start_later([slot for slot in changed if (after == slot).any()])


def _interval(
    problem: Problem,
    executors: Executors,
    span: tuple[float, float],
    delta: Counts,
    alive: int,
) -> TimelineInterval:
    begin, end = span
    names = [topology.id for topology in problem.topologies]

    def rate(which: npt.NDArray[np.bool_]) -> dict[str, float]:
        totals = np.bincount(executors.topology, delta.executed * which, len(names))
        return dict(zip(names, (totals / (end - begin)).tolist(), strict=True))

    latencies = {name: latency_of(delta, index) for index, name in enumerate(names)}
    return TimelineInterval(
        begin,
        end,
        rate(executors.is_source),
        rate(~executors.is_source),
        {name: each for name, each in latencies.items() if each is not None},
        alive,
        int(delta.lost.sum()),
        int(delta.failed.sum()),
    )
