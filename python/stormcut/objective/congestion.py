"""Congestion: how full all resources are together, the fullest counting most.

Head-room asks for the fullest resource only. What closed-loop sources reach depends on the others
as well, as tuples queue at all of them. The norm of all shares to the power of twelve says that in
one number. Where links bind no power ranks more of the measured placements right, and above it one
link that is full whatever the placement hides all others (docs/decisions/0045-power-of-twelve.md).

A tuple waits for all that pass what it passes. One that is in no tree
(`stormcut.objective.anchoring`) holds no source back, and counts `LOOSE`.

References
----------
B. Awerbuch et al., "Load balancing in the Lp norm", FOCS 1995.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stormcut.arrays import Floats
from stormcut.objective.resources import EXECUTOR, Use

POWER = 12.0

#: Congestion below this is as good as none: all rates may double before anything is full.
IDLE = 0.5

#: What a tuple in no tree counts in the sum of powers: it has to arrive, but no source waits for
#: it. Where such tuples fill a link whatever the placement, those that sources wait for had better
#: avoid it.
LOOSE = 0.25


def congestion(used: Sequence[Use]) -> float:
    """Return the norm of the shares of all resources that a placement can relieve, 0 for none.

    A thread is as full wherever its executor runs, so that none counts.
    """
    counted = [use for use in used if use.kind != EXECUTOR]
    shares = np.concatenate([use.share for use in counted])
    most = float(shares.max(initial=0.0))
    if most == 0.0 or np.isinf(most):
        return most
    weights = np.concatenate([_weights(use) for use in counted])
    total = float(weights @ (shares / most) ** POWER)
    return float(most * total ** (1 / POWER))


def _weights(use: Use) -> Floats:
    """Return what the share of each resource counts: in trees 1, in none `LOOSE`."""
    if use.anchored is None:
        return np.ones(len(use.load))
    return LOOSE + (1 - LOOSE) * use.anchored
