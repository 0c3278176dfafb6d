"""Tabu search over single moves and exchanges of executors, compiled."""

from __future__ import annotations

import numpy as np

from stormcut.placement.cut.kernels import (
    TOPS,
    Ints,
    Model,
    State,
    compiled,
    gain,
    put,
    random_below,
    replaceable,
    restart_cost,
    state_at,
    swap_correction,
    welcome,
)

NOTHING = -1e300


@compiled
def _remember(tops, who, value, g):
    """Keep ``g`` among the best candidates for the same journey."""
    at = tops.shape[0] - 1
    while at > 0 and tops[at - 1] < value:
        tops[at] = tops[at - 1]
        who[at] = who[at - 1]
        at -= 1
    tops[at] = value
    who[at] = g


@compiled
def _scan(model, state, barred, now, missing, tops, who, move):
    """Find the best admissible move towards traffic; collect candidates for exchanges.

    ``tops[a, b]`` and ``who[a, b]`` receive the best groups to go from ``a`` to ``b``, those of
    ``tops[a, a]`` are the best to go where they have no traffic. ``missing``: what must be gained
    to beat the best known; that much lifts the bar on a move. Writes (group, from, to) to ``move``
    and returns its gain.
    """
    counts, traffic, near, own = state.counts, state.traffic, state.near, model.own
    rack, slots, outward, across = model.rack, model.slots, model.prices[0], model.prices[1]
    racks, priced = near.shape[1] > 1, model.start.shape[0] > 0
    groups, nodes = counts.shape
    best = NOTHING
    tops[:] = NOTHING
    for g in range(groups):
        for a in range(nodes):
            if counts[g, a] == 0:
                continue
            here = traffic[g, a] - own[g]
            stay = outward * here
            if racks:
                stay += across * (near[g, rack[a]] - own[g])
            if -stay > tops[a, a, TOPS - 1]:
                _remember(tops[a, a], who[a, a], -stay, g)
            for b in range(nodes):
                if traffic[g, b] == 0.0 or b == a or slots[b] == 0:
                    continue
                value = outward * (traffic[g, b] - here)
                if racks and rack[a] != rack[b]:
                    value += across * (near[g, rack[b]] - near[g, rack[a]] + own[g])
                if priced:
                    value -= restart_cost(model, state, g, a, b)
                if value <= best and value <= tops[a, b, TOPS - 1]:
                    continue
                free = barred[g, b] <= now
                if value > best and (free or value > missing) and welcome(model, state, g, b):
                    move[0], move[1], move[2] = g, a, b
                    best = value
                if free and value > tops[a, b, TOPS - 1]:
                    _remember(tops[a, b], who[a, b], value, g)
    return best


@compiled
def _candidate(tops, who, a, b, i):
    """Return the i-th group to go from ``a`` to ``b``: those with traffic there, then others."""
    if i < TOPS:
        return tops[a, b, i], who[a, b, i]
    return tops[a, a, i - TOPS], who[a, a, i - TOPS]


@compiled
def _move_anywhere(model, state, barred, now, tops, who, best, move, seed):
    """Find a better move to a node without traffic, a random one of equal ones.

    Writes to ``move`` and returns its gain.
    """
    nodes, ties = state.counts.shape[1], 1
    for a in range(nodes):
        for i in range(TOPS):
            if tops[a, a, i] == NOTHING or tops[a, a, i] < best:
                break
            g = who[a, a, i]
            for b in range(nodes):
                if b == a or barred[g, b] > now or not welcome(model, state, g, b):
                    continue
                value = gain(model, state, g, a, b)
                if value < best:
                    continue
                ties = ties + 1 if value == best else 1
                if ties == 1 or random_below(seed, ties) == 0:
                    move[0], move[1], move[2] = g, a, b
                best = value
    return best


