"""How many batches tuples travel in from worker to worker: what a worker's CPU pays for.

Storm's transfer threads send what has gathered for another worker in one message. Of h tuples/s
between two workers that are h while few come, and never more than ``batches_per_s``:
m(h) = h / (1 + h / batches_per_s).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.model.traffic import Block, Traffic
from stormcut.objective.cut import has_local_target


class Connections(NamedTuple):
    """Ordered pairs of workers that exchange tuples: slots, and tuples/s; shape (pairs,)."""

    source: Ints
    target: Ints
    rate: Floats


def batches(rate: Floats, most: float) -> Floats:
    """Return the batches/s in which so many tuples/s travel from one worker to another.

    Parameters
    ----------
    most : float
        ``batches_per_s`` of `Costs`.
    """
    result: Floats = rate * batches_each(rate, most)
    return result


def batches_each(rate: Floats, most: float) -> Floats:
    """Return the batches per tuple at a rate in tuples/s between two workers, at most 1."""
    result: Floats = 1.0 / (1.0 + rate / most)
    return result


def batches_per_tuple(source: Ints, target: Ints, rate: Floats, most: float) -> Floats:
    """Return how many batches each tuple of a pair of executors makes, at most 1; shape (pairs,).

    Parameters
    ----------
    source, target : array of shape (pairs,)
        Slots of the executors; pairs with a negative one travel nowhere.
    rate : array of shape (pairs,)
    """
    _, connection = group_by_workers(source, target)
    together = np.bincount(connection, rate).astype(np.float64)
    return batches_each(together, most)[connection]


def group_by_workers(source: Ints, target: Ints) -> tuple[Ints, Ints]:
    """Group pairs of executors by the two workers that they connect.

    Parameters
    ----------
    source, target : array of shape (pairs,)
        Slots of the executors; pairs with a negative one are a group.

    Returns
    -------
    first : array of shape (groups,)
        One pair of each group.
    group : array of shape (pairs,)
    """
    count = max(source.max(initial=-1), target.max(initial=-1)) + 1
    travels = (source >= 0) & (target >= 0)
    key = np.where(travels, source * count + target, -1)
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    return first, group.ravel()


def connections(traffic: Traffic, slots: Ints) -> Connections:
    """Return all pairs of workers that exchange tuples.

    Takes O(pairs), and for each folded block O(workers that send x workers that take).

    Parameters
    ----------
    slots : array of shape (executors,)
        Slot ordinals; executors at negative ones run nowhere.
    """
    count = int(slots.max(initial=-1)) + 1
    source, target = slots[traffic.source], slots[traffic.target]
    apart = (source != target) & (source >= 0) & (target >= 0)
    keys, rates = [source[apart] * count + target[apart]], [traffic.rate[apart]]
    for block in traffic.blocks:
        key, rate = _of_block(block, traffic.sent_by_each(block), slots, count)
        keys.append(key)
        rates.append(rate)
    unique, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    total: Floats = np.bincount(inverse.ravel(), np.concatenate(rates), len(unique)).astype(
        np.float64
    )
    return Connections(unique // max(count, 1), unique % max(count, 1), total)


def _of_block(block: Block, sent: Floats, slots: Ints, count: int) -> tuple[Ints, Floats]:
    sources = slots[block.sources.start : block.sources.stop]
    sends = sources >= 0
    if block.local_first:
        sends &= ~has_local_target(block, slots)
    senders, inverse = np.unique(sources[sends], return_inverse=True)
    sending = np.bincount(inverse.reshape(-1), sent[sends], len(senders))
    targets = slots[block.targets.start : block.targets.stop]
    takers, taking = np.unique(targets[targets >= 0], return_counts=True)
    apart = senders[:, None] != takers
    keys = (senders[:, None] * count + takers)[apart]
    rates = (sending[:, None] * taking)[apart]
    return keys, rates
