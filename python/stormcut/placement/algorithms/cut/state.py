"""Instances and placements in the form that the compiled steps take."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array

from stormcut.placement.algorithms.cut.instance import Instance
from stormcut.placement.algorithms.cut.kernels import Floats, Model
from stormcut.placement.packing.capacity import EXECUTORS

Prices = tuple[float, float, float]


def model_of(instance: Instance, prices: Prices) -> Model:
    """Return an instance's constants.

    Parameters
    ----------
    prices : (float, float, float)
        Cost of a tuple/s that leaves a node, of one that leaves a rack beyond that, of a restarted
        worker (0: restarts are not counted).
    """
    rates = instance.groups.pair_rate
    edges = rates.tocoo()
    keep = edges.row != edges.col
    ends = (edges.row[keep], edges.col[keep])
    others = coo_array((edges.data[keep], ends), shape=rates.shape).tocsr()
    others.sort_indices()
    nothing = np.zeros((0, 0))
    start = instance.start if instance.start is not None and prices[2] > 0 else nothing
    allowed = nothing if instance.allowed is None else instance.allowed
    return Model(
        instance.groups.size.astype(np.int64),
        others.indptr.astype(np.int64),
        others.indices.astype(np.int64),
        others.data.astype(np.float64),
        np.ascontiguousarray(rates.diagonal(), dtype=np.float64),
        np.ascontiguousarray(instance.load, dtype=np.float64),
        scale(instance),
        np.ascontiguousarray(instance.bounds),
        instance.slots.astype(np.int64),
        instance.groups.topology.astype(np.int64),
        np.ascontiguousarray(instance.rack, dtype=np.int64),
        np.ascontiguousarray(allowed, dtype=np.bool_),
        np.ascontiguousarray(start, dtype=np.int64),
        np.array(prices, dtype=np.float64),
    )


def scale(instance: Instance) -> Floats:
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


def weights(instance: Instance) -> Floats:
    """Return how full one executor of each group makes an average node, shape (groups,)."""
    return np.asarray((instance.load * scale(instance)).max(axis=1))
