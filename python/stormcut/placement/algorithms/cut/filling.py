"""Greedy insertion of executors that are nowhere yet; filling.cpp has the loops."""

from __future__ import annotations

import numpy as np

from stormcut.placement.algorithms.cut.kernels import MODEL, STATE, Ints, Model, Seed, blank
from stormcut.placement.native.library import INT, INTS, SEED, function

#: Where an executor goes that has no traffic with any node that could take it.
EMPTIEST, FULLEST, ANYWHERE = range(3)

_inserted = function("inserted", MODEL, STATE, INTS, INT, SEED)


def inserted(model: Model, counts: Ints, order: Ints, otherwise: int, seed: Seed) -> Ints:
    """Return counts with missing executors added where they fit, group by group in that order.

    Parameters
    ----------
    otherwise : int
        `EMPTIEST`, `FULLEST` or `ANYWHERE`: which node among those of equal traffic.
    """
    state = blank(model, counts)
    missing = model.size - counts.sum(axis=1)
    _inserted(model, state, np.repeat(order, missing[order]), otherwise, seed)
    return state.counts
