"""A cluster that is not there: what topologies are offered, serve and tell, step by step.

Rates follow from the cost model: a topology serves what it is offered, or what the fullest thread,
node or link that it uses lets through. What it cannot serve waits, and is served later, or is lost
once it is older than `PATIENCE_S`. While a worker starts, its topology serves nothing, and tells
nothing of the executors in it. Counts are drawn from Poisson distributions, CPU with `CPU_NOISE`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from stormcut.model.cluster import ClusterState, RunningTopology, Slot, Supervisor, Worker
from stormcut.model.network import Costs
from stormcut.model.placement import Placement
from stormcut.model.plan import Plan
from stormcut.model.problem import Problem
from stormcut.model.profile import Profile, TaskTraffic
from stormcut.objective.resources import CPU, EXECUTOR, LINK_IN, LINK_OUT, uses
from stormcut.profile.decay import Slice
from stormcut.profile.totals import PairTotals, TaskTotals
from stormcut.running.situation import running_problem
from stormcut.simulator.timeline import RESTART_S

#: When second 0 is, since the epoch: a Monday, 00:00 UTC.
EPOCH_S = 1_700_438_400.0

#: Tuples that wait longer are lost: Storm's message timeout.
PATIENCE_S = 30.0
#: Live sources skip what has been due for longer.
LIVE_S = 1.0
#: Tuples that waited longer are late.
LATE_S = 5.0

#: Standard deviation of what a slice tells of an executor's CPU.
CPU_NOISE = 0.05
#: Share of tuples whose bytes the hook samples.
SAMPLED = 0.05
#: Milliseconds that a tuple takes where nothing waits.
AT_REST_MS = 20.0

#: Nimbus takes a supervisor for dead after so long: `nimbus.supervisor.timeout.secs`.
DEAD_S = 60.0


@dataclass(frozen=True)
class Offered:
    """A topology and its load over time.

    Parameters
    ----------
    rate : callable
        Tuples/s that its sources are offered at a second.
    truth : callable
        What every executor and pair does at that second for 1 tuple/s of its sources.
    window : float, optional
        Of sources that are live: so many tuples are under way at most, and what is due is lost
        after `LIVE_S`, or while its source starts. None: sources keep all for `PATIENCE_S`.
    """

    running: RunningTopology
    rate: Callable[[float], float]
    truth: Callable[[float], Profile]
    window: float | None = None

    @cached_property
    def sources(self) -> frozenset[int]:
        """First tasks of the executors that nothing sends to."""
        targets = {stream.target for stream in self.running.streams}
        own = self.running.executors
        return frozenset(e.start_task for e in own if e.component not in targets)


@dataclass(frozen=True)
class Outage:
    """A node that is away from one second to another."""

    node: str
    begin_s: float
    end_s: float


@dataclass
class TopologyTally:
    """What became of a topology's tuples, and what moving it took."""

    offered: float = 0.0
    served: float = 0.0
    late: float = 0.0
    lost: float = 0.0
    behind_s: float = 0.0
    moves: int = 0
    restarts: int = 0


@dataclass
class _SimulatedTopology:
    offered: Offered
    assignment: tuple[Worker, ...] = ()
    waiting: float = 0.0
    starting: dict[Slot, float] = field(default_factory=dict)
    tally: TopologyTally = field(default_factory=TopologyTally)


