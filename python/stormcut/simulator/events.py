"""The discrete-event engine: every tuple, thread, node's CPU and link, in order of time.

A tuple waits for its executor's thread, runs on the node's CPU, which all that runs there shares
alike, a core each at most, and sends what its routes say, in number and direction drawn at random.
Between workers it passes the sender's transfer thread, links and uplinks in turn, and the
receiver's thread. Times are integer nanoseconds, and every executor draws from random streams of
its own, so that a seed gives the same result on every machine, and placements share their draws.
Takes O(log(nodes + links + workers + sources)) an event.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.model.errors import InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.native.library import (
    BOOLS,
    FLOATS,
    INT,
    INT_ROWS,
    INTS,
    NativeRecord,
    function,
)
from stormcut.objective.resources import (
    CPU,
    EXECUTOR,
    LINK_IN,
    LINK_OUT,
    UPLINK_IN,
    UPLINK_OUT,
)
from stormcut.simulator.simulation import (
    EVENTS,
    NEARLY_FULL,
    Latency,
    Simulation,
    Utilisation,
    named_uses,
)
from stormcut.simulator.system import NS, System, system_of

#: Unless seconds are given, so many tuples are executed, in this many seconds at least and at most.
EXECUTIONS, MIN_S, MAX_S = 2e6, 10.0, 1e6
#: Part of the seconds that is not counted, before the others, unless given.
WARM_UP = 0.2

#: Tuples that may be under way: of more it is clear that something is full.
MAX_TUPLES = 5_000_000
#: Events between two looks at progress, and the most of a run.
STEP_EVENTS, MAX_EVENTS = 2_000_000, 20_000_000_000

#: In use to this part, a resource is full.
FULL = 0.999
#: Of what sources emit, what may be left over at the end beside what was there before; and tuples.
LEFT_OVER, FEW = 0.02, 100

#: Buckets of latencies, as in events.cpp: 2 ** 7 a power of two.
FINE_BITS, BUCKETS = 7, 8192


class Counts(NamedTuple):
    """What the engine adds up, as in events.cpp."""

    executed: Ints
    work: Floats
    held: Floats
    cpu: Floats
    carried: Floats
    latency: Ints
    latency_sum: Floats
    lost: Ints
    failed: Ints
    refused: Ints

    def copy(self) -> Counts:
        """Return them as they are now."""
        return Counts._make(each.copy() for each in self)

    def since(self, before: Counts) -> Counts:
        """Return what has come since earlier ones."""
        return Counts._make(now - then for now, then in zip(self, before, strict=True))


_EXECUTORS = NativeRecord(
    *(INTS, INTS, FLOATS, FLOATS, FLOATS, INTS, FLOATS),
    *(BOOLS, INTS, BOOLS, FLOATS, BOOLS, INTS, FLOATS, INTS),
)
_ROUTES = NativeRecord(FLOATS, INTS, INTS, INTS, *[FLOATS] * 7)
_CLUSTER = NativeRecord(
    INTS, BOOLS, FLOATS, FLOATS, FLOATS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS
)
_COUNTS = NativeRecord(INTS, FLOATS, FLOATS, FLOATS, FLOATS, INT_ROWS, FLOATS, INTS, INTS, INTS)
_POINTER = ctypes.c_void_p
_new = function(
    "simulation_new",
    _EXECUTORS,
    _ROUTES,
    _CLUSTER,
    _COUNTS,
    ctypes.c_uint64,
    INT,
    result=_POINTER,
)
_run = function("simulation_run", _POINTER, INT, INT, result=INT)
_time = function("simulation_time", _POINTER, result=INT)
_alive = function("simulation_alive", _POINTER, result=INT)
_settle = function("simulation_settle", _POINTER)
_free = function("simulation_free", _POINTER)
_node_changed = function("simulation_node_changed", _POINTER, INT)
_source_changed = function("simulation_source_changed", _POINTER, INT)
_ended = function("simulation_ended", _POINTER, INT)

#: Called between steps with the seconds that are simulated and those wanted.
Progress = Callable[[float, float], None]


class Engine:
    """A run of the events engine; `running` makes one."""

    def __init__(self, system: System, seed: int, topologies: int) -> None:
        executors, nodes = len(system.executors.worker), len(system.cluster.cores)
        links = 2 * nodes + 2 * len(system.cluster.up)
        self.system = system
        self.counts = Counts(
            np.zeros(executors, dtype=np.int64),
            np.zeros(executors),
            np.zeros(executors),
            np.zeros(nodes),
            np.zeros(links),
            np.zeros((topologies, BUCKETS), dtype=np.int64),
            np.zeros(topologies),
            np.zeros(topologies, dtype=np.int64),
            np.zeros(topologies, dtype=np.int64),
            np.zeros(topologies, dtype=np.int64),
        )
        self.events = 0
        self._pointer = _new(
            system.executors, system.routes, system.cluster, self.counts, seed, MAX_TUPLES
        )

    @property
    def seconds(self) -> float:
        """Simulated so far."""
        return float(_time(self._pointer)) / NS

    @property
    def alive(self) -> int:
        """Tuples that are under way."""
        return int(_alive(self._pointer))

    def run(self, until_s: float, progress: Progress) -> bool:
        """Simulate to this second; False if so many tuples pile up that it makes no sense.

        Raises
        ------
        InvalidInput
            Nothing takes time, so that time stands still.
        """
        until = int(until_s * NS)
        while True:
            before = _time(self._pointer)
            events = _run(self._pointer, until, STEP_EVENTS)
            self.events += events
            if events < STEP_EVENTS:
                _settle(self._pointer)
                return self.alive <= MAX_TUPLES
            if self.events > MAX_EVENTS:
                raise InvalidInput(f"more than {MAX_EVENTS:,} events: simulate fewer --seconds")
            if _time(self._pointer) == before:
                raise InvalidInput(
                    "time stands still: nothing limits what sources send, as no component that "
                    "they lead to takes CPU"
                )
            progress(self.seconds, until_s)

    def forget(self) -> None:
        """Count from now on."""
        _settle(self._pointer)
        for each in self.counts:
            each[...] = 0

    def node_changed(self, node: int) -> None:
        """Go on with what the arrays now say of a node's CPU."""
        _node_changed(self._pointer, node)

    def source_changed(self, executor: int) -> None:
        """Go on with what the arrays now say of a source's rate or window."""
        _source_changed(self._pointer, executor)

    def end(self, slot: int) -> None:
        """End the worker of a slot: what waits in it is lost; `start` starts it again."""
        self.system.cluster.running[slot] = False
        _ended(self._pointer, slot)

    def start(self, slot: int) -> None:
        """Start the worker of a slot."""
        self.system.cluster.running[slot] = True
        executors = self.system.executors
        for source in np.flatnonzero((executors.worker == slot) & executors.is_source).tolist():
            self.source_changed(source)

    def close(self) -> None:
        """Give back its memory."""
        _free(self._pointer)


