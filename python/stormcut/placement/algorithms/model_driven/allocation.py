"""How many threads and how much of a slot each task of a dataflow needs for a rate.

A *performance model* says what q threads of a task, alone on one slot, sustain and use. Two
allocators turn models, a dataflow and its input rate into threads and resources per task: `lsa`
scales one thread up linearly, `mba` fills whole slots with as many threads of one task as serve
most there, a *full bundle*, and adds a residual. CPU and memory are in percent of a slot; a slot is
one core and an equal share of its machine's memory.

What the paper leaves open or prints wrong is decided thus:

- A-1: q between two profiled thread counts is interpolated, or counts as the next lower one (the
  paper does both); above the last, the rate stays that of the last and resources are those of
  several slots' worth. ``threads_for`` knows profiled q only.
- A-2: numbers of slots are rounded up for CPU and memory each, for both allocators.
- A-3: source and sink are not part of the estimate; a task without input keeps one thread.
- A-4: several sources each receive the full rate. Rates equal but for rounding count as equal.
- A-5: the last machine is the smallest size that holds the rest; ``exact=True`` fills the rest with
  several smaller ones instead, as the paper's second set of experiments suggests.

References
----------
A. Shukla and Y. Simmhan, "Model-driven scheduling for distributed stream processing systems",
J. Parallel Distrib. Comput. 117 (2018), sections 5 and 6 (algorithms 1 to 3), 7.1.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stormcut.model.errors import InvalidInput
from stormcut.placement.graph.component_graph import linear_order

#: Rates and slots that differ by less than this share are equal.
SAME = 1e-12


@dataclass(frozen=True)
class PerformanceModel:
    """What q threads of a task sustain and use, alone on one slot.

    Parameters
    ----------
    threads : tuple of int
        Profiled thread counts, ascending from 1.
    rate : tuple of float
        Highest stable input rate of each, tuples/s.
    cpu_percent, memory_percent : tuple of float
        Use at that rate above the idle machine's, percent of a slot.
    """

    threads: tuple[int, ...]
    rate: tuple[float, ...]
    cpu_percent: tuple[float, ...]
    memory_percent: tuple[float, ...]

    def __post_init__(self) -> None:
        columns = (self.rate, self.cpu_percent, self.memory_percent)
        if not self.threads or any(len(column) != len(self.threads) for column in columns):
            raise InvalidInput("needs one value for each thread count", "performance model")
        ascending = all(a < b for a, b in zip(self.threads, self.threads[1:], strict=False))
        if self.threads[0] != 1 or not ascending:
            raise InvalidInput("thread counts must ascend from 1", "performance model")
        if min(self.rate) <= 0:
            raise InvalidInput("rates must be above 0", "performance model")
        if min(map(min, columns[1:])) < 0 or max(map(max, columns[1:])) > 100:
            raise InvalidInput("CPU and memory must be 0 to 100 % of a slot", "performance model")

    @cached_property
    def best_rate(self) -> float:
        """Highest rate of one slot, tuples/s."""
        return max(self.rate)

    @cached_property
    def full_bundle(self) -> int:
        """Fewest threads that reach `best_rate`."""
        return self.threads_for(self.best_rate)

    def threads_for(self, rate: float) -> int:
        """Return the fewest profiled threads of one slot that sustain a rate in tuples/s.

        Raises
        ------
        InvalidInput
            One slot does not sustain it.
        """
        for threads, peak in zip(self.threads, self.rate, strict=True):
            if peak >= rate * (1 - SAME):
                return threads
        raise InvalidInput(f"one slot sustains at most {self.best_rate:g} tuples/s, not {rate:g}")

    def peak_rate(self, threads: int, next_lower: bool = False) -> float:
        """Return the highest stable rate of so many threads on one slot, tuples/s.

        ``next_lower`` takes the next lower profiled thread count instead of interpolating.
        """
        profiled, rates = (0, *self.threads), (0.0, *self.rate)
        if next_lower:
            return rates[bisect_right(profiled, threads) - 1]
        return float(np.interp(threads, profiled, rates))

    def resources(self, threads: int) -> tuple[float, float]:
        """Return (CPU, memory) of so many threads at their highest rate, percent of a slot."""
        whole, rest = divmod(threads, self.threads[-1])
        columns = (self.cpu_percent, self.memory_percent)
        at_rest = (np.interp(rest, (0, *self.threads), (0.0, *column)) for column in columns)
        cpu, memory = (
            whole * column[-1] + float(value)
            for column, value in zip(columns, at_rest, strict=True)
        )
        return cpu, memory


@dataclass(frozen=True)
class Edge:
    """A stream of a dataflow; ``selectivity`` is tuples sent on it per tuple received."""

    source: str
    target: str
    selectivity: float = 1.0


@dataclass(frozen=True)
class Dag:
    """A dataflow of tasks; those without an incoming edge receive the input."""

    tasks: tuple[str, ...]
    edges: tuple[Edge, ...]

    def __post_init__(self) -> None:
        for edge in self.edges:
            for end in (edge.source, edge.target):
                if end not in self.tasks:
                    raise InvalidInput(f"an edge names {end!r}, which is no task", "dataflow")

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Tasks breadth first, each after all that feed it.

        Raises
        ------
        InvalidInput
            The dataflow has a cycle.
        """
        ordinal_of = {task: ordinal for ordinal, task in enumerate(self.tasks)}
        pairs = dict.fromkeys(
            (ordinal_of[edge.source], ordinal_of[edge.target]) for edge in self.edges
        )
        order = linear_order(len(self.tasks), pairs, range(len(self.tasks)))
        position = {vertex: place for place, vertex in enumerate(order)}
        if any(position[source] >= position[target] for source, target in pairs):
            raise InvalidInput("has a cycle", "dataflow")
        return tuple(self.tasks[vertex] for vertex in order)

    def input_rates(self, rate: float) -> dict[str, float]:
        """Return the input rate of each task in tuples/s for an input of ``rate`` (GetRate).

        Takes O(tasks + edges).

        Examples
        --------
        >>> diamond = Dag(("a", "b", "c"), (Edge("a", "b"), Edge("a", "c"), Edge("b", "c")))
        >>> diamond.input_rates(10.0)
        {'a': 10.0, 'b': 10.0, 'c': 20.0}
        """
        feeding: dict[str, list[Edge]] = {task: [] for task in self.tasks}
        for edge in self.edges:
            feeding[edge.target].append(edge)
        rates: dict[str, float] = {}
        for task in self.order:
            arriving = [rates[edge.source] * edge.selectivity for edge in feeding[task]]
            rates[task] = sum(arriving) if arriving else rate
        return rates


