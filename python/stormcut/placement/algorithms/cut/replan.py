"""What runs now made whole again: places what runs nowhere, and moves what pays for its restarts.

1. Executors leave nodes that may not hold them or hold too much, those with least traffic there
   for the room that they free first.
2. Executors that run nowhere are placed, large ones first, each where it saves most.
3. One that fits nowhere takes the place of others, on the node where those who give way are
   smallest and were easiest to place so far; these then run nowhere. From then on executors go
   where most of what they need is left.
4. Executors move or change places as long as that saves more than the workers that restart cost.

Costs O(executors that move x nodes), and for each sweep of the improvement O(nodes) for every group
on every node that it is on. replan.cpp has the loops.

References
----------
Y. Nagata and O. Bräysy, "A powerful route minimization heuristic for the vehicle routing problem
with time windows", Operations Research Letters 37 (2009): ejection pool, counters of failures.
R. Panigrahy et al., "Heuristics for vector bin packing", Microsoft Research (2011): product of
what is needed and what is left.
"""

from __future__ import annotations

import numpy as np

from stormcut.placement.algorithms.cut.instance import Instance
from stormcut.placement.algorithms.cut.model import (
    MODEL,
    STATE,
    Ints,
    Prices,
    model_of,
    noise,
    state_at,
)
from stormcut.placement.native.library import BOOL, FLOAT, FLOATS, INT, INTS, function

_evict = function("evict", MODEL, STATE)
_insert = function("insert", MODEL, STATE, INTS, FLOATS, INT, result=BOOL)
_improve = function("improve", MODEL, STATE, FLOAT, FLOAT)

#: Candidates that the improvement looks at, at effort 1; a few tenths of a second.
CANDIDATES = 3e6

#: Times that executors may have to give way to others, at effort 1.
ATTEMPTS = 20_000


def replan(instance: Instance, prices: Prices, effort: float = 1.0) -> Ints | None:
    """Return what runs now with everything placed and what is worth its restarts moved.

    Parameters
    ----------
    instance : Instance
        With a ``start``, which need neither be complete nor keep within the limits.
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
    state = state_at(model, start)
    _evict(model, state)
    missing = instance.groups.size - state.counts.sum(axis=1)
    weight = np.maximum((model.load * model.scale).sum(axis=1), 1e-9)
    if not _insert(model, state, missing, weight, round(ATTEMPTS * max(effort, 0.1))):
        return None
    _improve(model, state, noise(instance.groups.total), effort * CANDIDATES)
    return state.counts
