"""The form in which the compiled loops take an instance and a placement, and what it costs.

The loops are in C++ (`stormcut.native.library`); ``model.h`` has the steps that all
share. Everything works on a matrix of counts (groups, nodes) and what is kept beside it: the
traffic of one executor of a group with each node, so that a move's gain is a subtraction, and a
move costs O(neighbours of the group).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array

from stormcut.arrays import Bools, Floats, Ints
from stormcut.native.library import (
    BOOL_ROWS,
    FLOAT,
    FLOAT_ROWS,
    FLOATS,
    INT,
    INT_ROWS,
    INTS,
    NativeRecord,
    function,
)
from stormcut.placement.algorithms.cut.instance import Instance
from stormcut.placement.packing.capacity import EXECUTORS

#: Cost of a tuple/s that leaves a node, of one that leaves a rack (beyond that), of a restarted
#: worker (0: restarts are not counted).
Prices = tuple[float, float, float]

#: Shape (1,): the state of the random numbers, above 0; it moves on.
Seed = npt.NDArray[np.uint64]

#: Gains below this share of all traffic are rounding.
NOISE = 1e-11

#: In place of a start or of pins, where there are none.
NOTHING = np.zeros((0, 0), dtype=np.int64)


class Model(NamedTuple):
    """What does not change during a search.

    ``starts``, ``neighbours`` and ``rates`` are the rows of the traffic between groups without the
    diagonal, which is ``own``. ``scale`` turns loads into shares of an average node. ``allowed``
    and ``start`` are (0, 0) if there is none. ``prices``: see `Prices`.
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


class SearchState(NamedTuple):
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


MODEL = NativeRecord(
    *(INTS, INTS, INTS, FLOATS, FLOATS, FLOAT_ROWS, FLOATS, FLOAT_ROWS),
    *(INTS, INTS, INTS, BOOL_ROWS, INT_ROWS, FLOATS),
)
STATE = NativeRecord(INT_ROWS, FLOAT_ROWS, FLOAT_ROWS, FLOAT_ROWS, INT_ROWS, INTS, INT_ROWS)

_state_at = function("state_at", MODEL, STATE)
_cost = function("cost", MODEL, STATE, result=FLOAT)
_shared = function("shared", INT_ROWS, INT_ROWS, INT_ROWS)
_traffic_with = function("traffic_with", MODEL, INT_ROWS, INT, FLOATS)


def model_of(instance: Instance, prices: Prices) -> Model:
    """Return an instance's constants."""
    rates = instance.groups.pair_rate
    edges = rates.tocoo()
    keep = edges.row != edges.col
    ends = (edges.row[keep], edges.col[keep])
    others = coo_array((edges.data[keep], ends), shape=rates.shape).tocsr()
    others.sort_indices()
    start = instance.start if instance.start is not None and prices[2] > 0 else NOTHING
    allowed = NOTHING if instance.allowed is None else instance.allowed
    return Model(
        instance.groups.size.astype(np.int64),
        others.indptr.astype(np.int64),
        others.indices.astype(np.int64),
        others.data.astype(np.float64),
        np.ascontiguousarray(rates.diagonal(), dtype=np.float64),
        np.ascontiguousarray(instance.load, dtype=np.float64),
        _scale(instance),
        np.ascontiguousarray(instance.bounds),
        instance.slots.astype(np.int64),
        instance.groups.topology.astype(np.int64),
        np.ascontiguousarray(instance.rack, dtype=np.int64),
        np.ascontiguousarray(allowed, dtype=np.bool_),
        np.ascontiguousarray(start, dtype=np.int64),
        np.array(prices, dtype=np.float64),
    )


def _scale(instance: Instance) -> Floats:
    """Return the share of an average usable node that a unit of each load takes, (resources,).

    So that clusters of executors have a size even where nothing limits them, the number of
    executors counts at least by a quarter of their even division over nodes.
    """
    usable = instance.limits[instance.slots > 0]
    offered = usable.sum(axis=0)
    limited = np.isfinite(offered) & (offered > 0)
    result = np.divide(len(usable), offered, out=np.zeros(len(offered)), where=limited)
    even = len(usable) / max(1.0, float(instance.load[:, EXECUTORS] @ instance.groups.size))
    result[EXECUTORS] = max(result[EXECUTORS], even / 4)
    return np.asarray(result)


def weights(model: Model) -> Floats:
    """Return how full one executor of each group makes an average node, shape (groups,)."""
    result: Floats = (model.load * model.scale).max(axis=1, initial=0.0)
    return result


def interchangeable(model: Model) -> Ints:
    """Return a label per node; nodes of one label can change places without effect."""
    columns: list[npt.NDArray[np.generic]] = [model.bounds, model.slots[:, None]]
    if model.prices[1] > 0:
        columns.append(model.rack[:, None])
    columns += [each.T for each in (model.allowed, model.start) if each.shape[0]]
    labels = np.unique(np.concatenate(columns, axis=1), axis=0, return_inverse=True)[1]
    return np.asarray(labels.reshape(-1), dtype=np.int64)


def blank(model: Model, counts: Ints) -> SearchState:
    """Return a state with a copy of these counts and nothing worked out yet."""
    groups, nodes = counts.shape
    topologies = int(model.topology.max(initial=-1)) + 1
    racks = int(model.rack.max(initial=0)) + 1 if model.prices[1] > 0 else 1
    return SearchState(
        np.array(counts, dtype=np.int64, order="C"),
        np.zeros((groups, nodes)),
        np.zeros((groups, racks)),
        np.zeros((nodes, model.load.shape[1])),
        np.zeros((nodes, topologies), dtype=np.int64),
        np.zeros(nodes, dtype=np.int64),
        np.zeros((topologies, nodes), dtype=np.int64),
    )


def state_at(model: Model, counts: Ints) -> SearchState:
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
    return max(total, 1.0) * NOISE


def seed_from(rng: np.random.Generator) -> Seed:
    """Return a state of random numbers for the compiled loops."""
    return rng.integers(1, 2**63, 1).astype(np.uint64)
