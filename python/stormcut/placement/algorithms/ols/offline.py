"""The offline scheduler of Aniello et al.: workers filled along the streams, load unseen.

Components are put in an order in which each comes after those that feed it. One component after
another, executors are dealt in turn to the workers that hold executors of the components that feed
it; where those are full, to the others. Then workers are dealt in turn to nodes.

- alpha in [0, 1] sets the most executors of a worker, for N executors and W workers: from
  ceil(N / W) (0: all alike) to N - W + 1 (1: one worker may hold all that the others can spare).
- beta in [0, 1] sets the number of nodes: from the fewest with W slots (0) to one a worker (1).
- gamma in [0, 1] says after which part of the components empty workers are dealt to first, so that
  none stays empty; 0: from the start.

The letters are those of the paper; the authors' released code calls the third one ``epsilon``. What
the paper leaves open, or the problem asks for beyond it, is decided thus:

- W is ``workers``. Null: one worker for each node that can hold something; if that leads to no
  placement within the nodes' limits, two for each, and so on. Never more than executors or slots:
  every topology gets one slot, the others go out in turn.
- The paper looks at neither load nor capacity. Dealing to nodes passes over those that a worker
  does not fit; if it fits none, the next with a free slot takes it, and the placement is refused
  by the judge. Nodes with most free slots come first, then those with most room.
- On a cycle (the paper's topologies have none) spouts go first, then the order given. Measured
  traffic counts as a stream. Without streams, executors are dealt to all workers in turn.
- Topologies in the order given. The current placement only decides which slots are used, so that
  the fewest workers restart.

O(executors x workers + workers x nodes) time.

References
----------
L. Aniello, R. Baldoni and L. Querzoni, "Adaptive online scheduling in Storm", DEBS 2013,
section 4.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stormcut.arrays import Floats, Ints
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.verify import exceeds
from stormcut.placement.graph.component_graph import ComponentGraph, component_graph, linear_order
from stormcut.placement.options import FRACTION, Bounded
from stormcut.placement.packing.capacity import EXECUTORS, Hosts, hosts
from stormcut.placement.packing.capacity import loads as executor_loads
from stormcut.placement.slots.seating import seat


@dataclass(frozen=True)
class SpreadOptions(Bounded):
    """How executors spread over workers, and workers over nodes."""

    alpha: float = field(
        default=0.0,
        metadata={"help": "from workers of equal size (0) to any size (1)", "bounds": FRACTION},
    )
    beta: float = field(
        default=1.0,
        metadata={
            "help": "from as few nodes as have the slots (0) to most (1)",
            "bounds": FRACTION,
        },
    )


@dataclass(frozen=True)
class Options(SpreadOptions):
    """The paper's parameters."""

    gamma: float = field(
        default=0.5,
        metadata={
            "help": "part of the components after which no worker stays empty",
            "bounds": FRACTION,
        },
    )


@dataclass(frozen=True, eq=False)
class NumberedWorkers:
    """Workers of all topologies, numbered through topologies.

    Parameters
    ----------
    of : array of shape (executors,)
        Worker of each executor.
    topology : array of shape (workers,)
    loads : array of shape (workers, 3)
        CPU, executors and memory.
    """

    of: Ints
    topology: Ints
    loads: Floats


