"""Coarser models: executors that exchange much become one, and parts: some nodes alone.

A coarse group stands for equal clusters of executors, so that folded models stay folded: of two
groups that meet on a node, as many pairs as there are become one group of that size.
coarsening.cpp has the loops that numpy has no function for.

References
----------
P. Sanders and C. Schulz, "Distributed evolutionary graph partitioning", ALENEX 2012: parents are
combined by contracting only what neither of them cuts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.native.library import FLOAT, FLOATS, INT, INT_ROWS, INTS, SEED, function
from stormcut.placement.algorithms.cut.model import MODEL, NOTHING, Model, Seed, weights

_match = function("match", MODEL, FLOATS, INT_ROWS, FLOAT, SEED, INT_ROWS, result=INT)
_coarse_rates = function("coarse_rates", MODEL, INT_ROWS, INTS, INTS, FLOATS, FLOATS, result=INT)
_overlap = function("overlap", INT_ROWS, INT_ROWS, INT_ROWS, result=INT)
_inner_rates = function("inner_rates", MODEL, INTS, INTS, INTS, INTS, FLOATS, result=INT)


class Coarse(NamedTuple):
    """A coarser model.

    ``members`` (coarse groups, 2): the finer groups of which a cluster has one executor each, -1
    for none. ``cells`` (coarse groups, cells): clusters in each cell of the division respected.
    """

    model: Model
    members: Ints
    cells: Ints


def coarsen(model: Model, cells: Ints, largest: float, seed: Seed) -> Coarse:
    """Return a model with heavy pairs of executors of one cell contracted.

    Parameters
    ----------
    cells : array of shape (groups, cells)
        Executors of each group in each cell; pairs are only made within a cell.
    largest : float
        Clusters fill an average node at most by this share.
    """
    remaining = cells.copy()
    rows = np.empty((np.count_nonzero(cells), 4), dtype=np.int64)
    pairs = _match(model, weights(model), remaining, largest, seed, rows)
    members, coarse_cells = _kinds(rows[:pairs], remaining)
    return Coarse(_contracted(model, members, coarse_cells), members, coarse_cells)


def _kinds(rows: Ints, alone: Ints) -> tuple[Ints, Ints]:
    """Return (members, cells) of the coarse groups: equal pairs are one group."""
    groups = len(alone)
    pairs, kind = np.unique(rows[:, 0] * groups + rows[:, 1], return_inverse=True)
    single = np.flatnonzero(alone.any(axis=1))
    ends = (
        np.concatenate((pairs // groups, single)),
        np.concatenate((pairs % groups, -1 + 0 * single)),
    )
    cells = np.zeros((len(pairs) + len(single), alone.shape[1]), dtype=np.int64)
    np.add.at(cells, (kind, rows[:, 2]), rows[:, 3])
    cells[len(pairs) :] = alone[single]
    return np.stack(ends, axis=1), cells


def _contracted(model: Model, members: Ints, cells: Ints) -> Model:
    """Return the model of the coarse groups."""
    first, second = members.T
    load = model.load[first] + np.where(second >= 0, 1.0, 0.0)[:, None] * model.load[second]
    starts, neighbours, rates, own = _rates(model, members)
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
        model.topology[first],
        model.rack,
        model.allowed[first] if len(model.allowed) else model.allowed,
        NOTHING,  # no restarts are priced in coarse models
        model.prices,
    )


def _rates(model: Model, members: Ints) -> tuple[Ints, Ints, Floats, Floats]:
    """Return rows of the traffic between clusters, and that between two of the same kind."""
    count = len(members)
    starts, own = np.empty(count + 1, dtype=np.int64), np.empty(count)
    # As many entries as there can be: clusters of a group times those of its neighbours.
    holding = np.bincount(members[members >= 0], minlength=len(model.own))
    reach = np.concatenate(([0], np.cumsum(holding[model.neighbours])))
    reached = holding + reach[model.starts[1:]] - reach[model.starts[:-1]]
    most = min(int(holding @ reached), count * count)
    neighbours, rates = np.empty(most, dtype=np.int64), np.empty(most)
    size = _coarse_rates(model, members, starts, neighbours, rates, own)
    return starts, neighbours[:size].copy(), rates[:size].copy(), own


def expand(members: Ints, counts: Ints, groups: int) -> Ints:
    """Return the counts of the finer groups, shape (groups, nodes)."""
    result = np.zeros((groups, counts.shape[1]), dtype=np.int64)
    for member in members.T:
        there = member >= 0
        np.add.at(result, member[there], counts[there])
    return result


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
    rows = np.empty((np.count_nonzero(one) + np.count_nonzero(other), 4), dtype=np.int64)
    group, here, there, executors = rows[: _overlap(one, other, rows)].T
    pairs, first, cell = np.unique(here * nodes + there, return_index=True, return_inverse=True)
    # Cells are numbered as they are met.
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    cells = np.zeros((groups, len(pairs)), dtype=np.int64)
    np.add.at(cells, (group, rank[cell]), executors)
    return cells, pairs[order] // nodes


def of_nodes(cells: Ints, nodes: Ints, count: int) -> Ints:
    """Return counts per node, shape (groups, count), of cells that lie on these nodes."""
    counts = np.zeros((count, len(cells)), dtype=np.int64)
    np.add.at(counts, nodes, cells.T)
    return np.ascontiguousarray(counts.T)


def part(model: Model, counts: Ints, nodes: Ints) -> tuple[Model, Ints, Ints]:
    """Return the model of some nodes with what they hold, its groups, and its counts."""
    held = counts[:, nodes].any(axis=1)
    if len(model.start):
        held |= model.start[:, nodes].any(axis=1)
    chosen = np.flatnonzero(held)
    inside = counts[np.ix_(chosen, nodes)]
    starts, neighbours, rates = _inside(model, chosen)
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
        model.allowed[np.ix_(chosen, nodes)] if len(model.allowed) else model.allowed,
        model.start[np.ix_(chosen, nodes)] if len(model.start) else model.start,
        model.prices,
    )
    return result, chosen, inside


def _inside(model: Model, chosen: Ints) -> tuple[Ints, Ints, Floats]:
    """Return rows of the traffic among chosen groups."""
    position = np.full(len(model.own), -1)
    position[chosen] = np.arange(len(chosen))
    starts = np.empty(len(chosen) + 1, dtype=np.int64)
    most = int((model.starts[chosen + 1] - model.starts[chosen]).sum())
    neighbours, rates = np.empty(most, dtype=np.int64), np.empty(most)
    size = _inner_rates(model, chosen, position, starts, neighbours, rates)
    return starts, neighbours[:size].copy(), rates[:size].copy()
