"""Greedy insertion of executors that are nowhere yet; greedy.cpp has the loops."""

from __future__ import annotations

import numpy as np

from stormcut.placement.algorithms.cut.model import (
    MODEL,
    STATE,
    Floats,
    Ints,
    Model,
    SearchState,
    Seed,
    blank,
)
from stormcut.placement.native.library import BOOL, FLOATS, INT, INTS, SEED, function

#: Where an executor goes that has no traffic with any node that could take it.
EMPTIEST, FULLEST, ANYWHERE = range(3)

_inserted = function("inserted", MODEL, STATE, INTS, INT, SEED)
_deal_evenly = function("deal_evenly", MODEL, STATE, INTS, INTS, INTS, FLOATS, result=BOOL)
_grow_clusters = function("grow_clusters", MODEL, STATE, INTS, INTS, INTS, FLOATS)
_take_out = function("take_out", MODEL, STATE, INTS, INTS)


def inserted(model: Model, counts: Ints, order: Ints, otherwise: int, seed: Seed) -> Ints:
    """Return counts with missing executors added where they fit, group by group in that order.

    Parameters
    ----------
    otherwise : int
        `EMPTIEST`, `FULLEST` or `ANYWHERE`: which node among those of equal traffic.
    """
    state = blank(model, counts)
    missing = model.size - counts.sum(axis=1)
    _inserted(model, state, np.repeat(order, missing[order]), otherwise, seed)
    return state.counts


def deal_evenly(
    model: Model, state: SearchState, members: Ints, missing: Ints, nodes: Ints, shares: Floats
) -> bool:
    """Deal each group to nodes in proportion to their shares; O(executors x nodes).

    Parameters
    ----------
    members : array of groups, in the order in which they are dealt
    missing : array of shape (groups,)
        Executors still to be dealt of every group; counted down.
    nodes : array of node ordinals
    shares : array of shape (all nodes,)

    Returns
    -------
    bool
        Whether all fitted; if not, some are missing still.
    """
    return bool(_deal_evenly(model, state, members, missing, nodes, shares))


def grow_clusters(
    model: Model, state: SearchState, members: Ints, missing: Ints, nodes: Ints, weight: Floats
) -> None:
    """Fill node after node with executors that exchange most for the room that they take.

    Each begins with the pair of groups that is densest, and goes on with the executor that adds
    most traffic for its weight. Executors without such traffic stay missing.

    Parameters
    ----------
    weight : array of shape (groups,)
        Room that one executor takes; above 0.
    """
    _grow_clusters(model, state, members, missing, nodes, weight)


def take_out(model: Model, state: SearchState, members: Ints, nodes: Ints) -> None:
    """Remove all executors of some groups from some nodes."""
    _take_out(model, state, members, nodes)
