"""What runs now made whole again: places what runs nowhere, and moves what pays for its restarts.

1. Executors leave nodes that may not hold them or hold too much, those with least traffic there
   for the room that they free first.
2. Executors that run nowhere are placed, large ones first, each where it saves most.
3. One that fits nowhere takes the place of others, on the node where those who give way are
   smallest and were easiest to place so far; these then run nowhere. From then on executors go
   where most of what they need is left.
4. Executors move or change places as long as that saves more than the workers that restart cost.

Costs O(executors that move x nodes), and for each sweep of the improvement O(nodes) for every group
on every node that it is on.

References
----------
Y. Nagata and O. Bräysy, "A powerful route minimization heuristic for the vehicle routing problem
with time windows", Operations Research Letters 37 (2009): ejection pool, counters of failures.
R. Panigrahy et al., "Heuristics for vector bin packing", Microsoft Research (2011): product of
what is needed and what is left.
"""

from __future__ import annotations

import numpy as np

from stormcut.placement.cut.instance import Instance
from stormcut.placement.cut.kernels import (
    Floats,
    Ints,
    Model,
    State,
    compiled,
    gain,
    noise,
    put,
    replaceable,
    restarts,
    swap_correction,
    welcome,
)
from stormcut.placement.cut.state import Prices, model_of, scale, state_of

#: Candidates that the improvement looks at, at effort 1; a few tenths of a second.
CANDIDATES = 3e6

#: Times that executors may have to give way to others, at effort 1.
ATTEMPTS = 20_000


def replan(
    instance: Instance, prices: Prices, rng: np.random.Generator, effort: float = 1.0
) -> Ints | None:
    """Return what runs now with everything placed and what is worth its restarts moved.

    Parameters
    ----------
    instance : Instance
        With a ``start``, which need neither be complete nor keep within the limits.
    prices : (float, float, float)
        Cost of a tuple/s that leaves a node, of one that leaves a rack beyond that, of a restarted
        worker.
    rng : numpy.random.Generator
        Not used: nothing here is random.
    effort : float
        Multiplies the candidates looked at.

    Returns
    -------
    array of shape (groups, nodes), optional
        Executors of each group on each node; None if some fit nowhere.
    """
    start = instance.start
    assert start is not None
    model = model_of(instance, prices)
    state = state_of(instance, model, start)
    evict(model, state)
    missing = instance.groups.size - state.counts.sum(axis=1)
    weight = np.maximum((instance.load * scale(instance)).sum(axis=1), 1e-9)
    if not insert(model, state, missing, weight, round(ATTEMPTS * max(effort, 0.1))):
        return None
    improve(model, state, noise(instance.groups.total), effort * CANDIDATES)
    counts: Ints = state.counts
    return counts


@compiled
def evict(model: Model, state: State) -> None:
    """Take out executors until every node keeps within its limits."""
    groups, nodes = state.counts.shape
    for n in range(nodes):
        for g in range(groups):
            barred = model.allowed.shape[0] > 0 and not model.allowed[g, n]
            while state.counts[g, n] > 0 and (model.slots[n] == 0 or barred):
                put(model, state, g, n, -1)
        while state.tenants[n] > model.slots[n]:
            t = _least_tenant(model, state, n)
            for g in range(groups):
                while model.topology[g] == t and state.counts[g, n] > 0:
                    put(model, state, g, n, -1)
        while True:
            g = _to_evict(model, state, n)
            if g < 0:
                break
            put(model, state, g, n, -1)


@compiled
def _least_tenant(model, state, n):
    """Return the topology with least traffic within a node."""
    local = np.zeros(state.held.shape[1])
    for g in range(state.counts.shape[0]):
        if state.counts[g, n]:
            within = state.counts[g, n] * (state.traffic[g, n] - model.own[g])
            local[model.topology[g]] += within
    choice = -1
    for t in range(len(local)):
        if state.held[n, t] > 0 and (choice < 0 or local[t] < local[choice]):
            choice = t
    return choice


