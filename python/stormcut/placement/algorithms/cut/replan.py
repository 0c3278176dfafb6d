"""What runs now made whole again: places what runs nowhere, and moves what pays for its restarts.

1. What may not stay leaves, and what runs nowhere is placed (see `ejection`).
2. Executors move or change places as long as that saves more than the workers that restart cost.

Costs O(executors that move x nodes), and for each sweep of the improvement O(nodes) for every group
on every node that it is on. replan.cpp has the loops.
"""

from __future__ import annotations

import numpy as np

from stormcut.placement.algorithms.cut.ejection import LOOKS, repair
from stormcut.placement.algorithms.cut.instance import Instance
from stormcut.placement.algorithms.cut.model import (
    MODEL,
    STATE,
    Ints,
    Prices,
    model_of,
    noise,
    seed_from,
    state_at,
)
from stormcut.placement.native.library import FLOAT, function

_improve = function("improve", MODEL, STATE, FLOAT, FLOAT)

#: Candidates that the improvement looks at, at effort 1; a few tenths of a second.
CANDIDATES = 3e6

#: Times that ejection may look as long as for one placement of a search, at effort 1.
PATIENCE = 10


def replan(
    instance: Instance, prices: Prices, rng: np.random.Generator, effort: float = 1.0
) -> Ints | None:
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
    if not repair(model, state, PATIENCE * LOOKS * max(effort, 0.1), seed_from(rng)):
        return None
    _improve(model, state, noise(instance.groups.total), effort * CANDIDATES)
    return state.counts
