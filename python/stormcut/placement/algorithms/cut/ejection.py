"""Makes room for executors that fit nowhere: others are ejected and find another place.

ejection.cpp has the loops.

References
----------
Y. Nagata and O. Braysy, "A powerful route minimization heuristic for the vehicle routing problem
with time windows", Operations Research Letters 37 (2009): an ejection pool, where what was hard to
insert before is dear to eject.
"""

from __future__ import annotations

from stormcut.placement.algorithms.cut.model import MODEL, STATE, Floats, Ints, Model, Seed, blank
from stormcut.placement.native.library import FLOATS, SEED, function

_ejected = function("ejected", MODEL, STATE, FLOATS, SEED)


def ejected(model: Model, counts: Ints, weight: Floats, seed: Seed) -> Ints:
    """Return counts with missing executors added and others moved to make room for them.

    Parameters
    ----------
    weight : array of shape (groups,)
        Room that one executor takes.

    Returns
    -------
    array of shape (groups, nodes)
        Some executors are still missing if no way was found.
    """
    state = blank(model, counts)
    _ejected(model, state, weight, seed)
    return state.counts