class World:
    """Nodes, topologies, and the second that it is; topologies begin where they are assigned."""

    def __init__(
        self,
        supervisors: Sequence[Supervisor],
        offered: Sequence[Offered],
        outages: Sequence[Outage] = (),
        costs: Costs | None = None,
        seed: int = 1,
    ) -> None:
        self._supervisors, self._outages, self._costs = tuple(supervisors), tuple(outages), costs
        self._topologies = {
            each.running.id: _SimulatedTopology(each, each.running.assignment) for each in offered
        }
        self._random = np.random.default_rng(seed)
        self.second = 0.0

    @property
    def tallies(self) -> Mapping[str, TopologyTally]:
        """What became of each topology so far."""
        return {name: own.tally for name, own in self._topologies.items()}

    def state(self) -> ClusterState:
        """Return what Nimbus knows: nodes that do not answer are gone after `DEAD_S`."""
        gone = {
            outage.node
            for outage in self._outages
            if outage.begin_s + DEAD_S <= self.second < outage.end_s
        }
        known = tuple(each for each in self._supervisors if each.id not in gone)
        return ClusterState(
            known,
            tuple(
                replace(
                    own.offered.running,
                    assignment=tuple(w for w in own.assignment if w.slot.node not in gone),
                )
                for own in self._topologies.values()
            ),
        )

    def apply(self, plan: Plan) -> None:
        """Do as a plan says; what then runs nowhere is dealt out, as Storm's scheduler would."""
        state = self.state()
        for running in state.topologies:
            part = plan.of(running.id)
            self._assign(running.id, running.assignment if part is None else part.workers)
        for running in self.state().topologies:
            if running.unassigned:
                self._assign(running.id, self._dealt(running))

    def _assign(self, name: str, workers: tuple[Worker, ...]) -> None:
        own = self._topologies[name]
        before = {worker.slot: worker.executors for worker in own.assignment}
        fresh = [w.slot for w in workers if before.get(w.slot) != w.executors]
        if fresh and before and not self._has_lost(own):
            own.tally.moves += 1
        own.tally.restarts += len(fresh) if before else 0
        own.starting |= dict.fromkeys(fresh, self.second + RESTART_S)
        own.assignment = workers
        if own.offered.window is not None:
            forgotten = own.waiting * self._starting_share(own)
            own.waiting -= forgotten
            own.tally.lost += forgotten

    def _starting_share(self, own: _SimulatedTopology) -> float:
        """Return the share of the sources in workers that start."""
        starting = [
            task
            for worker in own.assignment
            if own.starting.get(worker.slot, 0.0) > self.second
            for task in worker.executors
        ]
        return len(own.offered.sources.intersection(starting)) / len(own.offered.sources)

    def _has_lost(self, own: _SimulatedTopology) -> bool:
        away = self._away()
        return any(worker.slot.node in away for worker in own.assignment)

    def _dealt(self, running: RunningTopology) -> tuple[Worker, ...]:
        """Return all workers with the executors that run nowhere in slots that are free."""
        state = self.state()
        taken = {w.slot for each in state.topologies for w in each.assignment}
        by_node = [
            [Slot(node.id, port) for port in node.ports if Slot(node.id, port) not in taken]
            for node in state.supervisors
        ]
        most = max(map(len, by_node))
        free = [slots[index] for index in range(most) for slots in by_node if index < len(slots)]
        slots = free[: max(1, running.workers - len(running.assignment))]
        dealt: dict[Slot, list[int]] = {}
        for index, task in enumerate(running.unassigned):
            dealt.setdefault(slots[index % len(slots)], []).append(task)
        return (*running.assignment, *(Worker(slot, tuple(own)) for slot, own in dealt.items()))

    def _away(self) -> set[str]:
        return {o.node for o in self._outages if o.begin_s <= self.second < o.end_s}

    def step(self, seconds: float) -> dict[str, Slice]:
        """Let time pass; return what every topology tells of it."""
        rates = {name: own.offered.rate(self.second) for name, own in self._topologies.items()}
        profiles = {
            name: own.offered.truth(self.second).scaled(rates[name])
            for name, own in self._topologies.items()
        }
        room = self._room(profiles)
        missed = {
            name: rates[name] * seconds * self._starting_share(own)
            for name, own in self._topologies.items()
            if own.offered.window is not None
        }
        self.second += seconds
        slices = {}
        for name, own in self._topologies.items():
            served = self._serve(own, rates[name], room[name], missed.get(name, 0.0), seconds)
            truth = own.offered.truth(self.second - seconds).scaled(served)
            if slice_ := self._slice(own, truth, served, seconds):
                slices[name] = slice_
        return slices

    def _room(self, profiles: Mapping[str, Profile]) -> dict[str, float]:
        """Return how many times its rate each topology could serve; 0 where a part is away."""
        topologies = [
            replace(own.offered.running, assignment=own.assignment)
            for own in self._topologies.values()
        ]
        state = ClusterState(self._supervisors, tuple(topologies))
        problem = running_problem(state, profiles, costs=self._costs)
        shares = _shares(problem)
        away = self._away()
        rooms = {}
        for ordinal, topology in enumerate(problem.topologies):
            own = self._topologies[topology.id]
            used = float(shares[problem.executor_topology == ordinal].max(initial=0.0))
            is_whole = not any(
                worker.slot.node in away or own.starting.get(worker.slot, 0.0) > self.second
                for worker in own.assignment
            )
            rooms[topology.id] = 1.0 / max(used, 1e-9) if is_whole and own.assignment else 0.0
        return rooms

    def _serve(
        self, own: _SimulatedTopology, rate: float, room: float, missed: float, seconds: float
    ) -> float:
        """Return the tuples/s that are served, and count what becomes of the others."""
        tally = own.tally
        came = rate * seconds
        served = min(own.waiting + came - missed, rate * room * seconds)
        delay = own.waiting / max(served / seconds, 1e-9)
        own.waiting += came - missed - served
        lost = max(0.0, own.waiting - _most_waiting(own.offered, rate))
        own.waiting -= lost
        tally.offered += came
        tally.served += served
        tally.lost += lost + missed
        tally.late += served if delay > LATE_S else 0.0
        tally.behind_s += seconds if own.waiting > 0.01 * came else 0.0
        return served / seconds

    def _slice(
        self, own: _SimulatedTopology, profile: Profile, served: float, seconds: float
    ) -> Slice | None:
        slot_of = {task: worker.slot for worker in own.assignment for task in worker.executors}
        away = self._away()
        speaks = {
            task: slot
            for task, slot in slot_of.items()
            if slot.node not in away and own.starting.get(slot, 0.0) < self.second
        }
        if not speaks or served <= 0.0:
            return None
        hosts = {each.id: each.host for each in self._supervisors}
        pairs = [t for t in profile.traffic if t.source_task in speaks]
        counts = self._random.poisson([t.tuples_per_second * seconds for t in pairs])
        totals = self._tasks(own, profile, speaks, hosts, served, seconds)
        for pair, count in zip(pairs, counts.tolist(), strict=True):
            _count(totals, pair, int(count), slot_of, speaks)
        return Slice(
            EPOCH_S + self.second - seconds,
            int(EPOCH_S + self.second),
            tuple(totals.values()),
            tuple(_pairs(pairs, counts.tolist())),
        )

    def _tasks(
        self,
        own: _SimulatedTopology,
        profile: Profile,
        speaks: Mapping[int, Slot],
        hosts: Mapping[str, str],
        served: float,
        seconds: float,
    ) -> dict[int, TaskTotals]:
        ms = 1000.0 * seconds
        spouts = [e for e in profile.executors if e.start_task in own.offered.sources]
        totals = {}
        for load in profile.executors:
            if load.start_task not in speaks:
                continue
            slot = speaks[load.start_task]
            noise = max(0.0, 1.0 + CPU_NOISE * self._random.standard_normal())
            acked = served * seconds / len(spouts) if load in spouts else 0.0
            totals[load.start_task] = TaskTotals(
                load.start_task,
                load.component,
                (load.start_task, load.end_task),
                ms,
                acked=acked,
                completed=acked,
                complete_ms=acked * (AT_REST_MS + 1000.0 * own.waiting / served),
                thread_ms=ms,
                thread_cpu_ms=ms * load.cpu_percent / 100.0 * noise,
                workers=((hosts[slot.node], slot.port),),
            )
        return totals


