"""Evens out the busiest node: CPU with what sending and receiving costs, or its link.

How busy node n is: the larger of (its CPU + tuple_cost x its link) / its CPU limit and its link /
link capacity, where its link is the tuples/s into and out of it. An executor's move or exchange
changes that of two nodes only, O(1) each. contention.cpp has the loops.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stormcut.placement.capacity import CPU
from stormcut.placement.cut.instance import Instance
from stormcut.placement.cut.kernels import MODEL, STATE, Floats, Ints, state_at
from stormcut.placement.cut.state import model_of
from stormcut.placement.library import FLOAT, FLOATS, function

#: Points of a node that names no CPU limit: one core.
NOMINAL_CPU = 100.0

_all_busy = function("all_busy", MODEL, STATE, FLOATS, FLOAT, FLOAT, FLOATS)
_relieve = function("relieve", MODEL, STATE, FLOATS, FLOAT, FLOAT)


@dataclass(frozen=True)
class Costs:
    """What traffic costs a node.

    Parameters
    ----------
    tuple_cost : float
        CPU points for each tuple/s that it sends to or receives from another node.
    link : float
        Tuples/s that its link carries, both ways together; infinite if that never binds.
    """

    tuple_cost: float
    link: float


def busiest(instance: Instance, counts: Ints, costs: Costs) -> float:
    """Return how busy the busiest node is; 1 is all that it has."""
    model = model_of(instance, (1.0, 0.0, 0.0))
    state = state_at(model, counts)
    busy = np.zeros(counts.shape[1])
    _all_busy(model, state, nominal_cpu(instance), costs.tuple_cost, costs.link, busy)
    return float(busy.max(initial=0.0))


def relieved(instance: Instance, counts: Ints, costs: Costs) -> Ints:
    """Return counts whose busiest node is less busy, or the same ones.

    Executors of the busiest node move, or change places with others, as long as the busier of the
    two nodes is then less busy. Takes O(groups of two nodes) for each of at most 5,000 steps and
    nodes looked at.
    """
    model = model_of(instance, (1.0, 0.0, 0.0))
    state = state_at(model, counts)
    _relieve(model, state, nominal_cpu(instance), costs.tuple_cost, costs.link)
    return state.counts


def nominal_cpu(instance: Instance) -> Floats:
    """Return each node's CPU limit in points, one core where it names none, shape (nodes,)."""
    limits = instance.limits[:, CPU]
    return np.where(np.isfinite(limits) & (limits > 0), limits, NOMINAL_CPU)