@dataclass(frozen=True)
class Share:
    """Threads with the CPU and memory set aside for them, percent of a slot."""

    threads: int
    cpu_percent: float
    memory_percent: float


@dataclass(frozen=True)
class TaskAllocation:
    """What one task gets.

    Parameters
    ----------
    task : str
    total : Share
    full_bundle : int or None
        Threads that fill a slot; None if the allocator knows no bundles.
    bundles : int
        Number of full bundles, each of which claims a whole slot.
    """

    task: str
    total: Share
    full_bundle: int | None = None
    bundles: int = 0

    @property
    def residual(self) -> Share:
        """What is left without the full bundles."""
        return Share(
            self.total.threads - self.bundles * (self.full_bundle or 0),
            self.total.cpu_percent - 100.0 * self.bundles,
            self.total.memory_percent - 100.0 * self.bundles,
        )


@dataclass(frozen=True)
class Allocation:
    """What every task gets, in topological order."""

    tasks: tuple[TaskAllocation, ...]

    @property
    def threads(self) -> int:
        """Number of threads of all tasks."""
        return sum(each.total.threads for each in self.tasks)

    @property
    def cpu_percent(self) -> float:
        """CPU of all tasks, percent of a slot."""
        return sum(each.total.cpu_percent for each in self.tasks)

    @property
    def memory_percent(self) -> float:
        """Memory of all tasks, percent of a slot."""
        return sum(each.total.memory_percent for each in self.tasks)

    @property
    def slots(self) -> int:
        """Estimated number of slots."""
        return max(_up(self.cpu_percent / 100), _up(self.memory_percent / 100))