@contextmanager
def running(system: System, seed: int, topologies: int) -> Iterator[Engine]:
    """Yield an engine at second 0."""
    engine = Engine(system, seed, topologies)
    try:
        yield engine
    finally:
        engine.close()


def simulate(
    problem: Problem,
    placement: Placement,
    *,
    closed: bool = False,
    seconds: float | None = None,
    warm_up: float | None = None,
    seed: int = 1,
    flush_ms: float | None = None,
    containers: bool = False,
    progress: Progress = lambda done, wanted: None,
) -> Simulation:
    """Return what a placement does, tuple by tuple.

    Parameters
    ----------
    closed : bool
        Sources send as fast as `topology.max.spout.pending` allows; else at the problem's rates.
    seconds, warm_up : float, optional
        Simulated after the warm-up, and before it. None: until `EXECUTIONS` tuples are executed,
        and a fifth as long.
    flush_ms, containers
        See `system_of`.

    Raises
    ------
    InvalidInput
        The problem cannot be simulated: see `system_of` and `Engine.run`.
    """
    system = system_of(problem, placement, closed, flush_ms, containers)
    if seconds is None:
        wanted = max(float(system.wanted.sum()), 1e-9)
        seconds = float(np.clip(EXECUTIONS / wanted, MIN_S, MAX_S))
    before = seconds * WARM_UP if warm_up is None else warm_up
    with running(system, seed, len(problem.topologies)) as engine:
        total = before + seconds
        fits = engine.run(before, lambda done, _: progress(done, total))
        backlog = engine.alive
        start = engine.seconds
        if fits:
            engine.forget()
            fits = engine.run(total, lambda done, _: progress(done, total))
        else:
            start = 0.0
        return _result(problem, engine, engine.seconds - start, backlog, fits, closed)


