"""Whether another placement of a running topology is worth its restarts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from stormcut.application.control.situation import Situation
from stormcut.model.placement import Placement
from stormcut.objective.headroom import Bottleneck, Headroom, headroom
from stormcut.objective.metrics import measure

#: Head-room that is enough for those who do not maximise it: the thesis fills nodes to 80 %, and
#: what transfer costs comes on top.
ENOUGH = 1.15


@dataclass(frozen=True)
class Worth:
    """What a placement of one topology is worth on the nodes that the others leave to it.

    ``travels`` is what goes between nodes, in ``unit``: bytes where tuples' sizes were measured.
    """

    headroom: float
    bottleneck: Bottleneck | None
    travels: float
    unit: str


def worth(at: Situation, placement: Placement) -> Worth:
    """Return what a placement is worth in its situation."""
    room: Headroom = headroom(at.problem, placement)
    value = math.inf if room.value is None else room.value
    content = at.bytes_between_nodes(placement)
    if content is not None:
        return Worth(value, room.bottleneck, content, "bytes/s")
    tuples = measure(at.problem, placement).inter_node_tuples_per_second
    return Worth(value, room.bottleneck, tuples, "tuples/s")


@dataclass(frozen=True)
class Verdict:
    """Whether a move is worth it, and why in words that go on after "moved" or "kept: "."""

    moves: bool
    why: str


def verdict(now: Worth, then: Worth, least: float, enough: float) -> Verdict:
    """Return whether a placement is better by what counts: head-room first, then traffic.

    A move must raise the head-room by the share ``least``, or lower the traffic by it and leave as
    much head-room; what is beyond ``enough`` does not count. So every move is to a better place in
    one order, and none is ever taken back.
    """
    room, found = min(now.headroom, enough), min(then.headroom, enough)
    if found > room * (1 + least):
        text = f"for head-room, {now.headroom:.2f} -> {then.headroom:.2f}"
        return Verdict(True, f" {text}: {now.bottleneck} was full first")
    saved = now.travels - then.travels
    if found < room * (1 - 1e-9):
        lost = f"{now.headroom:.2f} to {then.headroom:.2f}: {then.bottleneck} would be full first"
        return Verdict(False, f"the best found would lower the head-room from {lost}")
    if saved > 0 and saved >= least * now.travels:
        return Verdict(True, "")
    part = max(saved, 0.0) / now.travels if now.travels > 0 else 0.0
    return Verdict(
        False,
        f"the best found saves {part:.1%} of {now.travels:.1f} {now.unit} between nodes, less than "
        f"{least:.0%}",
    )