def lsa(models: Mapping[str, PerformanceModel], dag: Dag, rate: float) -> Allocation:
    """Allocate by linear scaling of one thread (Alg. 2); O(tasks + edges).

    Parameters
    ----------
    models : mapping from task to its performance model
    rate : float
        Input of the dataflow, tuples/s.

    Raises
    ------
    InvalidInput
        A task has no model, the rate is negative or no number, or the dataflow has a cycle.
    """
    arriving = _arriving(models, dag, rate)
    return Allocation(
        tuple(TaskAllocation(task, _scaled(models[task], arriving[task])) for task in dag.order)
    )


def mba(models: Mapping[str, PerformanceModel], dag: Dag, rate: float) -> Allocation:
    """Allocate by the performance models (Alg. 3); O(tasks x profiled thread counts + edges).

    Parameters and errors are those of `lsa`.
    """
    arriving = _arriving(models, dag, rate)
    return Allocation(tuple(_bundled(task, models[task], arriving[task]) for task in dag.order))


def _arriving(models: Mapping[str, PerformanceModel], dag: Dag, rate: float) -> dict[str, float]:
    if not 0 <= rate < math.inf:
        raise InvalidInput(f"must be a number of tuples/s, 0 or more, not {rate:g}", "input rate")
    for task in dag.tasks:
        if task not in models:
            raise InvalidInput(f"task {task!r} has no performance model", "allocation")
    return dag.input_rates(rate)


def _scaled(model: PerformanceModel, rate: float) -> Share:
    factor = rate / model.rate[0]
    return Share(
        max(1, _up(factor)), model.cpu_percent[0] * factor, model.memory_percent[0] * factor
    )


def _bundled(task: str, model: PerformanceModel, rate: float) -> TaskAllocation:
    bundles = math.floor(rate / model.best_rate * (1 + SAME))
    rest = max(0.0, rate - bundles * model.best_rate)
    if rest <= rate * SAME:
        residual = Share(0 if bundles else 1, 0.0, 0.0)
    elif (threads := model.threads_for(rest)) > 1:
        residual = Share(threads, *model.resources(threads))
    else:
        residual = _scaled(model, rest)
    total = Share(
        bundles * model.full_bundle + residual.threads,
        100.0 * bundles + residual.cpu_percent,
        100.0 * bundles + residual.memory_percent,
    )
    return TaskAllocation(task, total, model.full_bundle, bundles)


def _up(value: float) -> int:
    return math.ceil(value * (1 - SAME))


def acquire(slots: int, sizes: tuple[int, ...] = (4, 2, 1), exact: bool = False) -> tuple[int, ...]:
    """Return the slots of each machine to acquire: as many of the largest size as are full.

    Parameters
    ----------
    sizes : tuple of int
        Slots of the sizes on offer; by default those of the paper's D3, D2 and D1.
    exact : bool
        Whether the rest is filled with several smaller machines instead of one that may be larger.

    Examples
    --------
    >>> acquire(13), acquire(7), acquire(7, exact=True)
    ((4, 4, 4, 1), (4, 4), (4, 2, 1))
    """
    largest = max(sizes)
    machines = [largest] * (slots // largest)
    rest = slots % largest
    while rest:
        enough = [size for size in sizes if size >= rest]
        below = [size for size in sizes if size <= rest]
        machines.append(max(below) if exact and below else min(enough))
        rest = max(0, rest - machines[-1])
    return tuple(machines)