@compiled
def _to_evict(model, state, n):
    """Return the group that loses least traffic for the excess it ends, -1 if there is none."""
    best, choice = np.inf, -1
    for g in range(state.counts.shape[0]):
        if state.counts[g, n] == 0:
            continue
        relief = 0.0
        for r in range(model.load.shape[1]):
            excess = state.used[n, r] - model.bounds[n, r]
            if excess > 0:
                relief = max(relief, min(1.0, model.load[g, r] / excess))
        if relief > 0:
            value = (state.traffic[g, n] - model.own[g]) / relief
            # Where traffic does not tell, the one that ends most of the excess.
            value -= 1e-9 * relief
            if value < best:
                best, choice = value, g
    return choice


@compiled
def best_node(model: Model, state: State, g: int) -> int:
    """Return where one more executor of ``g`` saves most and fits, -1 if it fits nowhere."""
    best, choice = -np.inf, -1
    for n in range(state.counts.shape[1]):
        value = model.prices[0] * state.traffic[g, n]
        if state.near.shape[1] > 1:
            value += model.prices[1] * state.near[g, model.rack[n]]
        if model.start.shape[0]:
            value -= model.prices[2] * restarts(model, state, g, n, 1)
        if value > best and welcome(model, state, g, n):
            best, choice = value, n
    return choice


@compiled
def insert(model: Model, state: State, missing: Ints, weight: Floats, steps: int) -> bool:
    """Place missing executors, and those that give way to them, and so on.

    Parameters
    ----------
    missing : array of shape (groups,)
        Executors of each group that are nowhere; counted down.
    weight : array of shape (groups,)
        Room that an executor takes; large ones come first.
    steps : int
        Times that others may have to give way.

    Returns
    -------
    bool
        Whether all were placed.
    """
    # What found no room counts as harder to place, and is not driven away so lightly.
    stubborn, step = weight.copy(), weight.mean()
    tight = False
    while True:
        g = -1
        for h in range(len(missing)):
            if missing[h] > 0 and (g < 0 or weight[h] > weight[g]):
                g = h
        if g < 0:
            return True
        n = best_fit(model, state, g) if tight else best_node(model, state, g)
        if n < 0:
            tight = True
            stubborn[g] += step
            n = _least_resistance(model, state, g, stubborn)
            steps -= 1
            if n < 0 or steps < 0:
                return False
        put(model, state, g, n, 1)
        missing[g] -= 1
        while True:
            h = _gives_way(model, state, n, g, stubborn)
            if h < 0:
                break
            put(model, state, h, n, -1)
            missing[h] += 1


@compiled
def best_fit(model: Model, state: State, g: int) -> int:
    """Return the node that has most left of what ``g`` needs most, -1 if it fits nowhere."""
    best, choice = -np.inf, -1
    for n in range(state.counts.shape[1]):
        value = 0.0
        for r in range(model.load.shape[1]):
            bound = model.bounds[n, r]
            if np.isfinite(bound) and bound > 0:
                value += model.load[g, r] * (bound - state.used[n, r]) / (bound * bound)
        if value > best and welcome(model, state, g, n):
            best, choice = value, n
    return choice


@compiled
def _least_resistance(model, state, g, stubborn):
    """Return the node on which least has to give way to ``g``, -1 if it may be on none."""
    best, choice = np.inf, -1
    driven = np.zeros(0, dtype=np.int64)
    for n in range(state.counts.shape[1]):
        if not _conceivable(model, state, g, n):
            continue
        put(model, state, g, n, 1)
        value, count = 0.0, 0
        while value < best:
            h = _gives_way(model, state, n, g, stubborn)
            if h < 0:
                break
            put(model, state, h, n, -1)
            if count == len(driven):
                driven = np.append(driven, np.zeros(count + 16, dtype=np.int64))
            driven[count] = h
            count += 1
            value += stubborn[h]
        for i in range(count):
            put(model, state, driven[i], n, 1)
        put(model, state, g, n, -1)
        if value < best:
            best, choice = value, n
    return choice


@compiled
def _conceivable(model, state, g, n):
    """Return whether ``g`` fits on ``n`` once others of topologies there have left."""
    if model.slots[n] == 0 or (model.allowed.shape[0] and not model.allowed[g, n]):
        return False
    if state.held[n, model.topology[g]] == 0 and state.tenants[n] >= model.slots[n]:
        return False
    for r in range(model.load.shape[1]):
        if (state.counts[g, n] + 1) * model.load[g, r] > model.bounds[n, r]:
            return False
    return True


