"""Tabu search over single moves and exchanges of executors; walk.cpp has the loops."""

from __future__ import annotations

import numpy as np

from stormcut.placement.algorithms.cut.kernels import MODEL, STATE, Ints, Model, Seed, State, blank
from stormcut.placement.native.library import FLOAT, INT, INT_ROWS, SEED, function

_improved = function("improved", MODEL, STATE, FLOAT, FLOAT, SEED, INT_ROWS)
_tabu = function("tabu", MODEL, STATE, INT_ROWS, INT, INT, INT, FLOAT, SEED, result=FLOAT)


def tabu(
    model: Model,
    state: State,
    best: Ints,
    steps: int,
    patience: int,
    tenure: int,
    slack: float,
    seed: Seed,
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
    return float(_tabu(model, state, best, steps, patience, tenure, slack, seed))


def improved(model: Model, counts: Ints, operations: float, slack: float, seed: Seed) -> Ints:
    """Return the best placement that a tabu walk from this one meets.

    Parameters
    ----------
    operations : float
        Candidates looked at, about; there are 10 steps at least.
    """
    best = np.empty_like(counts, order="C")
    _improved(model, blank(model, counts), operations, slack, seed, best)
    return best
