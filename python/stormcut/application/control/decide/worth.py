"""Whether another placement of a running topology is worth its restarts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from stormcut.application.control.decide.decision import (
    LessHeadroom,
    LessTraffic,
    LittleSaved,
    MoreHeadroom,
    Reason,
    Worth,
)
from stormcut.application.control.decide.situation import Situation
from stormcut.model.placement import Placement
from stormcut.objective.headroom import Headroom, headroom

#: The units of traffic.
BYTES, TUPLES = "bytes/s", "tuples/s"


def worth(at: Situation, placement: Placement) -> Worth:
    """Return what a placement is worth in its situation."""
    room: Headroom = headroom(at.problem, placement)
    value = math.inf if room.value is None else room.value
    unit = BYTES if at.has_sizes else TUPLES
    return Worth(value, room.bottleneck, at.travels(placement), unit, at.deviation(placement))


@dataclass(frozen=True)
class Verdict:
    """Whether a move is worth it, and why."""

    moves: bool
    reason: Reason


def verdict(now: Worth, then: Worth, least: float, enough: float) -> Verdict:
    """Return whether a placement is better by what counts: head-room first, then traffic.

    A move must raise the head-room by the share ``least``, or lower the traffic by it, and by more
    than chance may, and leave as much head-room; what is beyond ``enough`` does not count. So every
    move is to a better place in one order, and none is ever taken back.
    """
    room, found = min(now.headroom, enough), min(then.headroom, enough)
    if found > room * (1 + least):
        return Verdict(True, MoreHeadroom(now, then))
    if found < room * (1 - 1e-9):
        return Verdict(False, LessHeadroom(now, then))
    saving = LittleSaved(now, then, least)
    if saving.share > saving.chance and saving.share >= least:
        return Verdict(True, LessTraffic(now, then))
    return Verdict(False, saving)
