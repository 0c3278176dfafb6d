"""Greedy insertion of executors that are nowhere yet, compiled."""

from __future__ import annotations

import numpy as np

from stormcut.placement.cut.kernels import (
    Ints,
    Model,
    State,
    compiled,
    put,
    random_below,
    state_at,
    welcome,
)

#: Where an executor goes that has no traffic with any node that could take it.
EMPTIEST, FULLEST, ANYWHERE = range(3)


@compiled
def _fullness(model, state, n):
    """Return the largest share of a resource of ``n`` in use; tenants count where nothing else."""
    result = 0.0
    for r in range(model.load.shape[1]):
        if np.isfinite(model.bounds[n, r]) and model.bounds[n, r] > 0:
            result = max(result, state.used[n, r] / model.bounds[n, r])
    return result


@compiled
def best_node(model: Model, state: State, g: int, otherwise: int, seed: object) -> int:
    """Return where one more executor of ``g`` has most traffic and fits, -1 if it fits nowhere."""
    best, second, choice, ties = -1.0, 0.0, -1, 0
    for n in range(state.counts.shape[1]):
        value = model.prices[0] * state.traffic[g, n]
        if state.near.shape[1] > 1:
            value += model.prices[1] * state.near[g, model.rack[n]]
        if value < best or not welcome(model, state, g, n):
            continue
        full = 0.0
        if otherwise != ANYWHERE:
            full = _fullness(model, state, n)
            if otherwise == EMPTIEST:
                full = -full
        if value == best and full < second:
            continue
        ties = ties + 1 if value == best and full == second else 1
        if ties == 1 or random_below(seed, ties) == 0:
            choice = n
        best, second = value, full
    return choice


@compiled
def fill(model: Model, state: State, order: Ints, otherwise: int, seed: object) -> int:
    """Insert executors of groups in that order, each where it has most traffic.

    Parameters
    ----------
    order : array of groups, one entry an executor
    otherwise : int
        `EMPTIEST`, `FULLEST` or `ANYWHERE`: which node among those of equal traffic.

    Returns
    -------
    int
        Number of executors that fitted nowhere and were left out.
    """
    left = 0
    for g in order:
        n = best_node(model, state, g, otherwise, seed)
        if n < 0:
            left += 1
        else:
            put(model, state, g, n, 1)
    return left


@compiled
def inserted(model: Model, counts: Ints, order: Ints, otherwise: int, seed: object) -> Ints:
    """Return counts with missing executors added where they fit, group by group in that order."""
    state = state_at(model, counts)
    missing = model.size - counts.sum(axis=1)
    fill(model, state, np.repeat(order, missing[order]), otherwise, seed)
    return state.counts