def place(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return the offline scheduler's placement; the random generator is not used.

    It may break limits of CPU, memory or executors, which the method does not know.

    Raises
    ------
    Infeasible
        There are fewer slots than topologies.
    """
    if not problem.executor_count:
        return Placement(np.zeros(0, dtype=np.int64))
    able = hosts(problem)
    graph = component_graph(problem)
    seats = None
    for counts in worker_counts(problem, able, "ols-offline"):
        workers = _fill(problem, graph, counts, options)
        nodes = _deal(workers, able, options.beta)
        totals = np.zeros_like(able.limits)
        np.add.at(totals, nodes, workers.loads)
        within = not exceeds(totals, able.limits).any()
        if seats is None or within:
            seats = seat(problem, able.ordinals[nodes[workers.of]], workers.of)
        if within:
            break
    assert seats is not None  # there is always one count to try
    return Placement(seats)


def worker_counts(problem: Problem, able: Hosts, name: str) -> Iterator[list[int]]:
    """Yield numbers of workers of the topologies to try, shape (topologies,).

    Raises
    ------
    Infeasible
        There are fewer slots than topologies; ``name`` is the algorithm's.
    """
    sizes = [topology.executor_count for topology in problem.topologies]
    requested = [topology.workers for topology in problem.topologies]
    slots = int(np.minimum(able.slots, able.limits[:, EXECUTORS]).sum())
    if slots < len(sizes):
        raise Infeasible(
            f"{name} found none: slots needed: {len(sizes)} (one per topology), free: {slots}",
            "slots",
        )
    last = None
    for turn in range(1, int(able.slots.max()) + 1):
        wanted = [turn * len(able.ordinals) if count is None else count for count in requested]
        wanted = [min(count, size) for count, size in zip(wanted, sizes, strict=True)]
        counts = _share(wanted, slots)
        if counts != last:
            yield counts
        last = counts


def _share(wanted: list[int], slots: int) -> list[int]:
    """Return how many slots each topology gets: one each, the others in turn."""
    given = [1] * len(wanted)
    left = slots - len(wanted)
    while left > 0 and (short := [t for t, count in enumerate(given) if count < wanted[t]]):
        for topology in short[:left]:
            given[topology] += 1
        left -= len(short)
    return given


def most_executors(executors: int, workers: int, alpha: float) -> int:
    """Return the most executors of a worker.

    Examples
    --------
    >>> [most_executors(10, 4, alpha) for alpha in (0.0, 0.5, 1.0)]
    [3, 5, 7]
    """
    least, most = math.ceil(executors / workers), executors - workers + 1
    return least + math.ceil(alpha * (most - least))


def node_count(workers: int, slots: Ints, beta: float) -> int:
    """Return the number of nodes for the workers of a topology, from their numbers of slots."""
    least = int(np.searchsorted(np.cumsum(-np.sort(-slots)), workers)) + 1
    most = min(int((slots > 0).sum()), workers)
    return min(most, least + math.ceil(beta * (most - least)))


def _fill(
    problem: Problem, graph: ComponentGraph, counts: list[int], options: Options
) -> NumberedWorkers:
    """Return the executors in workers, ``counts`` of them for each topology."""
    count = len(graph.size)
    spouts = np.flatnonzero(graph.spout).tolist()
    order = linear_order(count, graph.edges, [*spouts, *np.flatnonzero(~graph.spout).tolist()])
    feeding: list[list[int]] = [[] for _ in range(count)]
    for source, target in graph.edges:
        feeding[target].append(source)
    of = np.full(problem.executor_count, -1, dtype=np.int64)
    first = np.cumsum(counts) - counts
    for topology, workers in enumerate(counts):
        size = problem.topologies[topology].executor_count
        most = most_executors(size, workers, options.alpha)
        held = np.zeros(workers, dtype=np.int64)
        own = [component for component in order if graph.topology[component] == topology]
        for position, component in enumerate(own):
            upstream = [graph.executors(c) for c in feeding[component]]
            primary = np.zeros(workers, dtype=bool)
            for executors in upstream:
                placed = of[executors]
                primary[placed[placed >= 0] - first[topology]] = True
            queue = _queue(held, primary, position >= math.floor(options.gamma * len(own)))
            for executor in graph.executors(component).tolist():
                worker = _next(queue, held, most)
                held[worker] += 1
                of[executor] = first[topology] + worker
    owner = np.repeat(np.arange(len(counts)), counts)
    return _nonempty(of, owner, executor_loads(problem))


def _queue(held: Ints, primary: npt.NDArray[np.bool_], use_empty: bool) -> list[list[int]]:
    """Return the workers to deal to in turn: first those that feed, then the others."""
    empty = (held == 0) & ~primary & use_empty
    first = [*np.flatnonzero(empty).tolist(), *np.flatnonzero(primary).tolist()]
    return [first, np.flatnonzero(~primary & ~empty).tolist()]


def _next(queue: list[list[int]], held: Ints, most: int) -> int:
    """Return the next worker that is not full, and let it be the last of its list again."""
    for workers in queue:
        while workers:
            worker = workers.pop(0)
            if held[worker] < most:
                workers.append(worker)
                return worker
    raise AssertionError("workers hold fewer executors than there are")


def _nonempty(of: Ints, owner: Ints, loads: Floats) -> NumberedWorkers:
    """Return workers without the empty ones."""
    used, numbered = np.unique(of, return_inverse=True)
    totals = np.zeros((len(used), loads.shape[1]))
    np.add.at(totals, numbered.reshape(-1), loads)
    return NumberedWorkers(numbered.reshape(-1), owner[used], totals)


def _deal(workers: NumberedWorkers, able: Hosts, beta: float) -> Ints:
    """Return the node of each worker, a position in ``able``."""
    nodes = np.full(len(workers.topology), -1, dtype=np.int64)
    free = np.minimum(able.slots, able.limits[:, EXECUTORS]).astype(np.int64)
    left = able.limits.copy()
    for topology in np.unique(workers.topology).tolist():
        own = np.flatnonzero(workers.topology == topology)
        order = np.lexsort((*(-left).T, -free)).tolist()
        used = node_count(len(own), free, beta)
        turn = order[:used]
        for worker in own.tolist():
            node = _next_node(turn, order, free, left, workers.loads[worker])
            if node in turn:
                turn.remove(node)
                turn.append(node)
            nodes[worker] = node
            free[node] -= 1
            left[node] -= workers.loads[worker]
    return nodes


def _next_node(turn: list[int], order: list[int], free: Ints, left: Floats, load: Floats) -> int:
    """Return the next node that a worker fits; else the next, then any, with a free slot."""
    able = free > 0
    fitting = able & ~exceeds(load, left).any(axis=1)
    for wanted in (fitting, able):
        for nodes in (turn, order):
            matching = np.flatnonzero(wanted[nodes])
            if len(matching):
                return nodes[int(matching[0])]
    raise AssertionError("there are fewer slots than workers")
