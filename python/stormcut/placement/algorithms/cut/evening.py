"""Evens out the busiest link: what a node sends, what it receives.

Where links bind, a topology is as fast as its busiest link lets it be: what a node sends and what
it receives are separate (links are full duplex). Total traffic between nodes, which the papers
minimise, says nothing of how it is spread; many placements share the least.

Annealing over moves and exchanges of executors. The energy is the busiest link each way, smoothed
by a norm of high power so that the second busiest counts too, with a price on traffic beyond what
is allowed. evening.cpp has the loop.

References
----------
S. Kirkpatrick, C. D. Gelatt and M. P. Vecchi, "Optimization by Simulated Annealing", Science 1983.
"""

from __future__ import annotations

import numpy as np

from stormcut.model.problem import Problem
from stormcut.objective.verify import TOLERANCE
from stormcut.placement.algorithms.cut.kernels import Floats, Ints
from stormcut.placement.native.library import FLOAT, FLOAT_ROWS, INT, INTS, function
from stormcut.placement.packing.capacity import loads

#: The matrix of rates between executors is dense.
MOST_EXECUTORS = 500

#: Moves and exchanges tried: for each executor, and at most.
STEPS = 4000
MOST_STEPS = 300_000

_evened = function(
    "evened",
    *(FLOAT_ROWS, FLOAT_ROWS, INTS, INT, FLOAT_ROWS, INTS, INTS, FLOAT, INT, INT, INTS),
)


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
