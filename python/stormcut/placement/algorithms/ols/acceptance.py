"""When OLS reschedules: enough traffic between nodes goes, and the last time is long enough ago.

The released code schedules when ``reschedule.timeout`` seconds have passed (180 unless given), and
keeps the new assignment if it lowers the traffic between nodes by ``traffic.improvement``. It
counts from its last attempt; here time counts from the last change that was applied. Without a
least improvement any is enough.

References
----------
L. Aniello, R. Baldoni and L. Querzoni, "Adaptive online scheduling in Storm", DEBS 2013, section 4.
"""

from __future__ import annotations

from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.cut import inter_node_tuples_per_second, moves_executors
from stormcut.placement.acceptance import (
    AcceptanceVerdict,
    MoveTiming,
    NoMove,
    Saving,
    pause,
)
from stormcut.placement.algorithms.ols.place import Options


def condition(
    problem: Problem, present: Placement, proposed: Placement, options: Options
) -> Saving | None:
    """Return what is saved if that is enough."""
    saving = _saving(problem, present, proposed, options)
    return saving if saving.is_enough else None


def verdict(
    problem: Problem,
    present: Placement,
    proposed: Placement,
    moment: MoveTiming,
    options: Options,
) -> AcceptanceVerdict:
    """Return whether the proposed placement saves enough, and it is time."""
    if not moves_executors(problem, present, proposed):
        return AcceptanceVerdict(False, NoMove.STAYS)
    saving = _saving(problem, present, proposed, options)
    if not saving.is_enough:
        return AcceptanceVerdict(False, saving)
    too_early = pause(moment, options.reschedule_timeout)
    return AcceptanceVerdict(False, too_early) if too_early else AcceptanceVerdict(True, saving)


def _saving(problem: Problem, present: Placement, proposed: Placement, options: Options) -> Saving:
    now, then = (inter_node_tuples_per_second(problem, each) for each in (present, proposed))
    return Saving(now, then, options.improvement or 0.0)
