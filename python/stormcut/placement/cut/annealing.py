"""Simulated annealing of one topology on the nodes that it has, compiled.

References
----------
S. Kirkpatrick, C. D. Gelatt and M. P. Vecchi, "Optimization by simulated annealing", Science 220
(1983).
"""

from __future__ import annotations

import numpy as np

from stormcut.placement.cut.kernels import (
    Ints,
    Model,
    State,
    compiled,
    gain,
    inlined,
    put,
    replaceable,
    swap_correction,
    welcome,
)

#: Steps between changes of temperature.
PLATEAU = 500


@compiled
def anneal(
    model: Model,
    state: State,
    group: Ints,
    node: Ints,
    nodes: Ints,
    steps: int,
    hot: float,
    seed: object,
) -> float:
    """Move and exchange executors on some nodes, ever more choosy.

    Every step tries one random move or exchange, O(neighbours of the group). The temperature falls
    from ``hot`` to 0 with the cube of the steps left, so that the end is a plain descent.

    Parameters
    ----------
    group, node : arrays of shape (executors,)
        The executors that may move, and where they are; ``node`` is kept up to date.
    nodes : array of node ordinals
        Where they may go.
    hot : float
        First temperature: a loss of so many tuples/s is accepted with probability 1/e.
    seed : array of uint64, shape (1,)

    Returns
    -------
    float
        By how much the cost is lower than before; may be negative.
    """
    value, temperature, count = 0.0, hot, len(group)
    for step in range(steps):
        if step % PLATEAU == 0:
            temperature = hot * (1.0 - step / steps) ** 3
        i = int(_uniform(seed) * count)
        g, a = group[i], node[i]
        if _uniform(seed) < 0.5:
            b = nodes[int(_uniform(seed) * len(nodes))]
            if a == b:
                continue
            gained = gain(model, state, g, a, b)
            if not _accepted(gained, temperature, seed) or not welcome(model, state, g, b):
                continue
        else:
            j = int(_uniform(seed) * count)
            h, b = group[j], node[j]
            if a == b or g == h:
                continue
            gained = gain(model, state, g, a, b) + gain(model, state, h, b, a)
            gained -= swap_correction(model, g, h, a, b)
            if not _accepted(gained, temperature, seed):
                continue
            if not (replaceable(model, state, g, h, b) and replaceable(model, state, h, g, a)):
                continue
            node[j] = a
            put(model, state, h, b, -1)
            put(model, state, h, a, 1)
        node[i] = b
        put(model, state, g, a, -1)
        put(model, state, g, b, 1)
        value += gained
    return value


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
