"""Decisions in sentences: what plans, the history and the log say of them."""

from __future__ import annotations

import math

from stormcut.arrays import ROUNDING
from stormcut.control.decide.decision import (
    Action,
    BreaksLimit,
    Choice,
    Circumstance,
    Decision,
    Ground,
    InTheWay,
    LessHeadroom,
    LessTraffic,
    LittleGained,
    LittleReached,
    LittleSaved,
    MoreHeadroom,
    NoPlacement,
    Obstacle,
    PlacementFigures,
    Together,
    Unused,
    Withheld,
)
from stormcut.control.decide.worth import BYTES
from stormcut.objective.resources import EXECUTOR
from stormcut.placement.acceptance import (
    Imbalance,
    NoMove,
    Overuse,
    Pause,
    Saving,
    Skew,
    Unconfirmed,
)

_SAVES_NOTHING = "the best found saves nothing between nodes"
#: Of a topology for which the round had no time.
LATER = "a better place is sought in a later round"
_AWAY = "a supervisor is away, its workers run on"

_PLAIN = {
    (Action.KEEP, Circumstance.AS_PLANNED): "as planned before",
    (Action.KEEP, Circumstance.UNMEASURED): "as planned before, nothing measured",
    (Action.KEEP, Circumstance.AWAY): f"as planned before; {_AWAY}",
    (Action.KEEP, Circumstance.UNDONE): "undone",
    (Action.KEEP, Circumstance.STOPPED): "stopped where it ran",
    (Action.KEEP, Circumstance.TAKEN_BACK): "taken back, as its last move turned out worse",
    (Action.KEEP, Circumstance.NOTHING_TRAVELS): "nothing travels between nodes",
    (Action.KEEP, Circumstance.NOTHING_BETTER): "nothing better was found for this profile",
    (Action.KEEP, Circumstance.LATER): LATER,
    (Action.MOVE, Circumstance.TOO_LATE): "as planned, too late at first",
    (Action.UNDO, Circumstance.UNDONE): "undone: back to where it ran before",
    (Action.UNDO, Circumstance.TAKEN_BACK): "taken back, as its last move turned out worse",
    (Action.DECLINE, Circumstance.UNMEASURED): "runs already, nothing measured",
    (Action.DECLINE, Circumstance.AWAY): f"{_AWAY}; left alone",
    (Action.DECLINE, Circumstance.NO_ROOM): (
        "no slot is free for its lost workers, except on nodes that have just lost them"
    ),
    (Action.DECLINE, Circumstance.NO_EXECUTORS): "it has no executors",
}


def sentence(decision: Decision) -> str:
    """Return why a topology is treated so, and to what effect, in one line for people."""
    choice = decision.choice
    notes = "".join(f" ({note})" for note in choice.notes)
    effect = f"{_effect(decision)}{_overload(decision.after)}"
    return f"{_why(decision)}{notes}{_unused(choice.unused)}{effect}"


def _why(decision: Decision) -> str:
    match decision.choice.action:
        case Action.KEEP:
            return f"kept: {_kept(decision.choice)}"
        case Action.PLACE:
            return _placed(decision)
        case Action.MOVE:
            return _moved(decision)
        case Action.UNDO:
            return _plain(decision.choice)
        case Action.DECLINE:
            return _declined(decision.choice)


def _placed(decision: Decision) -> str:
    match decision.choice.reason:
        case Circumstance.LOST:
            return "completed: lost workers start again, the others stay"
        case Circumstance.SPREAD:
            return f"placed as Storm would ({decision.choice.algorithm}), until it is measured"
        case _:
            return f"placed by {_basis(decision)}"


def _plain(choice: Choice) -> str:
    """Return words for a reason, for want of some its name: no plan fails of that."""
    if not isinstance(choice.reason, Circumstance):
        return str(choice.reason)
    return _PLAIN.get((choice.action, choice.reason), choice.reason.value)


def _kept(choice: Choice) -> str:
    match choice.reason:
        case NoPlacement(error):
            return error
        case Withheld() as reason:
            return _withheld(reason)
        case NoMove():
            return choice.reason.value
        case Skew(node, means, most):
            return f"no node has more than {most:.2f} times the mean load: {node} has {means:.2f}"
        case Saving(now, _, least) as saving:
            saved = f"saves {saving.share:.1%} of {now:.1f} tuples/s between nodes"
            return f"the best found {saved}, less than {least:.0%}" if least else _SAVES_NOTHING
        case Pause(since, least):
            return f"it moved {since:.0f} s ago; no other move before {least:.0f} s have passed"
        case Unconfirmed(held, least):
            return f"what calls for a move held in {held} of {least} measurements in a row"
        case LessHeadroom(now, then):
            lost = f"{now.headroom:.2f} to {then.headroom:.2f}"
            return (
                f"the best found would lower the head-room from {lost}: {then.bottleneck} would "
                "be full first"
            )
        case LittleGained(now, then, noise):
            rise = f"{now.headroom:.2f} to {then.headroom:.2f}"
            return (
                f"the best found raises the head-room from {rise}; noise in the profile may seem "
                f"to raise it by {noise:.0%}"
            )
        case LittleReached(now, then) as reason:
            rise = f"{now.headroom:.2f} to {then.headroom:.2f}"
            return (
                f"the best found raises the head-room from {rise}, but its spouts could send only "
                f"{reason.growth:.2f} times as much; a move needs {1 + reason.least:.2f}"
            )
        case LittleSaved(now, _, least) as reason:
            saved = f"saves {reason.share:.1%} of {now.travels:.1f} {now.unit} between nodes"
            few = f"less than {least:.0%}"
            chance = f"by chance it may be {reason.chance:.0%}"
            return f"the best found {saved}, {few if reason.share < least else chance}"
        case _:
            return _plain(choice)


