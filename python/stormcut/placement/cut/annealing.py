"""Simulated annealing of one topology on the nodes that it has, compiled.

References
----------
S. Kirkpatrick, C. D. Gelatt and M. P. Vecchi, "Optimization by simulated annealing", Science 220
(1983).
"""

from __future__ import annotations

import numpy as np

from stormcut.placement.cut.kernels import Ints, Model, State, compiled, inlined

#: Steps between changes of temperature.
PLATEAU = 500


@compiled
def anneal(
    model: Model,
    state: State,
    group: Ints,
    node: Ints,
    steps: int,
    hot: float,
    seed: object,
) -> None:
    """Move and exchange the executors of one topology, ever more choosy.

    Every step tries one random move or exchange, O(neighbours of the group) if it is made. The
    temperature falls from ``hot`` to 0 with the cube of the steps left, so that the end is a plain
    descent.

    Parameters
    ----------
    model : Model
        Of one topology that may be on all nodes; only traffic between nodes counts.
    state : State
        Of which ``counts``, ``traffic`` and ``used`` are kept up to date.
    group, node : arrays of shape (executors,)
        All executors and where they are; ``node`` is kept up to date.
    hot : float
        First temperature: a loss of so many tuples/s is accepted with probability 1/e.
    seed : array of uint64, shape (1,)
    """
    # Arrays of their own: taken out of a tuple at every step they would cost more than the step.
    counts, traffic, used = state.counts, state.traffic, state.used
    own, load, bounds, allowed = model.own, model.load, model.bounds, model.allowed
    starts, neighbours, rates = model.starts, model.neighbours, model.rates
    temperature, count, nodes = hot, len(group), counts.shape[1]
    for step in range(steps):
        if step % PLATEAU == 0:
            temperature = hot * (1.0 - step / steps) ** 3
        i = int(_uniform(seed) * count)
        g, a = group[i], node[i]
        if _uniform(seed) < 0.5:
            b = int(_uniform(seed) * nodes)
            if a == b or (allowed.shape[0] and not allowed[g, b]):
                continue
            gained = traffic[g, b] - traffic[g, a] + own[g]
            if not _accepted(gained, temperature, seed) or not _fits(load[g], used[b], bounds[b]):
                continue
        else:
            j = int(_uniform(seed) * count)
            h, b = group[j], node[j]
            if a == b or g == h:
                continue
            gained = traffic[g, b] - traffic[g, a] + own[g]
            gained += traffic[h, a] - traffic[h, b] + own[h]
            if gained < -20.0 * temperature:
                continue
            gained -= 2.0 * _rate(neighbours, rates, starts[g], starts[g + 1], h)
            if not _accepted(gained, temperature, seed):
                continue
            if allowed.shape[0] and not (allowed[g, b] and allowed[h, a]):
                continue
            if not _changes(load[g], load[h], used[b], bounds[b]):
                continue
            if not _changes(load[h], load[g], used[a], bounds[a]):
                continue
            node[j] = a
            _put(counts, traffic, used, own, load, starts, neighbours, rates, h, b, -1)
            _put(counts, traffic, used, own, load, starts, neighbours, rates, h, a, 1)
        node[i] = b
        _put(counts, traffic, used, own, load, starts, neighbours, rates, g, a, -1)
        _put(counts, traffic, used, own, load, starts, neighbours, rates, g, b, 1)


@inlined
def _put(counts, traffic, used, own, load, starts, neighbours, rates, g, n, sign):
    counts[g, n] += sign
    for r in range(load.shape[1]):
        used[n, r] += sign * load[g, r]
    traffic[g, n] += sign * own[g]
    for e in range(starts[g], starts[g + 1]):
        traffic[neighbours[e], n] += sign * rates[e]


@inlined
def _fits(needed, used, bound):
    result = True
    for r in range(len(needed)):
        if used[r] + needed[r] > bound[r]:
            result = False
    return result


@inlined
def _changes(comes, leaves, used, bound):
    """Return whether one executor fits in the place of another."""
    result = True
    for r in range(len(comes)):
        if comes[r] > leaves[r] and used[r] + (comes[r] - leaves[r]) > bound[r]:
            result = False
    return result


@inlined
def _rate(neighbours, rates, low, high, h):
    """Return the rate to ``h`` in a sorted row, 0 if it is not there."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if neighbours[middle] < h:
            low = middle + 1
        else:
            high = middle
    return rates[low] if low < end and neighbours[low] == h else 0.0


@inlined
def _accepted(gained, temperature, seed):
    if gained >= 0.0:
        return True
    if gained < -20.0 * temperature:
        return False
    return _uniform(seed) < np.exp(gained / temperature)


@inlined
def _uniform(seed):
    """Return a number from 0 to below 1; ``seed`` moves on as in `random_below`, undivided."""
    x = seed[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    seed[0] = x
    return float(x >> np.uint64(11)) * 2.0**-53
