"""Makes room for executors that fit nowhere: others are ejected and find another place.

1. Executors leave nodes that may not hold them or hold too much, those with least traffic there
   for the room that they free first.
2. Executors that are nowhere are placed, hard ones first, each where it saves most. One that fits
   nowhere takes the place of others, on the node where those who give way were easiest to place so
   far; these then are nowhere.

ejection.cpp has the loops.

References
----------
Y. Nagata and O. Bräysy, "A powerful route minimization heuristic for the vehicle routing problem
with time windows", Operations Research Letters 37 (2009): an ejection pool, where what was hard to
insert before is dear to eject.
"""

from __future__ import annotations

from stormcut.placement.algorithms.cut.greedy import ANYWHERE, EMPTIEST
from stormcut.placement.algorithms.cut.model import (
    MODEL,
    STATE,
    Ints,
    Model,
    SearchState,
    Seed,
    state_at,
    weights,
)
from stormcut.placement.native.library import FLOAT, FLOATS, INT, SEED, function

#: Groups on nodes that are looked at, at most, by all ejections together: tenths of a second.
LOOKS = 2e8

#: Random moves after each ejection of a search.
SHUFFLES = 3

_evict = function("evict", MODEL, STATE)
_insert = function("insert", MODEL, STATE, FLOATS, INT, INT, FLOAT, SEED)


def ejected(model: Model, counts: Ints, seed: Seed) -> Ints:
    """Return counts with missing executors added and others moved to make room for them.

    Returns
    -------
    array of shape (groups, nodes)
        Some executors are still missing if no way was found.
    """
    state = state_at(model, counts)
    _insert(model, state, weights(model), ANYWHERE, SHUFFLES, LOOKS, seed)
    return state.counts


def repair(model: Model, state: SearchState, looks: float, seed: Seed) -> bool:
    """Bring a state within all limits and place what is missing; move nothing without need.

    Parameters
    ----------
    looks : float
        Groups on nodes to look at.

    Returns
    -------
    bool
        Whether all executors were placed.
    """
    _evict(model, state)
    _insert(model, state, weights(model), EMPTIEST, 0, looks, seed)
    return bool(state.counts.sum() == model.size.sum())
