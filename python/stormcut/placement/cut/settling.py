"""Makes room for executors that fit nowhere: others are ejected and find another place. Compiled.

References
----------
Y. Nagata and O. Braysy, "A powerful route minimization heuristic for the vehicle routing problem
with time windows", Operations Research Letters 37 (2009): an ejection pool, where what was hard to
insert before is dear to eject.
"""

from __future__ import annotations

import numpy as np

from stormcut.placement.cut.filling import ANYWHERE, best_node
from stormcut.placement.cut.kernels import (
    Floats,
    Ints,
    Model,
    compiled,
    inlined,
    put,
    random_below,
    state_at,
    welcome,
)

#: Insertions tried for each executor, and for as many more as if there were 50 more.
TRIES = 20

#: Groups on nodes that are looked at, at most, by all insertions together.
LOOKS = 2e8

#: Random moves after each ejection.
SHUFFLES = 3


@compiled
def settled(model: Model, counts: Ints, weight: Floats, seed: object) -> Ints:
    """Return counts with missing executors added and others moved to make room for them.

    Parameters
    ----------
    weight : array of shape (groups,)
        Room that one executor takes.

    Returns
    -------
    array of shape (groups, nodes)
        Some executors are still missing if no way was found.
    """
    state = state_at(model, counts)
    missing = model.size - counts.sum(axis=1)
    penalty = np.ones(len(weight))
    tries = min(TRIES * (model.size.sum() + 50), int(LOOKS / counts.size))
    for _ in range(tries):
        g = _hardest(missing, weight, penalty)
        if g < 0:
            break
        n = best_node(model, state, g, ANYWHERE, seed)
        if n < 0:
            penalty[g] += 1.0
            n = _make_way(model, state, g, missing, penalty, seed)
            if n < 0:
                break
            put(model, state, g, n, 1)
            _shuffle(model, state, seed)
        else:
            put(model, state, g, n, 1)
        missing[g] -= 1
    return state.counts


@compiled
def _hardest(missing, weight, penalty):
    """Return the missing group that is hardest to insert, -1 if none is missing."""
    best, choice = -1.0, -1
    for g in range(len(missing)):
        if missing[g] > 0 and penalty[g] * weight[g] > best:
            best, choice = penalty[g] * weight[g], g
    return choice


@compiled
def _make_way(model, state, g, missing, penalty, seed):
    """Eject what is cheapest so that ``g`` fits; return on which node, -1 if it fits on none."""
    best, choice, ties = np.inf, -1, 0
    out = np.zeros(len(missing), dtype=np.int64)
    for n in range(len(model.slots)):
        price = _ejected(model, state, g, n, penalty, out, seed)
        _take(model, state, n, out, -1)
        if price > best or price == np.inf:
            continue
        ties = ties + 1 if price == best else 1
        if price < best or random_below(seed, ties) == 0:
            choice = n
        best = price
    if choice >= 0:
        _ejected(model, state, g, choice, penalty, out, seed)
        missing += out
    return choice


@inlined
def _take(model, state, n, out, sign):
    """Take executors away from a node, or put them back (sign -1)."""
    for h in range(len(out)):
        for _ in range(out[h]):
            put(model, state, h, n, -sign)


@compiled
def _ejected(model, state, g, n, penalty, out, seed):
    """Take executors off ``n`` until ``g`` fits, and return their penalties; ``out`` counts them.

    Infinite, and nothing is ejected, if ``g`` can never be there.
    """
    out[:] = 0
    if model.slots[n] == 0 or (model.allowed.shape[0] and not model.allowed[g, n]):
        return np.inf
    for r in range(model.load.shape[1]):
        if model.load[g, r] > model.bounds[n, r]:
            return np.inf
    price = 0.0
    t = model.topology[g]
    if state.held[n, t] == 0 and state.tenants[n] >= model.slots[n]:
        price += _evict(model, state, n, penalty, out, seed)
    while not welcome(model, state, g, n):
        h = _most_relief(model, state, g, n, penalty, seed)
        put(model, state, h, n, -1)
        out[h] += 1
        price += penalty[h]
    return price - _taken_back(model, state, g, n, penalty, out)


@compiled
def _evict(model, state, n, penalty, out, seed):
    """Take the topology off ``n`` whose executors there have the least penalties; return these."""
    prices = np.zeros(state.held.shape[1])
    for h in range(len(penalty)):
        prices[model.topology[h]] += state.counts[h, n] * penalty[h]
    best, choice, ties = np.inf, -1, 0
    for t in range(len(prices)):
        if state.held[n, t] == 0 or prices[t] > best:
            continue
        ties = ties + 1 if prices[t] == best else 1
        if prices[t] < best or random_below(seed, ties) == 0:
            choice = t
        best = prices[t]
    for h in range(len(penalty)):
        while model.topology[h] == choice and state.counts[h, n] > 0:
            put(model, state, h, n, -1)
            out[h] += 1
    return best


@compiled
def _most_relief(model, state, g, n, penalty, seed):
    """Return the group on ``n`` that frees most of what ``g`` lacks for its penalty."""
    best, choice, ties = -1.0, -1, 0
    for h in range(len(penalty)):
        if state.counts[h, n] == 0:
            continue
        relief = 0.0
        for r in range(model.load.shape[1]):
            lacking = state.used[n, r] + model.load[g, r] - model.bounds[n, r]
            if lacking > 0:
                relief += min(1.0, model.load[h, r] / lacking)
        relief /= penalty[h]
        if relief < best:
            continue
        ties = ties + 1 if relief == best else 1
        if relief > best or random_below(seed, ties) == 0:
            choice = h
        best = relief
    return choice


@compiled
def _taken_back(model, state, g, n, penalty, out):
    """Put back what was ejected for nothing; return its penalties."""
    result = 0.0
    put(model, state, g, n, 1)
    for h in range(len(penalty)):
        while out[h] > 0 and welcome(model, state, h, n):
            put(model, state, h, n, 1)
            out[h] -= 1
            result += penalty[h]
    put(model, state, g, n, -1)
    return result


@compiled
def _shuffle(model, state, seed):
    """Move a few random executors to random nodes where they fit."""
    groups, nodes = state.counts.shape
    for _ in range(SHUFFLES):
        g, a, b = random_below(seed, groups), random_below(seed, nodes), random_below(seed, nodes)
        if a != b and state.counts[g, a] > 0 and welcome(model, state, g, b):
            put(model, state, g, a, -1)
            put(model, state, g, b, 1)
