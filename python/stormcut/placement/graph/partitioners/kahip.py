"""KaHIP.

KaHIP makes parts of equal weight only. For shares that differ it makes as many equal units as fit
into the shares, and these are put together, largest share first, each time the unit that has most
traffic with those taken (our reading: KaHIP's authors offer nothing for it).

References
----------
P. Sanders and C. Schulz, "Think locally, act globally: highly balanced graph partitioning",
SEA 2013.
"""

from __future__ import annotations

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.placement.graph.partitioners.task import PartitionTask

#: The first is the default.
PRESETS = ("strong", "eco", "fast", "strongsocial", "ecosocial", "fastsocial")

#: KaHIP has no default of its own; this is the one of its manual's examples.
DEFAULT_IMBALANCE = 0.03

#: Most units a part, on average.
UNITS_A_PART = 8


def divide(task: PartitionTask) -> Ints:
    """Return KaHIP's part of each vertex, shape (n,); for the native server."""
    if task.equal:
        return _equal(task, task.parts)
    units = _units(task.shares, min(len(task.vertex_weights), UNITS_A_PART * task.parts))
    unit = _equal(task, int(units.sum()))
    return _gather(_traffic_between(task, unit, int(units.sum())), units)[unit]


def _equal(task: PartitionTask, parts: int) -> Ints:
    import kahip

    imbalance = DEFAULT_IMBALANCE if task.imbalance is None else task.imbalance
    _, result = kahip.kaffpa(
        task.vertex_weights.tolist(),
        task.starts.tolist(),
        task.edge_weights.tolist(),
        task.neighbours.tolist(),
        parts,
        imbalance,
        True,  # no output
        task.seed,
        getattr(kahip, task.preset.upper()),
    )
    return np.asarray(result, dtype=np.int64)


def _units(shares: Floats, most: int) -> Ints:
    """Return how many equal units each part takes: at least one, about in proportion."""
    ratios = shares / shares.min()
    scale = min(1.0, most / ratios.sum())
    units: Ints = np.maximum(1, np.rint(ratios * scale).astype(np.int64))
    return units


def _traffic_between(task: PartitionTask, unit: Ints, units: int) -> Floats:
    source = np.repeat(np.arange(len(task.vertex_weights)), np.diff(task.starts))
    between = np.zeros((units, units))
    np.add.at(between, (unit[source], unit[task.neighbours]), task.edge_weights)
    return between


def _gather(between: Floats, units: Ints) -> Ints:
    """Return the part of each unit; part p takes units[p] of them."""
    part = np.full(len(between), -1, dtype=np.int64)
    for p in np.argsort(-units, kind="stable").tolist():
        pull = np.zeros(len(between))
        for _ in range(int(units[p])):
            free = part < 0
            # The first unit of a part is the one least bound to what is left for the others.
            wish = pull if pull.any() else -between[:, free].sum(axis=1)
            chosen = int(np.argmax(np.where(free, wish, -np.inf)))
            part[chosen] = p
            pull = pull + between[chosen]
    return part