@compiled
def _gives_way(model, state, n, g, stubborn):
    """Return the group that ends most excess on ``n`` for its weight, -1 if there is no excess."""
    best, choice = 0.0, -1
    for r in range(model.load.shape[1]):
        excess = state.used[n, r] - model.bounds[n, r]
        if excess <= 0:
            continue
        for h in range(state.counts.shape[0]):
            if h != g and state.counts[h, n] > 0 and model.load[h, r] > 0:
                value = min(1.0, model.load[h, r] / excess) / stubborn[h]
                if value > best:
                    best, choice = value, h
    return choice


@compiled
def improve(model: Model, state: State, slack: float, candidates: float) -> None:
    """Make moves and exchanges that lower the cost by more than ``slack``, sweep after sweep.

    Ends where none is left or that many candidates were looked at.
    """
    nodes = state.counts.shape[1]
    gained = np.zeros(nodes)
    better = True
    while better and candidates > 0:
        better = False
        starts, present = _present(state)
        for a in range(nodes):
            for g in present[starts[a] : starts[a + 1]]:
                candidates -= nodes
                if candidates < 0 or state.counts[g, a] == 0:
                    continue
                _gains(model, state, g, a, gained)
                for b in np.flatnonzero(gained > slack):
                    # What was done since may have changed it.
                    value = gain(model, state, g, a, b)
                    if state.counts[g, a] == 0 or value <= slack:
                        continue
                    if welcome(model, state, g, b):
                        _move(model, state, g, a, b)
                        better = True
                        continue
                    others = present[starts[b] : starts[b + 1]]
                    candidates -= len(others)
                    h = _partner(model, state, g, a, b, others, slack - value)
                    if h >= 0:
                        _move(model, state, g, a, b)
                        _move(model, state, h, b, a)
                        better = True


@compiled
def _gains(model, state, g, a, result):
    """Write what moving ``g`` from ``a`` to each node gains; below 0 where it may not be.

    As `gain`, in a loop that touches arrays only, for nearly all time is spent here.
    """
    traffic, near = state.traffic[g], state.near[g]
    rack, slots = model.rack, model.slots
    outward, across, restart = model.prices
    here, own = traffic[a], model.own[g]
    racks, priced = len(near) > 1, model.start.shape[0] > 0
    t = model.topology[g]
    leaving = restart * restarts(model, state, g, a, -1) if priced else 0.0
    start = model.start[g] if priced else state.counts[g]
    counts, changed = state.counts[g], state.changed[t]
    for b in range(len(result)):
        value = outward * (traffic[b] - here + own) - leaving
        if racks and rack[a] != rack[b]:
            value += across * (near[rack[b]] - near[rack[a]] + own)
        if priced and value > 0:
            before = changed[b]
            after = before - (counts[b] != start[b]) + (counts[b] + 1 != start[b])
            value -= restart * (np.int64(after > 0) - np.int64(before > 0))
        result[b] = -1.0 if b == a or slots[b] == 0 else value


@compiled
def _present(state):
    """Return the groups that have executors on each node, in compressed rows."""
    groups, nodes = state.counts.shape
    starts = np.zeros(nodes + 1, dtype=np.int64)
    for g in range(groups):
        for n in range(nodes):
            starts[n + 1] += state.counts[g, n] > 0
    starts = np.cumsum(starts)
    at, result = starts[:-1].copy(), np.zeros(starts[-1], dtype=np.int64)
    for g in range(groups):
        for n in range(nodes):
            if state.counts[g, n] > 0:
                result[at[n]] = g
                at[n] += 1
    return starts, result


@compiled
def _move(model, state, g, a, b):
    put(model, state, g, a, -1)
    put(model, state, g, b, 1)


@compiled
def _partner(model, state, g, a, b, others, least):
    """Return which of ``others`` on ``b`` best changes places with ``g`` on ``a``, -1 for none.

    ``least``: what its own move must gain.
    """
    best, choice = least, -1
    for h in others:
        if h == g or state.counts[h, b] == 0:
            continue
        gained = gain(model, state, h, b, a) - swap_correction(model, g, h, a, b)
        if (
            gained > best
            and replaceable(model, state, g, h, b)
            and replaceable(model, state, h, g, a)
        ):
            best, choice = gained, h
    return choice
