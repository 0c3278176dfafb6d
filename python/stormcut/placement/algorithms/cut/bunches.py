"""Ways to deal a topology's executors to nodes from nothing; bunches.cpp has the loops."""

from __future__ import annotations

from stormcut.placement.algorithms.cut.kernels import MODEL, STATE, Floats, Ints, Model, State
from stormcut.placement.native.library import BOOL, FLOATS, INTS, function

_deal_evenly = function("deal_evenly", MODEL, STATE, INTS, INTS, INTS, FLOATS, result=BOOL)
_deal_bunches = function("deal_bunches", MODEL, STATE, INTS, INTS, INTS, FLOATS)
_take_out = function("take_out", MODEL, STATE, INTS, INTS)


def deal_evenly(
    model: Model, state: State, members: Ints, missing: Ints, nodes: Ints, shares: Floats
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


def deal_bunches(
    model: Model, state: State, members: Ints, missing: Ints, nodes: Ints, weight: Floats
) -> None:
    """Fill node after node with executors that exchange most for the room that they take.

    Each begins with the pair of groups that is densest, and goes on with the executor that adds
    most traffic for its weight. Executors without such traffic stay missing.

    Parameters
    ----------
    weight : array of shape (groups,)
        Room that one executor takes; above 0.
    """
    _deal_bunches(model, state, members, missing, nodes, weight)


def take_out(model: Model, state: State, members: Ints, nodes: Ints) -> None:
    """Remove all executors of some groups from some nodes."""
    _take_out(model, state, members, nodes)
