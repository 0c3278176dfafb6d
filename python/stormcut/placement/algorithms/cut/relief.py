"""Of placements with least traffic, one whose links are evenly busy.

Where links bind, a topology is as fast as its busiest link lets it be: what a node sends and what
it receives are separate (links are full duplex). Total traffic between nodes, which the papers
minimise, says nothing of how it is spread; many placements share the least.

Where traffic counts in bytes it may rise by `RELIEF`, and no node has more CPU in use than its fair
share and a little (`EVEN`), or half of what it can (`SPARE`), where limits leave room for that.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stormcut.model.problem import Problem
from stormcut.objective.verify import TOLERANCE
from stormcut.placement.algorithms.cut.alignment import like_before, on_nodes
from stormcut.placement.algorithms.cut.instance import Instance
from stormcut.placement.algorithms.cut.model import Floats, Ints
from stormcut.placement.algorithms.cut.prepare import Task, running
from stormcut.placement.native.library import FLOAT, FLOAT_ROWS, INT, INTS, function
from stormcut.placement.packing.capacity import loads

#: Share by which traffic in bytes may rise by default, to relieve the busiest link.
RELIEF = 0.3

#: Fair shares of CPU a node may have where tuples' sizes, and so CPU, are measured: the first of
#: these that limits, and how large single executors are, leave room for.
EVEN = (1.2, 1.5, 2.0)

#: Share of a node's CPU that may be used whatever the others have: there is enough left.
SPARE = 0.5

#: Links this many times as busy are alike: annealing finds a little more or less each time.
ALIKE = 1.05

#: The matrix of rates between executors is dense.
MOST_EXECUTORS = 500

#: Moves and exchanges tried: for each executor, and at most.
STEPS = 4000
MOST_STEPS = 300_000

_evened = function(
    "evened",
    *(FLOAT_ROWS, FLOAT_ROWS, INTS, INT, FLOAT_ROWS, INTS, INTS, FLOAT, INT, INT, INTS),
)


def instances(task: Task) -> Iterator[Instance]:
    """Yield the instances to try, the most even first; the last has no more limits than asked."""
    if task.by_size and task.options.balance is None:
        yield from (task.instance.balanced(each, SPARE) for each in EVEN)
    yield task.instance


def balance(task: Task, asked: Instance, counts: Ints, rng: np.random.Generator) -> Ints:
    """Return executors' nodes, the busiest link relieved if nothing but what it carries counts.

    What runs now, if nothing has less traffic, stays as it is.
    """
    problem, options = task.weighed, task.options
    before = on_nodes(problem, asked, counts)
    priced = options.restart_price > 0 or np.ptp(asked.rack) > 0 or options.pin or options.apart
    if priced or (asked.start is not None and np.array_equal(counts, asked.start)):
        return before
    relief = (RELIEF if task.by_size else 0.0) if options.relief is None else options.relief
    nodes = evened(problem, before, asked.limits, asked.slots, relief, options.effort, rng)
    now = running(asked)
    if relief > 0 and now is not None and not np.array_equal(nodes, before):
        present = on_nodes(problem, asked, now)
        if _is_as_even(problem, present, nodes, before, relief):
            return present
    assert asked.is_whole(asked.counted(nodes))
    return on_nodes(problem, asked, like_before(asked, asked.counted(nodes)))


def _is_as_even(problem: Problem, present: Ints, found: Ints, least: Ints, relief: float) -> bool:
    """Return whether what runs has hardly a busier link than what was found, nor more traffic."""
    rates = rate_matrix(problem)
    now, then, base = (links(rates, nodes, len(problem.nodes)) for nodes in (present, found, least))
    allowed = base[0].sum() * (1 + relief)
    return bool(now[0].sum() <= allowed * ALIKE and now.max() <= then.max() * ALIKE)


def evened(
    problem: Problem,
    nodes: Ints,
    limits: Floats,
    slots: Ints,
    relief: float,
    effort: float,
    rng: np.random.Generator,
) -> Ints:
    """Return nodes of executors of which the busiest link is less busy, or the same ones.

    Parameters
    ----------
    nodes : array of shape (executors,)
        A feasible placement.
    limits : array of shape (nodes, 3)
        CPU, executors and memory of every node.
    slots : array of shape (nodes,)
        Most topologies of every node.
    relief : float
        Share by which traffic between nodes may rise.

    Notes
    -----
    Takes O(executors) for each of O(executors x effort) steps, O(executors^2) memory.
    """
    if not 1 < problem.executor_count <= MOST_EXECUTORS:
        return nodes
    rates = rate_matrix(problem)
    steps = int(min(STEPS * len(nodes), MOST_STEPS) * effort)
    best = np.empty_like(nodes)
    _evened(
        rates,
        loads(problem),
        problem.executor_topology,
        len(problem.topologies),
        limits + TOLERANCE,
        slots,
        nodes.copy(),
        relief,
        steps,
        int(rng.integers(2**31)),
        best,
    )
    return best


def rate_matrix(problem: Problem) -> Floats:
    """Return the tuples/s from each executor to each other, shape (executors, executors)."""
    sources, targets, rate = problem.traffic.unfolded()
    rates: Floats = np.zeros((problem.executor_count, problem.executor_count))
    np.add.at(rates, (sources, targets), rate)
    np.fill_diagonal(rates, 0.0)
    return rates


def links(rates: Floats, nodes: Ints, count: int) -> Floats:
    """Return what each node sends to others and receives from them, shape (2, nodes)."""
    crossing = rates * (nodes[:, None] != nodes)
    result: Floats = np.zeros((2, count))
    np.add.at(result[0], nodes, crossing.sum(axis=1))
    np.add.at(result[1], nodes, crossing.sum(axis=0))
    return result