def _result(
    problem: Problem, engine: Engine, seconds: float, backlog: int, fits: bool, closed: bool
) -> Simulation:
    counts, emits = engine.counts, engine.system.executors.is_source
    uses = _uses(problem, engine, seconds)
    fullest = uses[0].value if uses else 0.0
    emitted = float(counts.executed[emits].sum())
    piles_up = engine.alive - backlog > max(FEW, LEFT_OVER * emitted)
    saturated = fullest >= NEARLY_FULL if closed else not fits or piles_up or fullest >= FULL
    sources: dict[str, float] = {}
    executed: dict[str, dict[str, float]] = {each.id: {} for each in problem.topologies}
    held: dict[str, dict[str, float]] = {each.id: {} for each in problem.topologies}
    begin = 0
    for topology in problem.topologies:
        sources[topology.id] = 0.0
        for component in topology.components:
            own = slice(begin, begin + component.executors)
            rate = float(counts.executed[own].sum()) / seconds
            executed[topology.id][component.name] = rate
            held[topology.id][component.name] = float(counts.held[own].sum()) / NS / seconds
            sources[topology.id] += rate if component.kind == "spout" else 0.0
            begin += component.executors
    latency = {
        topology.id: times
        for ordinal, topology in enumerate(problem.topologies)
        if (times := latency_of(counts, ordinal)) is not None
    }
    refused = dict(zip(sources, (counts.refused / seconds).tolist(), strict=True))
    return Simulation(
        EVENTS, seconds, sources, executed, latency, uses, saturated, engine.events, held, refused
    )


def latency_of(counts: Counts, topology: int) -> Latency | None:
    """Return how long the trees of a topology took that ended, None if none did."""
    own = counts.latency[topology]
    total = int(own.sum())
    if not total:
        return None
    mean = float(counts.latency_sum[topology]) / total / 1e6
    return Latency(mean, *(_quantile(own, total, share) for share in (0.5, 0.95, 0.99)))


def _quantile(own: Ints, total: int, share: float) -> float:
    """Return the latency in ms that this share of the trees does not exceed."""
    running = np.cumsum(own)
    bucket = int(np.searchsorted(running, share * total))
    within = (share * total - (running[bucket] - own[bucket])) / own[bucket]
    low, width = _bounds(bucket)
    return (low + float(within) * width) / 1e6


def _bounds(bucket: int) -> tuple[float, float]:
    """Return where a bucket begins, and its width, in ns."""
    shift = max((bucket >> FINE_BITS) - 1, 0)
    return float((bucket - (shift << FINE_BITS)) << shift), float(1 << shift)


def _uses(problem: Problem, engine: Engine, seconds: float) -> tuple[Utilisation, ...]:
    cluster, counts = engine.system.cluster, engine.counts
    nodes, racks = len(cluster.cores), len(cluster.up)
    ends = np.cumsum([nodes, nodes, racks, racks])[:-1]
    out, into, up, down = np.split(counts.carried, ends)
    ns = seconds * NS
    shares = {
        EXECUTOR: counts.work / ns / problem.executor_threads,
        CPU: counts.cpu / ns / cluster.cores,
        LINK_OUT: out / seconds / cluster.out,
        LINK_IN: into / seconds / cluster.into,
        UPLINK_OUT: up / seconds / cluster.up,
        UPLINK_IN: down / seconds / cluster.down,
    }
    return named_uses(
        problem,
        (
            (kind, index, float(value))
            for kind, values in shares.items()
            for index, value in enumerate(values)
            if value > 0
        ),
    )
