"""Queueing systems whose answer is known in closed form, as problems for the simulator.

Rates are tuples/s, times ms. Every value follows from a formula of the textbooks, named with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

import numpy as np
from scipy import stats

from stormcut.model.network import Costs, HopDelay, Link
from stormcut.model.placement import Placement
from stormcut.model.problem import Component, Node, Problem, Stream, Topology
from stormcut.simulator.events import simulate
from stormcut.simulator.simulation import Simulation

#: What workers and transfer cost in theory.
FREE = Costs(0.0, 0.0, 0.0, 0.0, 0.0)

#: Servers that never make a tuple wait.
MANY = 10_000.0

#: Of a case, each with a seed of its own.
REPLICATIONS = 20

Read = Callable[[Simulation], float]


@dataclass(frozen=True)
class Case:
    """A system and what is known of it.

    ``slots`` are ordinals by ``topology.component``, 0 where none is given; ``closed`` and
    ``containers`` as `simulate` takes them.
    """

    name: str
    formula: str
    problem: Problem
    exact: Mapping[str, tuple[float, Read]]
    seconds: float = 2_000.0
    closed: bool = False
    containers: bool = False
    slots: Mapping[str, int] = field(default_factory=dict)
    placement: Placement = field(init=False)

    def __post_init__(self) -> None:
        at = [self.slots.get(name, 0) for name in self._components()]
        object.__setattr__(self, "placement", Placement(np.array(at, dtype=np.int64)))

    def _components(self) -> list[str]:
        return [f"{t.id}.{c.name}" for t in self.problem.topologies for c in t.components]

    def run(self, seed: int) -> Simulation:
        """Simulate it."""
        return simulate(
            self.problem,
            self.placement,
            closed=self.closed,
            seconds=self.seconds,
            warm_up=self.seconds / 10,
            seed=seed,
            containers=self.containers,
        )


@dataclass(frozen=True)
class Found:
    """Mean of replications, and half the width of its interval of 99 %."""

    name: str
    exact: float
    mean: float
    half: float

    @property
    def agrees(self) -> bool:
        """Whether the exact value is within the interval, or within a thousandth."""
        return abs(self.mean - self.exact) <= max(self.half, 1e-3 * abs(self.exact))


def replicated(case: Case, runs: Sequence[Simulation]) -> list[Found]:
    """Return what simulations of a case, each with a seed of its own, say beside what is exact."""
    factor = float(stats.t.ppf(0.995, len(runs) - 1)) / math.sqrt(len(runs))
    found = []
    for name, (exact, read) in case.exact.items():
        values = np.array([read(run) for run in runs])
        found.append(Found(name, exact, float(values.mean()), factor * float(values.std(ddof=1))))
    return found


def _component(
    name: str,
    ms: float = 0.0,
    kind: str = "bolt",
    service: str = "exponential",
    threads: float = 1.0,
    arrivals: str = "poisson",
) -> Component:
    one = np.ones(1)
    return Component(name, kind, 1, 0 * one, one, ms * 1e3, threads, service, arrivals)


_source = partial(_component, kind="spout")


def _line(*parts: Component, rate: float) -> tuple[Stream, ...]:
    return tuple(Stream(a.name, b.name, rate) for a, b in pairwise(parts))


def _chain(*parts: Component, rate: float, window: int | None = None, name: str = "t") -> Topology:
    return Topology(name, parts, _line(*parts, rate=rate), max_spout_pending=window)


def _on(topologies: Sequence[Topology], *nodes: Node) -> Problem:
    return Problem(nodes or (Node("n", (1,)),), tuple(topologies), costs=FREE)


def _latency(name: str, topology: str = "t") -> Read:
    return lambda run: float(getattr(run.latency[topology], name))


def _rate(topology: str = "t") -> Read:
    return lambda run: run.sources[topology]


def _held(component: str) -> Read:
    return lambda run: run.held["t"][component]


def _executed(component: str) -> Read:
    return lambda run: run.executed["t"][component]


def _used(kind: str) -> Read:
    """Return the mean use of the resources of a kind that are used."""

    def read(run: Simulation) -> float:
        used = [use.value for use in run.uses if use.resource.kind == kind]
        return sum(used) / len(used)

    return read


def _latencies(*values: float) -> dict[str, tuple[float, Read]]:
    named = zip(("mean", "p50", "p95", "p99"), values, strict=False)
    return {f"{name} ms": (value, _latency(name)) for name, value in named}


def _open() -> list[Case]:
    s = _source("s")
    fixed = partial(_component, service="deterministic")
    cpu = Node("n", (1, 2, 3, 4), cpu_percent=100.0)
    mixed = [
        _chain(s, fixed("b", 1.0, threads=MANY), rate=72.0, name="short"),
        _chain(s, fixed("b", 91.0, threads=MANY), rate=8.0, name="long"),
    ]
    parts = (s, _component("a", 10.0), _component("b", 20.0), _component("c", 25.0))
    jackson = Topology(
        "t",
        parts,
        (
            Stream("s", "a", 50.0),
            Stream("a", "b", 37.5, stream="right"),
            Stream("a", "c", 25.0, stream="left"),
            Stream("c", "a", 12.5),
        ),
    )
    return [
        Case(
            "M/M/1, 80 of 100",
            "exponential",
            _on([_chain(s, _component("b", 10.0), rate=80.0)]),
            _latencies(50.0, 34.657, 149.787, 230.259),
        ),
        Case(
            "M/D/1, 80, D 10",
            "Pollaczek-Khinchine, Erlang",
            _on([_chain(s, fixed("b", 10.0), rate=80.0)]),
            _latencies(30.0, 22.76, 76.20, 113.56),
        ),
        Case(
            "M/M/2, 170 of 2 x 100",
            "Erlang C",
            _on([_chain(s, _component("b", 10.0, threads=2.0), rate=170.0)]),
            _latencies(36.036),
        ),
        Case(
            "M/G/1-PS, 80; 1 (90 %) or 91 ms",
            "x / (1 - load)",
            _on(mixed, cpu),
            {
                "short ms": (5.0, _latency("mean", "short")),
                "long ms": (455.0, _latency("mean", "long")),
            },
            seconds=20_000.0,
            slots={"long.s": 1, "long.b": 1},
        ),
        Case(
            "tandem, 60 into 100, 80, 120",
            "Burke",
            _on(
                [
                    _chain(
                        s,
                        _component("a", 10.0),
                        _component("b", 12.5),
                        _component("c", 1e3 / 120),
                        rate=60.0,
                    )
                ]
            ),
            _latencies(91.667, 78.92, 203.87, 285.02),
        ),
        Case(
            "Jackson: A(100) to B(50) .6 or C(40) .4, C to A .5",
            "Jackson",
            _on([jackson]),
            {
                "mean ms": (126.667, _latency("mean")),
                "tuples there": (
                    6.3333,
                    lambda run: sum(run.held["t"][name] for name in "abc"),
                ),
            },
        ),
    ]


def _closed() -> list[Case]:
    s = _source("s")
    ring = [_component(name, 10.0) for name in "abcd"]
    think = _component("think", 4.0, threads=MANY)
    stations = (think, _component("a", 5.0), _component("b", 10.0), _component("c", 20.0))
    one, two, three = (Node(name, (1, 2), cpu_percent=100.0) for name in "xyz")
    free = partial(_component, threads=MANY)
    classes = [
        _chain(s, free("a", 10.0), free("b", 5.0), rate=50.0, window=6, name="A"),
        _chain(s, free("b", 5.0), free("c", 8.0), rate=50.0, window=3, name="B"),
    ]
    mbit = 8.0  # 1,000 tuples of 1,000 bytes a second
    flows = [
        Topology(
            name,
            (s, _component("b")),
            (Stream("s", "b", 100.0, bytes_per_tuple=1000.0),),
            max_spout_pending=2_000,
        )
        for name in ("both", "first", "second")
    ]
    p, q, r = (
        Node("p", (1, 2), link=Link(mbit, None)),
        Node("q", (1, 2)),
        Node("r", (1, 2), link=Link(None, mbit)),
    )
    return [
        Case(
            "ring of 4 x 10, N 10",
            "mean value analysis",
            _on([_chain(s, *ring, rate=50.0, window=10)]),
            {"tuples/s": (76.923, _rate()), "mean ms": (130.0, _latency("mean"))},
            closed=True,
        ),
        Case(
            "ring 5, 10, 20, think 4, N 8",
            "mean value analysis",
            _on([_chain(s, *stations, rate=40.0, window=8)]),
            {
                "tuples/s": (49.821, _rate()),
                "mean ms, with thinking": (160.575, _latency("mean")),
                "tuples at c": (6.497, _held("c")),
            },
            closed=True,
        ),
        Case(
            "PS; 6 of A (10, 5, 0), 3 of B (0, 5, 8)",
            "mean value analysis of two classes",
            _on(classes, Node("w", (1, 2)), one, two, three),
            {"A tuples/s": (94.508, _rate("A")), "B tuples/s": (86.400, _rate("B"))},
            closed=True,
            slots={"A.s": 0, "A.a": 2, "A.b": 4, "B.s": 1, "B.b": 5, "B.c": 6},
        ),
        Case(
            "two links of 1,000/s, a flow over both, one on each",
            "proportional fairness, wide windows",
            _on(flows, p, q, r),
            {
                "over both": (333.33, _rate("both")),
                "first": (666.67, _rate("first")),
                "second": (666.67, _rate("second")),
            },
            closed=True,
            seconds=500.0,
            slots={
                **{"both.s": 0, "both.b": 4},
                **{"first.s": 1, "first.b": 2},
                **{"second.s": 3, "second.b": 5},
            },
        ),
    ]


def _containers() -> list[Case]:
    s = _source("s")
    fixed = partial(_component, service="deterministic")
    quota = _chain(s, fixed("b", 2.0), rate=50.0, window=1)
    burst = Topology(
        "t",
        (_source("s", arrivals="uniform"), _component("b")),
        (Stream("s", "b", 0.5, bytes_per_tuple=100_000.0),),
    )
    return [
        Case(
            "quota 25 of 100, window 1, work 2",
            "12.5 in a period; then until its end",
            _on([quota], Node("n", (1,), cpu_percent=25.0)),
            {"tuples/s": (125.0, _rate()), "mean ms": (8.0, _latency("mean"))},
            closed=True,
            containers=True,
        ),
        Case(
            "token bucket, 5 Mbit/s: 100,000 bytes, 32,768 at once",
            "(100,000 - 32,768) / 625,000",
            _on([burst], Node("p", (1,), link=Link(5.0, None)), Node("q", (1,))),
            {"mean ms": (107.57, _latency("mean"))},
            containers=True,
            slots={"t.b": 1},
        ),
    ]


def _delays() -> list[Case]:
    """Ways between nodes, full buffers, losses, and tasks that wait without CPU."""
    fixed = partial(_component, service="deterministic")
    far = _chain(_source("s"), fixed("b", 1.0), rate=50.0)
    hop = HopDelay(200.0, 100.0)
    nodes = tuple(Node(f"n{i}", (1,)) for i in range(4))
    buffered = replace(_component("b", 8.0), buffer=4)
    dropped = _chain(_source("s"), buffered, rate=100.0)
    again = replace(dropped, resend_ms=50.0)
    lossy = replace(far, loss=0.1, resend_ms=20.0)
    # 100/s into 125/s, five tuples at most.
    full = 0.8**5 * 0.2 / (1 - 0.8**6)
    waits = _component("w", 2.0, threads=0.2)
    crowd = [_chain(_source("s"), waits, rate=60.0, name=name) for name in "ab"]
    return [
        Case(
            "hop over three places",
            "0.2 + 3 x 0.1 beside the 1 ms of work (M/D/1, 0.05: 1.0263)",
            Problem(nodes, (far,), costs=FREE, hop=hop),
            {"mean ms": (1.0263 + 0.5, _latency("mean"))},
            slots={"t.b": 3},
        ),
        Case(
            "M/M/1/5, 100 into 125, dropped",
            "p (1 - p) p^5 / (1 - p^6) of p = 0.8 is refused",
            _on([dropped], Node("n", (1,))),
            {
                "refused/s": (100.0 * full, lambda run: run.refused["t"]),
                "executed/s": (100.0 * (1 - full), _executed("b")),
            },
        ),
        Case(
            "M/M/1/5, 1,000 into 125, a window of 8, dropped",
            "125 (1 - 7 / (8^6 - 1)): trees of dropped tuples leave the window",
            _on([_chain(_source("s", 1.0), buffered, rate=100.0, window=8)], Node("n", (1,))),
            {"executed/s": (125.0, _executed("b"))},
            closed=True,
            seconds=200.0,
        ),
        Case(
            "the same, sent again after 50 ms",
            "all of it is executed in the end",
            _on([again], Node("n", (1,))),
            {"executed/s": (100.0, _executed("b"))},
        ),
        Case(
            "a tenth lost, sent again after 20 ms",
            "1 / 0.9 - 1 times each tuple; 20 ms each time",
            Problem(nodes[:2], (lossy,), costs=FREE),
            {
                "lost/s": (50.0 * (1 / 0.9 - 1), lambda run: run.refused["t"]),
                "mean ms": (1.0263 + 20.0 * (1 / 0.9 - 1), _latency("mean")),
            },
            slots={"t.b": 1},
        ),
        Case(
            "two tasks that wait for four fifths of 10 ms, 60/s each, on 8 cores",
            "M/M/1, 60 of 100; CPU: 2 x 60 x 2 ms",
            _on(crowd, Node("n", (1, 2), cpu_percent=800.0)),
            {
                "mean ms": (25.0, _latency("mean", "a")),
                "thread": (0.6, _used("executor")),
                "cores": (0.24 / 8, _used("cpu")),
            },
            slots={"b.s": 1, "b.w": 1},
        ),
    ]


CASES = (*_open(), *_closed(), *_containers(), *_delays())
