"""Which node takes which part of a placement, so that most executors stay where they run."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def aligned(kept: Floats | Ints, allowed: Bools) -> Ints:
    """Return the node of each part, none twice, such that most is kept.

    Takes O(parts^2 nodes) at worst.

    Parameters
    ----------
    kept : array of shape (parts, nodes)
        What stays where it is, such as executors, if a part goes to a node.
    allowed : array of shape (parts, nodes)
        Where each part may go; no more parts than nodes.

    Raises
    ------
    ValueError
        No node is left for some part.
    """
    chosen: Ints = linear_sum_assignment(np.where(allowed, kept, -np.inf), maximize=True)[1]
    return chosen
