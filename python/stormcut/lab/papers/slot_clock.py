"""Tuples that walk a pipelined schedule, slot by slot: time, throughput and buffers under load.

In each slot, every transfer of the schedule carries what waits for it, up to a part. The slot lasts
until its busiest task has processed what it got (a stall), and at least as long as one tuple takes.
What a bolt sends on may leave in the next slot in which its task meets a target.

Parts are sized so that no stage carries more than the next (E17 of the reading of the paper): what
an edge carries in all over its pairs of tasks. Parts of one tuple, as the paper draws them, keep
that balance only where all components have as many tasks.

References
----------
N. Tantalaki et al., IEEE Access 2020, section III.B (Algorithm 3, Fig. 4 and 5).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from stormcut.placement.algorithms.pipeline_linear.schedule import Schedule

#: Tuples of the sources that are walked, and the share of slots before anything counts.
TUPLES, WARM_UP = 20_000, 0.2


def part_sizes(tasks: Sequence[int], edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the tuples of a part by edge, where each component sends on all that it receives.

    The least whole numbers in proportion to what an edge carries over its pairs of tasks.

    Parameters
    ----------
    tasks : sequence of int
        Of each component, the source first.
    edges : sequence of (source, target)
        From low to high numbers.

    Examples
    --------
    >>> part_sizes([16, 16, 8, 4, 1], [(0, 1), (1, 2), (2, 3), (3, 4)])
    [1, 2, 8, 64]
    """
    volume = [Fraction(1)] + [Fraction(0)] * (len(tasks) - 1)
    for source, target in sorted(edges):
        volume[target] += volume[source]
    shares = [volume[source] / (tasks[source] * tasks[target]) for source, target in edges]
    whole = math.lcm(*(each.denominator for each in shares))
    counts = [int(each * whole) for each in shares]
    common = math.gcd(*counts)
    return [each // common for each in counts]


@dataclass(frozen=True)
class SlotRun:
    """What a schedule does under load; times in h, the time that a tuple takes at a task.

    Attributes
    ----------
    offered, rate : float
        Tuples of the sources that came and that were done, per h.
    latency : float
        Mean time from a tuple's emission until all that descends from it is done; 0 of none.
    held : float
        Tuples that wait at bolts, on average.
    """

    offered: float
    rate: float
    latency: float
    held: float


@dataclass
class _Sums:
    """What is summed up once the pipeline is warm."""

    begun: float = 0.0
    came: int = 0
    done: int = 0
    latency: float = 0.0
    held: float = 0.0


class _Walk:
    """The state of a pipeline: what waits where, and what is left of each tuple of the sources."""

    def __init__(
        self, plan: Schedule, rate: float, parts: Sequence[int], buffer: float, seed: int
    ) -> None:
        moves = plan.transfers
        ends = zip(moves.edge.tolist(), moves.source.tolist(), moves.target.tolist(), strict=True)
        self._moves = list(ends)
        self._plan, self._rate, self._parts, self._buffer = plan, rate, parts, buffer
        self._edges: dict[int, list[int]] = {}
        for edge, source, _ in self._moves:
            own = self._edges.setdefault(source, [])
            if edge not in own:
                own.append(edge)
        targets = {target for _, _, target in self._moves}
        self._spouts = sorted(self._edges.keys() - targets)
        self._queues = {
            (task, edge): deque[int]() for task, edges in self._edges.items() for edge in edges
        }
        self._waiting = dict.fromkeys(targets, 0)
        self._emitted: list[float] = []
        self._left: list[int] = []
        self._random = np.random.default_rng(seed)
        self._next = self._interval()
        self.now, self.sums = 0.0, _Sums()

    def _interval(self) -> float:
        return float(self._random.exponential(1.0 / self._rate))

    def forget(self) -> None:
        """Begin to count."""
        self.sums = _Sums(begun=self.now)

    def _arrive(self) -> None:
        """Let sources emit what was due by now."""
        while self._next <= self.now:
            spout = self._spouts[int(self._random.integers(len(self._spouts)))]
            self._emitted.append(self._next)
            self._left.append(1)
            self.sums.came += 1
            self._pass_on(spout, len(self._left) - 1)
            self._next += self._interval()

    def _pass_on(self, task: int, tuple_: int) -> None:
        edges = self._edges.get(task, ())
        self._left[tuple_] += len(edges) - 1
        for edge in edges:
            self._queues[task, edge].append(tuple_)
        if task in self._waiting:
            self._waiting[task] += len(edges)
        if not self._left[tuple_]:
            self.sums.done += 1
            self.sums.latency += self.now - self._emitted[tuple_]

    def step(self, slot: int) -> None:
        """Carry out one slot."""
        self._arrive()
        got: dict[int, int] = {}
        carried: list[tuple[int, int]] = []
        for stage in self._plan.slices(slot):
            for row in stage.transfers:
                edge, source, target = self._moves[row]
                queue = self._queues[source, edge]
                free = self._buffer - self._waiting[target] - got.get(target, 0)
                count = int(min(len(queue), self._parts[edge], max(free, 0)))
                for _ in range(count):
                    carried.append((target, queue.popleft()))
                if count:
                    got[target] = got.get(target, 0) + count
                    if source in self._waiting:
                        self._waiting[source] -= count
        length = float(max(got.values(), default=1))
        self.sums.held += length * sum(self._waiting.values())
        self.now += length
        for target, tuple_ in carried:
            self._pass_on(target, tuple_)


def walk(
    plan: Schedule,
    rate: float,
    *,
    parts: Sequence[int],
    buffer: float = np.inf,
    tuples: int = TUPLES,
    seed: int = 1,
) -> SlotRun:
    """Return what a schedule does with tuples that come at random.

    Parameters
    ----------
    plan : Schedule
        Of durations of 1 h: all tuples take as long.
    rate : float
        Tuples/h of all sources together.
    parts : sequence of int
        Tuples that a transfer carries at most, by edge of the topology.
    buffer : float
        Tuples that may wait at a bolt; what would be more waits where it is.
    tuples : int
        So many are emitted, a fifth of them before anything is counted.

    Notes
    -----
    Takes O(slots x transfers of a slot) time and O(tuples) memory.

    Examples
    --------
    One source task and one bolt task that meet in every second slot: half a slot until it begins,
    and then one slot or two.

    >>> from stormcut.placement.algorithms.pipeline_linear.allocation import allocate
    >>> from stormcut.placement.algorithms.pipeline_linear.schedule import schedule
    >>> plan = schedule(allocate([1, 1], [(0, 1)], 2), [(0, 1)])
    >>> round(walk(plan, 0.005, parts=[1], tuples=500).latency)
    2
    """
    state = _Walk(plan, rate, parts, buffer, seed)
    end, slot, counts = tuples / rate, 0, False
    while state.now < end:
        if not counts and state.now >= WARM_UP * end:
            state.forget()
            counts = True
        state.step(slot)
        slot += 1
    sums, seconds = state.sums, state.now - state.sums.begun
    latency = sums.latency / sums.done if sums.done else 0.0
    return SlotRun(sums.came / seconds, sums.done / seconds, latency, sums.held / seconds)
