"""A first placement, in counts per node and group: built greedily, then improved by exchanges."""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np

from stormcut.arrays import Ints
from stormcut.placement.algorithms.exact.folded import Folded


def fill_nodes(folded: Folded) -> Ints | None:
    """Fill one node after the other with what exchanges most with its executors.

    Returns
    -------
    array of shape (nodes, groups) or None
        None if executors are left over. O(executors x groups) plus the non-zero rates.
    """
    kinds = folded.node_kinds
    counts = np.zeros((len(kinds), len(folded.size)), dtype=np.int64)
    left = folded.size.copy()
    weight = folded.rate @ folded.size.astype(np.float64)
    for node, kind in enumerate(kinds.tolist()):
        near = np.zeros(len(left))
        room = folded.limit[kind].copy()
        guests: set[int] = set()
        while True:
            fits = (left > 0) & (folded.load <= room).all(axis=1)
            if len(guests) >= folded.slots[kind]:
                fits &= np.isin(folded.topology, list(guests))
            able = np.flatnonzero(fits)
            if not len(able):
                break
            chosen = able[np.lexsort((-weight[able], -near[able]))[0]]
            counts[node, chosen] += 1
            left[chosen] -= 1
            room -= folded.load[chosen]
            guests.add(int(folded.topology[chosen]))
            row = slice(folded.rate.indptr[chosen], folded.rate.indptr[chosen + 1])
            near[folded.rate.indices[row]] += folded.rate.data[row]
    return None if left.any() else counts


def best_fit(folded: Folded) -> Ints | None:
    """Place executors, largest share of a node first, where they exchange most.

    Returns
    -------
    array of shape (nodes, groups) or None
        None if an executor fits nowhere. O(executors x nodes) plus the non-zero rates.
    """
    kinds = folded.node_kinds
    limit = folded.limit[kinds]
    counts = np.zeros((len(kinds), len(folded.size)), dtype=np.int64)
    near = np.zeros(counts.shape)
    used = np.zeros((len(kinds), 3))
    largest = np.where(np.isfinite(folded.limit), folded.limit, 0.0).max(axis=0)
    share = (folded.load / np.where(largest > 0, largest, np.inf)).max(axis=1)
    guests = np.zeros((len(kinds), int(folded.topology.max()) + 1), dtype=bool)
    for group in np.argsort(-share, kind="stable").tolist():
        topology = folded.topology[group]
        row = slice(folded.rate.indptr[group], folded.rate.indptr[group + 1])
        for _ in range(int(folded.size[group])):
            fits = (used + folded.load[group] <= limit).all(axis=1)
            fits &= guests[:, topology] | (guests.sum(axis=1) < folded.slots[kinds])
            able = np.flatnonzero(fits)
            if not len(able):
                return None
            node = able[np.argmax(near[able, group])]
            counts[node, group] += 1
            used[node] += folded.load[group]
            guests[node, topology] = True
            near[node, folded.rate.indices[row]] += folded.rate.data[row]
    return counts


def improved(folded: Folded, counts: Ints, deadline: float) -> Ints:
    """Move single executors and exchange pairs between two nodes while that keeps more local.

    Parameters
    ----------
    counts : array of shape (nodes, groups)
        Feasible.
    deadline : float
        `time.monotonic` at which to stop at the latest.
    """
    counts = counts.copy()
    kinds = folded.node_kinds
    fresh = np.ones(len(kinds), dtype=bool)
    while fresh.any():
        changed = np.zeros(len(kinds), dtype=bool)
        for one, other in combinations(range(len(kinds)), 2):
            if time.monotonic() > deadline:
                return counts
            twin = kinds[one] == kinds[other] and not (counts[one].any() or counts[other].any())
            if (fresh[one] or fresh[other] or changed[one] or changed[other]) and not twin:
                pair = np.array([one, other])
                after = _best_exchange(folded, counts[pair], kinds[pair])
                if after is not None:
                    counts[pair] = after
                    changed[pair] = True
        fresh = changed
    return counts


def _best_exchange(folded: Folded, pair: Ints, kinds: Ints) -> Ints | None:
    """Return the counts of two nodes after their best exchange, None if none gains."""
    moves = np.vstack((np.zeros(len(folded.size), dtype=np.int64), np.eye(len(folded.size))))
    moves = moves.astype(np.int64)
    gives = [np.concatenate(([0], np.flatnonzero(row) + 1)) for row in pair]
    flow = (moves[gives[1]][None, :, :] - moves[gives[0]][:, None, :]).reshape(-1, len(folded.size))
    first, second = pair[0] + flow, pair[1] - flow
    allowed = folded.fits(first, np.repeat(kinds[0], len(flow)))
    allowed &= folded.fits(second, np.repeat(kinds[1], len(flow)))
    first, second = first[allowed], second[allowed]
    value = folded.local(first) + folded.local(second)
    best = int(np.argmax(value))
    if value[best] <= folded.local(pair).sum() + 1e-9 * folded.total:
        return None
    return np.stack((first[best], second[best]))
