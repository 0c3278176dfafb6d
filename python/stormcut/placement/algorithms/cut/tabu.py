"""Tabu search over single moves and exchanges of executors; tabu.cpp has the loops.

Each step takes the best move or exchange that does not undo a recent one, be it for the worse.
"""

from __future__ import annotations

import numpy as np

from stormcut.placement.algorithms.cut.model import MODEL, STATE, Ints, Model, Seed, blank
from stormcut.placement.native.library import FLOAT, INT_ROWS, SEED, function

_improved = function("improved", MODEL, STATE, FLOAT, FLOAT, SEED, INT_ROWS)


def improved(model: Model, counts: Ints, operations: float, slack: float, seed: Seed) -> Ints:
    """Return the best placement that a tabu search from this one meets.

    Parameters
    ----------
    operations : float
        Candidates looked at, about; there are 10 steps at least.
    slack : float
        Gains up to this are rounding.
    """
    best = np.empty_like(counts, order="C")
    _improved(model, blank(model, counts), operations, slack, seed, best)
    return best