def _moved(decision: Decision) -> str:
    reason, moved = decision.choice.reason, "moved"
    if isinstance(reason, Together):
        moved, reason = f"moved with {_and(reason.others)}", reason.whole
    match reason:
        case BreaksLimit(violation):
            return f"{moved}, as {violation.message}"
        case MoreHeadroom(now, then):
            gained = f"{now.headroom:.2f} -> {then.headroom:.2f}"
            return f"{moved} for head-room, {gained}: {now.bottleneck} was full first"
        case LessTraffic(now, then) if now.unit == BYTES:
            # The effect, in tuples, may be the other way round.
            bytes_ = f"{now.travels:,.0f} -> {then.travels:,.0f} {BYTES}"
            return f"{moved} by {_basis(decision)}, {bytes_}"
        case LessTraffic() | Saving():
            return f"{moved} by {_basis(decision)}"
        case Skew(node, means, most):
            return f"{moved}, as node {node} has {means:.2f} times the mean load, above {most:.2f}"
        case Overuse(node, share, most):
            return f"{moved}, as {share:.0%} of node {node} is in use, above {most:.0%}"
        case Imbalance(busiest, idlest, difference, most):
            return (
                f"{moved}, as {difference:.0%} more of node {busiest} is in use than of {idlest}, "
                f"above {most:.0%}"
            )
        case _:
            return _plain(decision.choice)


def _and(names: tuple[str, ...]) -> str:
    return " and ".join((", ".join(names[:-1]), names[-1]) if len(names) > 1 else names)


def _declined(choice: Choice) -> str:
    match choice.reason:
        case NoPlacement(error):
            return f"not placed: {error}"
        case Circumstance():
            return _plain(choice)
        case _:
            return _kept(choice)


def _withheld(reason: Withheld) -> str:
    """Return what would be done, and what it waits for."""
    wait = "" if math.isinf(reason.left_s) else f", for {reason.left_s:.0f} s"
    if reason.pay is not None:
        gain, cost = reason.pay.gain_s, reason.pay.cost_s
        wait = f" ({gain:.1f} s of its work within the horizon, for {cost:.1f} s)"
    return f"{reason.guard.value}{wait}; it would be {sentence(reason.proposed)}"


def _basis(decision: Decision) -> str:
    """Return what the algorithm went by."""
    if decision.evidence.ground is Ground.DECLARED:
        return "declared structure"
    if decision.evidence.uses_traffic:
        return "measured traffic"
    return f"{decision.choice.algorithm}, blind to traffic"


def _unused(unused: Unused) -> str:
    text = f"; the profile does not fit: {unused.misfit}" if unused.misfit else ""
    if unused.no_way_back is not None:
        reason = _in_the_way(unused.no_way_back)
        text += f"; it cannot go back to where it ran before: {reason}"
    return text


def _in_the_way(obstruction: InTheWay) -> str:
    slot = (
        "" if obstruction.slot is None else f"slot {obstruction.slot.node}:{obstruction.slot.port}"
    )
    return {
        Obstacle.OTHER_EXECUTORS: "its executors are others now",
        Obstacle.SLOT_GONE: f"no supervisor offers {slot} now",
        Obstacle.SLOT_TAKEN: f"{slot} is another topology's now",
        Obstacle.DRAINED: f"the node of {slot} is drained",
        Obstacle.EXCLUDED: f"a rule excludes the node of {slot}",
    }[obstruction.obstacle]


def _effect(decision: Decision) -> str:
    if decision.choice.action is Action.KEEP or decision.after is None:
        return ""
    unit = "tuples/s" if decision.evidence.measured else "declared units"
    after = decision.after.metrics
    used = f"nodes used {after.nodes_used}, workers {after.workers_used}"
    if decision.before is None:
        return f": {_between(decision.after)} {unit} between nodes; {used}"
    change = f"{_between(decision.before)} -> {_between(decision.after)}"
    return f": {change} {unit} between nodes; {used}; slots changed {after.workers_restarted}"


def _overload(value: PlacementFigures | None) -> str:
    """Return a warning where a placement does not carry what was measured, and what would help."""
    worth = None if value is None else value.worth
    if worth is None or worth.bottleneck is None or worth.headroom >= 1 - ROUNDING:
        return ""
    remedy = "more executors" if worth.bottleneck.kind == EXECUTOR else "one node more"
    return (
        f"; warning: {worth.bottleneck} is full at {worth.headroom:.2f} times the rates, "
        f"{remedy} or fewer tuples/s would help"
    )


def _between(value: PlacementFigures) -> str:
    return f"{value.metrics.inter_node_tuples_per_second:.1f}"
