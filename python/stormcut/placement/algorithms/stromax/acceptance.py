"""When StroMAX reassigns: a node's load is above the mean by the skew that Eq. 11 allows.

What Rebalance then gives is taken as it is: Algorithm 2 has no other test. The paper's best skew is
10 to 15 %, 12 % its own; of how often it looks it says nothing. The project's reading: not within
``rest`` seconds of the last change, so that what was moved is measured first.

References
----------
J. Jiang et al., StroMAX, section 3.3, Algorithm 2 and Eq. 11.
"""

from __future__ import annotations

import numpy as np

from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.cut import moves_executors
from stormcut.placement.acceptance import (
    AcceptanceVerdict,
    MoveTiming,
    NoMove,
    Skew,
    pause,
)
from stormcut.placement.algorithms.stromax.place import Options, costs, positions
from stormcut.placement.algorithms.stromax.reassignment import EXCESS, load_limits
from stormcut.placement.packing.capacity import hosts


def condition(
    problem: Problem, present: Placement, proposed: Placement, options: Options
) -> Skew | None:
    """Return the load of the busiest node if it is above the limit of Algorithm 2."""
    skew = _skew(problem, present, options)
    return skew if skew.means > skew.most * EXCESS else None


def verdict(
    problem: Problem,
    present: Placement,
    proposed: Placement,
    moment: MoveTiming,
    options: Options,
) -> AcceptanceVerdict:
    """Return whether a node is overloaded, and it is time."""
    skew = _skew(problem, present, options)
    if skew.means <= skew.most * EXCESS:
        return AcceptanceVerdict(False, skew)
    if not moves_executors(problem, present, proposed):
        return AcceptanceVerdict(False, NoMove.STAYS)
    too_early = pause(moment, options.rest)
    return AcceptanceVerdict(False, too_early) if too_early else AcceptanceVerdict(True, skew)


def _skew(problem: Problem, present: Placement, options: Options) -> Skew:
    able = hosts(problem)
    cost, capacity = costs(problem, able, options.cpu_share)
    # A skew of 0 above the mean is the mean itself.
    mean = load_limits(cost, capacity, 0.0, "above_average")
    indices = positions(problem, able, present.slots)
    load = np.bincount(indices[indices >= 0], weights=cost[indices >= 0], minlength=len(mean))
    means = np.divide(load, mean, out=np.zeros(len(mean)), where=mean > 0)
    busiest = int(np.argmax(means))
    most = options.skew if options.threshold == "literal" else 1 + options.skew
    return Skew(problem.nodes[able.ordinals[busiest]].id, float(means[busiest]), most)
