"""Simulated annealing over moves and exchanges of executors, by how full every resource is.

A move changes the loads of two nodes and of two racks only. resource_annealing.cpp has the loops.

References
----------
S. Kirkpatrick, C. D. Gelatt and M. P. Vecchi, "Optimization by simulated annealing", Science 220
(1983).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stormcut.model.network import Costs
from stormcut.model.problem import CORE_PERCENT, CORE_US, Problem
from stormcut.placement.algorithms.cut.instance import Instance
from stormcut.placement.algorithms.cut.model import NOTHING, Bools, Floats, Ints, seed_from
from stormcut.placement.native.library import (
    BOOL_ROWS,
    FLOAT,
    FLOAT_ROWS,
    FLOATS,
    INT,
    INTS,
    SEED,
    Record,
    function,
)

#: Moves and exchanges tried: for each executor, and at most.
STEPS = 4000
MOST_STEPS = 400_000

#: Pairs of nodes, for all topologies together, between which tuples are counted: 32 MB. Of more,
#: what batches cost is counted where placements are compared, but not while they are annealed.
MOST_BETWEEN = 4_000_000


class Pairs(NamedTuple):
    """Rows of executors that exchange traffic.

    ``loads`` has, for each, what the row's executor sends and gets and the CPU that it and the
    other spend on its bytes when they are apart, tuples/s that it sends and gets, and those of them
    that are in tuple trees, shape (pairs, 8).
    """

    starts: Ints
    neighbours: Ints
    loads: Floats


class Capacities(NamedTuple):
    """What resources hold, infinite where nothing is known to limit.

    ``nodes``: CPU, link out, link in, shape (nodes, 3); ``racks``: uplink out and in, shape (racks,
    2); ``rack``: of each node.
    """

    nodes: Floats
    racks: Floats
    rack: Ints


class Resources(NamedTuple):
    """What does not change while a placement is annealed.

    ``cpu`` is what executors need without transfer, ``thread`` the share of the fullest thread,
    which no placement changes; ``costs`` the CPU that sending and taking a batch of tuples costs,
    batches/s from worker to worker at most, and the CPU that a worker takes.
    """

    starts: Ints
    neighbours: Ints
    pair: Floats
    cpu: Floats
    load: Floats
    topology: Ints
    limits: Floats
    slots: Ints
    group: Ints
    allowed: Bools
    rack: Ints
    node_capacity: Floats
    rack_capacity: Floats
    thread: Floats
    costs: Floats


_RESOURCES = Record(
    *(INTS, INTS, FLOAT_ROWS, FLOATS, FLOAT_ROWS, INTS, FLOAT_ROWS, INTS, INTS),
    *(BOOL_ROWS, INTS, FLOAT_ROWS, FLOAT_ROWS, FLOATS, FLOATS),
)
_most_headroom = function("most_headroom", _RESOURCES, INT, FLOAT_ROWS, INT, INTS, SEED)
_least_congestion = function(
    "least_congestion", _RESOURCES, INT, FLOAT_ROWS, INT, FLOAT, FLOAT, FLOAT, INTS, SEED
)


def resources(
    problem: Problem,
    asked: Instance,
    pairs: Pairs,
    cpu: Floats,
    most: Capacities,
    thread: float,
    costs: Costs,
) -> Resources:
    """Return what annealing needs to know of an instance and its resources."""
    allowed = NOTHING.astype(np.bool_) if asked.allowed is None else asked.allowed
    return Resources(
        *pairs,
        cpu.astype(np.float64),
        np.ascontiguousarray(asked.load[asked.groups.of]),
        problem.executor_topology,
        asked.bounds,
        asked.slots,
        asked.groups.of,
        allowed,
        most.rack,
        most.nodes,
        most.racks,
        np.array([thread]),
        np.array(
            [
                costs.send_us_per_tuple * CORE_PERCENT / CORE_US,
                costs.receive_us_per_tuple * CORE_PERCENT / CORE_US,
                costs.batches_per_s,
                costs.worker_percent,
            ]
        ),
    )


def pairs(
    executors: int,
    source: Ints,
    target: Ints,
    carried: Floats,
    sending: Floats,
    taking: Floats,
    rate: Floats,
    held: Floats,
) -> Pairs:
    """Return the pairs of executors of directed traffic, all arrays of shape (traffic,).

    Parameters
    ----------
    carried : array
        What the link carries.
    sending, taking : arrays
        CPU that source and target spend.
    rate, held : arrays
        Tuples/s, and those in tuple trees.
    """
    none = np.zeros(len(carried))
    # Seen from the one that sends, and from the one that takes.
    keys = np.concatenate((source, target)) * executors + np.concatenate((target, source))
    columns = (
        *((carried, none), (none, carried), (sending, taking), (taking, sending)),
        *((rate, none), (none, rate), (held, none), (none, held)),
    )
    apart = np.concatenate((source != target, source != target))
    found, at = np.unique(keys[apart], return_inverse=True)
    loads = np.empty((len(found), len(columns)))
    for column, both in enumerate(columns):
        weights = np.concatenate(both)[apart]
        loads[:, column] = np.bincount(at.reshape(-1), weights=weights, minlength=len(found))
    starts = np.searchsorted(found, np.arange(executors + 1) * executors)
    return Pairs(starts.astype(np.int64), found % executors, loads)


def most_headroom(
    given: Resources, topologies: int, nodes: Ints, effort: float, rng: np.random.Generator
) -> Ints:
    """Return executors' nodes with the fullest resource less full, then less traffic between nodes.

    Takes O(pairs of an executor) for each of O(executors x effort) steps.
    """
    found = nodes.copy()
    tuples = _tuples(given, topologies)
    _most_headroom(given, topologies, tuples, _steps(nodes, effort), found, seed_from(rng))
    return found


def least_congestion(
    given: Resources,
    topologies: int,
    nodes: Ints,
    idle: float,
    travel: float,
    loose: float,
    effort: float,
    rng: np.random.Generator,
) -> Ints:
    """Return executors' nodes with less congestion, times what traffic between nodes weighs.

    Takes as long as `most_headroom`.

    Parameters
    ----------
    idle : float
        Congestion that is as good as none.
    travel : float
        What all traffic weighs if it travels.
    loose : float
        What a tuple counts that is in no tree.
    """
    found = nodes.copy()
    steps, seed = _steps(nodes, effort), seed_from(rng)
    tuples = _tuples(given, topologies)
    _least_congestion(given, topologies, tuples, steps, idle, travel, loose, found, seed)
    return found


def _tuples(given: Resources, topologies: int) -> Floats:
    """Return room for tuples/s from node to node of each topology; none if that is too much."""
    between = len(given.slots) ** 2
    return np.zeros((topologies if topologies * between <= MOST_BETWEEN else 0, between))


def _steps(nodes: Ints, effort: float) -> int:
    return int(min(STEPS * len(nodes), MOST_STEPS) * effort)
