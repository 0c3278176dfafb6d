"""Ways to deal a topology's executors to nodes from nothing, compiled."""

from __future__ import annotations

import numpy as np

from stormcut.placement.cut.kernels import Floats, Ints, Model, State, compiled, put, welcome


@compiled
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
    for g in members:
        while missing[g] > 0:
            best, choice = np.inf, -1
            for n in nodes:
                level = (state.counts[g, n] + 1.0) / shares[n]
                if level < best and welcome(model, state, g, n):
                    best, choice = level, n
            if choice < 0:
                return False
            put(model, state, g, choice, 1)
            missing[g] -= 1
    return True


@compiled
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
    for n in nodes:
        while True:
            best, choice = 0.0, -1
            for g in members:
                value = state.traffic[g, n] / weight[g]
                if missing[g] > 0 and value > best and welcome(model, state, g, n):
                    best, choice = value, g
            if choice < 0:
                choice = _densest(model, state, members, missing, n, weight)
                if choice < 0:
                    break
            put(model, state, choice, n, 1)
            missing[choice] -= 1


@compiled
def _densest(model, state, members, missing, n, weight):
    """Return a group of the densest pair that can still be begun on ``n``, -1 if there is none."""
    best, choice = 0.0, -1
    for g in members:
        if missing[g] == 0 or not welcome(model, state, g, n):
            continue
        if missing[g] > 1 and model.own[g] > best * weight[g] * weight[g]:
            best, choice = model.own[g] / (weight[g] * weight[g]), g
        for e in range(model.starts[g], model.starts[g + 1]):
            h = model.neighbours[e]
            if missing[h] == 0 or not welcome(model, state, h, n):
                continue
            value = model.rates[e] / (weight[g] * weight[h])
            if value > best:
                best, choice = value, g
    return choice


@compiled
def take_out(model: Model, state: State, members: Ints, nodes: Ints) -> None:
    """Remove all executors of some groups from some nodes."""
    for g in members:
        for n in nodes:
            while state.counts[g, n] > 0:
                put(model, state, g, n, -1)