def _most_waiting(offered: Offered, rate: float) -> float:
    """Return the tuples that may wait."""
    return rate * PATIENCE_S if offered.window is None else offered.window + rate * LIVE_S


def _count(
    totals: dict[int, TaskTotals],
    pair: TaskTraffic,
    count: int,
    slot_of: Mapping[int, Slot],
    speaks: Mapping[int, Slot],
) -> None:
    here, there = speaks[pair.source_task], slot_of[pair.target_task]
    sender = totals[pair.source_task]
    totals[pair.source_task] = replace(
        sender,
        sent=sender.sent + count,
        local=sender.local + count * (here == there),
        between_workers=sender.between_workers + count * (here != there),
        between_nodes=sender.between_nodes + count * (here.node != there.node),
    )
    if pair.target_task in totals:
        taker = totals[pair.target_task]
        totals[pair.target_task] = replace(taker, executed=taker.executed + count)


def _pairs(pairs: Sequence[TaskTraffic], counts: Sequence[float]) -> Iterator[PairTotals]:
    for pair, count in zip(pairs, counts, strict=True):
        sampled = SAMPLED * count
        content = sampled * (pair.bytes_per_tuple or 0.0)
        yield PairTotals(pair.source_task, pair.target_task, count, sampled, content)


def _shares(problem: Problem) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the share of the fullest resource that each executor uses, shape (executors,)."""
    assert problem.current is not None
    placement = Placement(problem.current.slots)
    used = {use.kind: use.share for use in uses(problem, placement)}
    placed = placement.slots >= 0
    hosts = problem.slot_hosts[np.where(placed, placement.slots, 0)]
    by_node = np.maximum.reduce([used[CPU], used[LINK_OUT], used[LINK_IN]])
    shares: np.ndarray[tuple[int], np.dtype[np.float64]] = np.maximum(
        used[EXECUTOR], np.where(placed, by_node[hosts], 0.0)
    )
    return shares
