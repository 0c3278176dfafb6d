"""Coarser models: executors that exchange much become one, and parts: some nodes alone. Compiled.

A coarse group stands for equal clusters of executors, so that folded models stay folded: of two
groups that meet on a node, as many pairs as there are become one group of that size.

References
----------
P. Sanders and C. Schulz, "Distributed evolutionary graph partitioning", ALENEX 2012: parents are
combined by contracting only what neither of them cuts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stormcut.placement.cut.kernels import (
    Bools,
    Floats,
    Ints,
    Model,
    compiled,
    inlined,
    random_below,
)
from stormcut.placement.cut.state import weights

__all__ = ["Coarse", "coarsen", "expand", "of_nodes", "overlap", "part", "weights"]


class Coarse(NamedTuple):
    """A coarser model.

    ``members`` (coarse groups, 2): the finer groups of which a cluster has one executor each, -1
    for none. ``cells`` (coarse groups, cells): clusters in each cell of the division respected.
    """

    model: Model
    members: Ints
    cells: Ints


@compiled
def group_weights(model: Model) -> Floats:
    """Return how full one executor of each group makes an average node."""
    groups, resources = model.load.shape
    result = np.zeros(groups)
    for g in range(groups):
        for r in range(resources):
            result[g] = max(result[g], model.load[g, r] * model.scale[r])
    return result


@compiled
def coarsen(model: Model, cells: Ints, largest: float, seed: object) -> Coarse:
    """Return a model with heavy pairs of executors of one cell contracted.

    Parameters
    ----------
    cells : array of shape (groups, cells)
        Executors of each group in each cell; pairs are only made within a cell.
    largest : float
        Clusters fill an average node at most by this share.
    seed : array of uint64, shape (1,)
    """
    remaining = cells.copy()
    rows = _match(model, remaining, largest, seed)
    members, coarse_cells = _kinds(rows, remaining)
    return Coarse(_contracted(model, members, coarse_cells), members, coarse_cells)


@compiled
def _match(model, remaining, largest, seed):
    """Return rows (group, group, cell, pairs); takes them out of ``remaining``."""
    where = np.nonzero(remaining)
    count = len(where[0])
    order = np.arange(count)
    for i in range(count - 1, 0, -1):
        j = random_below(seed, i + 1)
        order[i], order[j] = order[j], order[i]
    weight = group_weights(model)
    found = np.zeros((count, 4), dtype=np.int64)
    size = 0
    for at in order:
        g, c = where[0][at], where[1][at]
        if remaining[g, c] == 0:
            continue
        h = _partner(model, weight, remaining, g, c, largest, seed)
        if h < 0:
            continue
        pairs = remaining[g, c] // 2 if g == h else min(remaining[g, c], remaining[h, c])
        remaining[g, c] -= pairs
        remaining[h, c] -= pairs
        found[size, 0], found[size, 1] = min(g, h), max(g, h)
        found[size, 2], found[size, 3] = c, pairs
        size += 1
    return found[:size]


@compiled
def _partner(model, weight, remaining, g, c, largest, seed):
    """Return the group with most traffic for its weight that ``g`` can be joined with, or -1."""
    best, choice, ties = 0.0, -1, 0
    if remaining[g, c] >= 2 and model.own[g] > 0 and 2 * weight[g] <= largest:
        best, choice, ties = model.own[g] ** 2 / weight[g], g, 1
    for e in range(model.starts[g], model.starts[g + 1]):
        h = model.neighbours[e]
        if remaining[h, c] == 0 or weight[g] + weight[h] > largest:
            continue
        value = model.rates[e] * model.rates[e] / weight[h]
        if value < best or value <= 0.0 or not _alike(model.allowed, g, h):
            continue
        ties = ties + 1 if value == best else 1
        if value > best or random_below(seed, ties) == 0:
            choice = h
        best = value
    return choice


@inlined
def _alike(allowed, g, h):
    """Return whether two groups may be on the same nodes."""
    result = True
    for n in range(allowed.shape[1]):
        if allowed[g, n] != allowed[h, n]:
            result = False
    return result


@compiled
def _kinds(rows, alone):
    """Return (members, cells) of the coarse groups: equal pairs are one group."""
    groups, width = alone.shape
    keys = rows[:, 0] * groups + rows[:, 1]
    pairs = np.unique(keys)
    single = np.zeros(groups, dtype=np.int64)
    count = len(pairs)
    for g in range(groups):
        single[g] = -1
        if alone[g].any():
            single[g] = count
            count += 1
    members = np.full((count, 2), -1)
    cells = np.zeros((count, width), dtype=np.int64)
    for k in range(len(pairs)):
        members[k, 0], members[k, 1] = pairs[k] // groups, pairs[k] % groups
    for i in range(len(rows)):
        cells[np.searchsorted(pairs, keys[i]), rows[i, 2]] += rows[i, 3]
    for g in range(groups):
        if single[g] >= 0:
            members[single[g], 0] = g
            cells[single[g]] = alone[g]
    return members, cells


@compiled
def _contracted(model, members, cells):
    """Return the model of the coarse groups."""
    count = len(members)
    starts, neighbours, rates, own = _coarse_rates(model, members)
    load = np.zeros((count, model.load.shape[1]))
    topology = np.zeros(count, dtype=np.int64)
    allowed = np.zeros((count if model.allowed.shape[0] else 0, model.allowed.shape[1]), np.bool_)
    for k in range(count):
        topology[k] = model.topology[members[k, 0]]
        if model.allowed.shape[0]:
            allowed[k] = model.allowed[members[k, 0]]
        for g in members[k]:
            if g >= 0:
                load[k] += model.load[g]
    return Model(
        cells.sum(axis=1),
        starts,
        neighbours,
        rates,
        own,
        load,
        model.scale,
        model.bounds,
        model.slots,
        topology,
        model.rack,
        allowed,
        np.zeros((0, 0), dtype=np.int64),
        model.prices,
    )


@compiled
def _coarse_rates(model, members):
    """Return rows of the traffic between clusters, and that between two of the same kind."""
    groups, count = len(model.size), len(members)
    first, holders = _holders(groups, members)
    starts, own = np.zeros(count + 1, dtype=np.int64), np.zeros(count)
    total = np.zeros(count)
    touched = np.zeros(count, dtype=np.int64)
    size = 0
    neighbours, rates = np.zeros(64, dtype=np.int64), np.zeros(64)
    for k in range(count):
        found = 0
        for g in members[k]:
            if g < 0:
                continue
            for e in range(model.starts[g] - 1, model.starts[g + 1]):
                own_rate = e < model.starts[g]
                h = g if own_rate else model.neighbours[e]
                rate = model.own[g] if own_rate else model.rates[e]
                if rate == 0.0:
                    continue
                for at in range(first[h], first[h + 1]):
                    other = holders[at]
                    if total[other] == 0.0:
                        touched[found] = other
                        found += 1
                    total[other] += rate
        own[k] = total[k]
        if size + found > len(neighbours):
            room = max(2 * len(neighbours), size + found)
            neighbours = np.append(neighbours, np.zeros(room, dtype=np.int64))
            rates = np.append(rates, np.zeros(room))
        for other in np.sort(touched[:found]):
            if other != k:
                neighbours[size], rates[size] = other, total[other]
                size += 1
            total[other] = 0.0
        starts[k + 1] = size
    return starts, neighbours[:size].copy(), rates[:size].copy(), own


@compiled
def _holders(groups, members):
    """Return for each group the coarse groups with it (twice if twice), in compressed rows."""
    first = np.zeros(groups + 1, dtype=np.int64)
    for k in range(len(members)):
        for g in members[k]:
            if g >= 0:
                first[g + 1] += 1
    first = np.cumsum(first)
    at = first[:-1].copy()
    holders = np.zeros(first[-1], dtype=np.int64)
    for k in range(len(members)):
        for g in members[k]:
            if g >= 0:
                holders[at[g]] = k
                at[g] += 1
    return first, holders


@compiled
def expand(members: Ints, counts: Ints, groups: int) -> Ints:
    """Return the counts of the finer groups, shape (groups, nodes)."""
    result = np.zeros((groups, counts.shape[1]), dtype=np.int64)
    for k in range(len(members)):
        for g in members[k]:
            if g >= 0:
                result[g] += counts[k]
    return result


@compiled
def overlap(one: Ints, other: Ints) -> tuple[Ints, Ints]:
    """Divide executors by the node that they have in two placements.

    Executors of a group count as on the same node in both as far as possible.

    Parameters
    ----------
    one, other : arrays of shape (groups, nodes)

    Returns
    -------
    cells : array of shape (groups, cells)
        Executors of each group in each cell.
    nodes : array of shape (cells,)
        Node of each cell in the first placement.
    """
    groups, nodes = one.shape
    rows = _overlap(one, other)
    cell = np.full((nodes, nodes), -1)
    home = np.zeros(nodes * nodes, dtype=np.int64)
    count = 0
    for i in range(len(rows)):
        if cell[rows[i, 1], rows[i, 2]] < 0:
            cell[rows[i, 1], rows[i, 2]] = count
            home[count] = rows[i, 1]
            count += 1
    cells = np.zeros((groups, count), dtype=np.int64)
    for i in range(len(rows)):
        cells[rows[i, 0], cell[rows[i, 1], rows[i, 2]]] += rows[i, 3]
    return cells, home[:count].copy()


@compiled
def _overlap(one, other):
    """Return rows (group, node in one, node in other, executors)."""
    groups, nodes = one.shape
    rows = np.zeros((np.count_nonzero(one) + np.count_nonzero(other), 4), dtype=np.int64)
    size = 0
    for g in range(groups):
        b = 0
        spare = other[g, 0] - min(one[g, 0], other[g, 0])
        for a in range(nodes):
            both = min(one[g, a], other[g, a])
            left = one[g, a] - both
            if both:
                rows[size, 0], rows[size, 1], rows[size, 2], rows[size, 3] = g, a, a, both
                size += 1
            while left:
                while spare == 0:
                    b += 1
                    spare = other[g, b] - min(one[g, b], other[g, b])
                pairs = min(left, spare)
                rows[size, 0], rows[size, 1], rows[size, 2], rows[size, 3] = g, a, b, pairs
                size += 1
                left -= pairs
                spare -= pairs
    return rows[:size]


@compiled
def of_nodes(cells: Ints, nodes: Ints, count: int) -> Ints:
    """Return counts per node, shape (groups, count), of cells that lie on these nodes."""
    counts = np.zeros((cells.shape[0], count), dtype=np.int64)
    for g in range(cells.shape[0]):
        for c in range(cells.shape[1]):
            counts[g, nodes[c]] += cells[g, c]
    return counts


@compiled
def part(model: Model, counts: Ints, nodes: Ints) -> tuple[Model, Ints, Ints]:
    """Return the model of some nodes with what they hold, its groups, and its counts."""
    groups = counts.shape[0]
    position = np.full(groups, -1)
    size = 0
    for g in range(groups):
        for n in nodes:
            if counts[g, n] or (model.start.shape[0] and model.start[g, n]):
                position[g] = size
        if position[g] >= 0:
            size += 1
    chosen = np.nonzero(position >= 0)[0]
    inside = np.zeros((size, len(nodes)), dtype=np.int64)
    for k in range(size):
        for i in range(len(nodes)):
            inside[k, i] = counts[chosen[k], nodes[i]]
    starts, neighbours, rates = _inner_rates(model, chosen, position)
    result = Model(
        inside.sum(axis=1),
        starts,
        neighbours,
        rates,
        model.own[chosen],
        model.load[chosen],
        model.scale,
        model.bounds[nodes],
        model.slots[nodes],
        model.topology[chosen],
        model.rack[nodes],
        _rows_and_columns(model.allowed, chosen, nodes),
        _rows_and_columns(model.start, chosen, nodes),
        model.prices,
    )
    return result, chosen, inside


@compiled
def _inner_rates(model, chosen, position):
    """Return rows of the traffic among chosen groups, which are at these positions (-1: not)."""
    starts = np.zeros(len(chosen) + 1, dtype=np.int64)
    for k in range(len(chosen)):
        starts[k + 1] = starts[k]
        for e in range(model.starts[chosen[k]], model.starts[chosen[k] + 1]):
            starts[k + 1] += position[model.neighbours[e]] >= 0
    neighbours, rates = np.zeros(starts[-1], dtype=np.int64), np.zeros(starts[-1])
    at = 0
    for g in chosen:
        for e in range(model.starts[g], model.starts[g + 1]):
            if position[model.neighbours[e]] >= 0:
                neighbours[at] = position[model.neighbours[e]]
                rates[at] = model.rates[e]
                at += 1
    return starts, neighbours, rates


@compiled
def _rows_and_columns(matrix: Bools, rows: Ints, columns: Ints) -> Bools:
    """Return some rows and columns of a matrix, none of an empty one."""
    if matrix.shape[0] == 0:
        return matrix
    result = np.zeros((len(rows), len(columns)), dtype=matrix.dtype)
    for i in range(len(rows)):
        for j in range(len(columns)):
            result[i, j] = matrix[rows[i], columns[j]]
    return result
