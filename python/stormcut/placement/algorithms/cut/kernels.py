"""The form in which the search's inner loops take a problem and a placement, and what it costs.

The loops are in C++ (`stormcut.placement.native.library`); ``model.h`` has the steps that all
share.
Everything works on a matrix of counts (groups, nodes) and what is kept beside it: the traffic of
one executor of a group with each node, so that a move's gain is a subtraction, and a move costs
O(neighbours of the group).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stormcut.placement.native.library import (
    BOOL_ROWS,
    FLOAT,
    FLOAT_ROWS,
    FLOATS,
    INT,
    INT_ROWS,
    INTS,
    Record,
    function,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: Shape (1,): the state of the random numbers, above 0; it moves on.
Seed = npt.NDArray[np.uint64]

#: Gains below this share of all traffic are rounding.
ROUNDING = 1e-11


class Model(NamedTuple):
    """What does not change during a search.

    ``starts``, ``neighbours`` and ``rates`` are the rows of the traffic between groups without the
    diagonal, which is ``own``. ``scale`` turns loads into shares of an average node. ``allowed``
    and ``start`` are (0, 0) if there is none. ``prices``: of a tuple that leaves a node, of one
    that leaves a rack (beyond that), of a restarted worker.
    """

    size: Ints

    starts: Ints
    neighbours: Ints
    rates: Floats
    own: Floats
    load: Floats
    scale: Floats
    bounds: Floats
    slots: Ints
    topology: Ints
    rack: Ints
    allowed: Bools
    start: Ints
    prices: Floats


class State(NamedTuple):
    """A placement and what follows from it.

    ``counts``, ``traffic`` (of one executor of a group with a node, itself included if it is
    there): (groups, nodes); ``near``: the same with a rack; ``used``: (nodes, resources);
    ``held``: executors (nodes, topologies); ``tenants``: topologies (nodes,); ``changed``: groups
    whose count differs from the start (topologies, nodes).
    """

    counts: Ints
    traffic: Floats
    near: Floats
    used: Floats
    held: Ints
    tenants: Ints
    changed: Ints


MODEL = Record(
    *(INTS, INTS, INTS, FLOATS, FLOATS, FLOAT_ROWS, FLOATS, FLOAT_ROWS),
    *(INTS, INTS, INTS, BOOL_ROWS, INT_ROWS, FLOATS),
)
STATE = Record(INT_ROWS, FLOAT_ROWS, FLOAT_ROWS, FLOAT_ROWS, INT_ROWS, INTS, INT_ROWS)

_state_at = function("state_at", MODEL, STATE)
_cost = function("cost", MODEL, STATE, result=FLOAT)
_shared = function("shared", INT_ROWS, INT_ROWS, INT_ROWS)
_traffic_with = function("traffic_with", MODEL, INT_ROWS, INT, FLOATS)


def blank(model: Model, counts: Ints) -> State:
    """Return a state with a copy of these counts and nothing worked out yet."""
    groups, nodes = counts.shape
    topologies = int(model.topology.max(initial=-1)) + 1
    racks = int(model.rack.max(initial=0)) + 1 if model.prices[1] > 0 else 1
    return State(
        np.array(counts, dtype=np.int64, order="C"),
        np.zeros((groups, nodes)),
        np.zeros((groups, racks)),
        np.zeros((nodes, model.load.shape[1])),
        np.zeros((nodes, topologies), dtype=np.int64),
        np.zeros(nodes, dtype=np.int64),
        np.zeros((topologies, nodes), dtype=np.int64),
    )


def state_at(model: Model, counts: Ints) -> State:
    """Return the state of a placement given by its counts, which are copied."""
    state = blank(model, counts)
    _state_at(model, state)
    return state


def cost_at(model: Model, counts: Ints) -> float:
    """Return the cost of a placement less that of all traffic crossing racks (so, negative)."""
    return float(_cost(model, state_at(model, counts)))


def shared(one: Ints, other: Ints) -> Ints:
    """Return how many executors of each node of one placement are on each node of the other."""
    nodes = one.shape[1]
    result = np.zeros((nodes, nodes), dtype=np.int64)
    _shared(one, other, result)
    return result


def traffic_with(model: Model, counts: Ints, n: int) -> Floats:
    """Return the tuples/s between one node and every node, shape (nodes,)."""
    result = np.zeros(counts.shape[1])
    _traffic_with(model, counts, n, result)
    return result


def noise(total: float) -> float:
    """Return the gain that is no more than rounding for that much traffic."""
    return max(total, 1.0) * ROUNDING