@compiled
def _exchange(model, state, barred, now, tops, who, best, first, swap):
    """Find an exchange better than ``best``; writes (group, from, other group, to) to ``swap``."""
    nodes = state.counts.shape[1]
    for x in range(nodes):
        a = (x + first) % nodes
        for y in range(x + 1, nodes):
            b = (y + first) % nodes
            there = max(tops[a, b, 0], tops[a, a, 0])
            if there + max(tops[b, a, 0], tops[b, b, 0]) <= best:
                continue
            for i in range(2 * TOPS):
                one, g = _candidate(tops, who, a, b, i)
                if one == NOTHING or barred[g, b] > now:
                    continue
                for j in range(2 * TOPS):
                    two, h = _candidate(tops, who, b, a, j)
                    if two == NOTHING or g == h or one + two <= best or barred[h, a] > now:
                        continue
                    value = gain(model, state, g, a, b) + gain(model, state, h, b, a)
                    value -= swap_correction(model, g, h, a, b)
                    if (
                        value > best
                        and replaceable(model, state, g, h, b)
                        and replaceable(model, state, h, g, a)
                    ):
                        best = value
                        swap[0], swap[1], swap[2], swap[3] = g, a, h, b
    return best


@compiled
def tabu(
    model: Model,
    state: State,
    best: Ints,
    steps: int,
    patience: int,
    tenure: int,
    slack: float,
    seed: object,
) -> float:
    """Walk ``steps`` moves or until ``patience`` of them brought nothing; leave the best found.

    Each step takes the best move or exchange that does not undo a recent one, be it for the worse.

    Parameters
    ----------
    best : array of shape (groups, nodes)
        Receives the counts of the best placement met.
    tenure : int
        An executor may not return to a node for this many steps, and up to as many more.
    slack : float
        Gains up to this are rounding.

    Returns
    -------
    float
        By how much the best is below the start.
    """
    groups, nodes = state.counts.shape
    barred = np.zeros((groups, nodes), dtype=np.int64)
    tops = np.empty((nodes, nodes, TOPS))
    who = np.zeros((nodes, nodes, TOPS), dtype=np.int64)
    move, swap = np.zeros(3, dtype=np.int64), np.zeros(4, dtype=np.int64)
    total, top, idle = 0.0, 0.0, 0
    best[:] = state.counts
    for now in range(1, steps + 1):
        missing = top - total + slack
        one = _scan(model, state, barred, now, missing, tops, who, move)
        one = _move_anywhere(model, state, barred, now, tops, who, one, move, seed)
        first = random_below(seed, nodes)
        two = _exchange(model, state, barred, now, tops, who, one, first, swap)
        if two == NOTHING:
            break
        if two > one:
            g, a, h, b = swap[0], swap[1], swap[2], swap[3]
            total += gain(model, state, g, a, b)
            put(model, state, g, a, -1)
            put(model, state, g, b, 1)
            total += gain(model, state, h, b, a)
            put(model, state, h, b, -1)
            put(model, state, h, a, 1)
            barred[h, b] = now + tenure + random_below(seed, tenure)
        else:
            g, a, b = move[0], move[1], move[2]
            total += one
            put(model, state, g, a, -1)
            put(model, state, g, b, 1)
        barred[g, a] = now + tenure + random_below(seed, tenure)
        idle += 1
        if total > top + slack:
            top, idle = total, 0
            best[:] = state.counts
        if idle > patience:
            break
    return top


@compiled
def improved(model: Model, counts: Ints, operations: float, slack: float, seed: object) -> Ints:
    """Return the best placement that a tabu walk from this one meets.

    Parameters
    ----------
    operations : float
        Candidates looked at, about; there are 10 steps at least.
    """
    state = state_at(model, counts)
    nodes = 0
    for n in range(len(model.slots)):
        nodes += model.slots[n] > 0
    looked = np.count_nonzero(counts) * nodes + nodes * nodes
    steps = max(10, min(100_000, int(operations / (looked + 1))))
    tenure = 3 + model.size.sum() // 20
    best = np.empty_like(state.counts)
    tabu(model, state, best, steps, max(20, steps // 3), tenure, slack, seed)
    return best
