"""Decisions in sentences: as people and the history have read them since there are any."""

from dataclasses import replace

import pytest

from stormcut.control.decide.decision import (
    Action,
    BreaksLimit,
    Choice,
    Circumstance,
    Decision,
    Evidence,
    Ground,
    InTheWay,
    LessHeadroom,
    LessTraffic,
    LittleReached,
    LittleSaved,
    MoreHeadroom,
    NoPlacement,
    Obstacle,
    PlacementFigures,
    Together,
    Unused,
    Worth,
)
from stormcut.control.decide.wording import sentence
from stormcut.model.cluster import Slot
from stormcut.objective.headroom import Bottleneck
from stormcut.objective.metrics import Metrics
from stormcut.objective.verify import Violation
from stormcut.placement.acceptance import (
    Imbalance,
    NoMove,
    Overuse,
    Pause,
    Saving,
    Skew,
    Unconfirmed,
)

NODE = Bottleneck("cpu", "n1")
NOW, THEN = Worth(1.0, NODE, 100.0, "bytes/s"), Worth(1.2, NODE, 98.0, "bytes/s")
BEFORE = PlacementFigures(Metrics(3008.7, 4000.0, 4, 4, 0), None, NOW)
AFTER = PlacementFigures(Metrics(1590.1, 4000.0, 3, 3, 5), None, THEN)
EFFECT = ": 3008.7 -> 1590.1 tuples/s between nodes; nodes used 3, workers 3; slots changed 5"


MEASURED = Evidence(Ground.MEASURED, 7)


def said(action, reason, evidence=MEASURED, before=BEFORE, **more):
    choice = Choice(action, reason, evidence.ground, algorithm="even", **more)
    declined = action is Action.DECLINE
    return sentence(Decision("t", choice, evidence, before, None if declined else AFTER))


@pytest.mark.parametrize(
    ("action", "reason", "text"),
    [
        (Action.KEEP, Circumstance.AS_PLANNED, "kept: as planned before"),
        (Action.KEEP, Circumstance.UNMEASURED, "kept: as planned before, nothing measured"),
        (
            Action.KEEP,
            Circumstance.AWAY,
            "kept: as planned before; a supervisor is away, its workers run on",
        ),
        (Action.KEEP, Circumstance.UNDONE, "kept: undone"),
        (Action.KEEP, Circumstance.NOTHING_TRAVELS, "kept: nothing travels between nodes"),
        (
            Action.KEEP,
            Circumstance.NOTHING_BETTER,
            "kept: nothing better was found for this profile",
        ),
        (Action.KEEP, NoPlacement("even found none"), "kept: even found none"),
        (
            Action.KEEP,
            LessHeadroom(THEN, NOW),
            "kept: the best found would lower the head-room from 1.20 to 1.00: CPU of node n1 "
            "would be full first",
        ),
        (
            Action.KEEP,
            LittleSaved(NOW, THEN, 0.05),
            "kept: the best found saves 2.0% of 100.0 bytes/s between nodes, less than 5%",
        ),
        (
            Action.KEEP,
            LittleReached(
                replace(NOW, headroom=0.74, reached=(100.0,)), replace(THEN, reached=(101.0,)), 0.05
            ),
            "kept: the best found raises the head-room from 0.74 to 1.20, but its spouts could "
            "send only 1.01 times as much; a move needs 1.05",
        ),
        (Action.KEEP, NoMove.STAYS, "kept: the algorithm leaves it where it runs"),
        (
            Action.KEEP,
            Skew("n1", 1.1, 1.12),
            "kept: no node has more than 1.12 times the mean load: n1 has 1.10",
        ),
        (
            Action.KEEP,
            Saving(100.0, 98.0, 0.05),
            "kept: the best found saves 2.0% of 100.0 tuples/s between nodes, less than 5%",
        ),
        (
            Action.KEEP,
            Saving(98.0, 100.0, 0.0),
            "kept: the best found saves nothing between nodes",
        ),
        (
            Action.KEEP,
            Pause(59.6, 180.0),
            "kept: it moved 60 s ago; no other move before 180 s have passed",
        ),
        (
            Action.KEEP,
            Unconfirmed(1, 3),
            "kept: what calls for a move held in 1 of 3 measurements in a row",
        ),
        (Action.MOVE, Saving(100.0, 90.0, 0.05), "moved by measured traffic" + EFFECT),
        (
            Action.MOVE,
            Skew("n1", 2.25, 1.12),
            "moved, as node n1 has 2.25 times the mean load, above 1.12" + EFFECT,
        ),
        (
            Action.MOVE,
            Overuse("n1", 0.9, 0.8),
            "moved, as 90% of node n1 is in use, above 80%" + EFFECT,
        ),
        (
            Action.MOVE,
            Imbalance("n1", "n2", 0.57, 0.3),
            "moved, as 57% more of node n1 is in use than of n2, above 30%" + EFFECT,
        ),
        (Action.PLACE, Circumstance.INCOMPLETE, "placed by measured traffic" + EFFECT),
        (
            Action.MOVE,
            LessTraffic(NOW, THEN),
            "moved by measured traffic, 100 -> 98 bytes/s" + EFFECT,
        ),
        (
            Action.MOVE,
            Together(("u", "v", "w"), LessTraffic(NOW, THEN)),
            "moved with u, v and w by measured traffic, 100 -> 98 bytes/s" + EFFECT,
        ),
        (
            Action.MOVE,
            Together(("u",), MoreHeadroom(NOW, THEN)),
            "moved with u for head-room, 1.00 -> 1.20: CPU of node n1 was full first" + EFFECT,
        ),
        (
            Action.MOVE,
            Together(("u",), BreaksLimit(Violation("cpu", "node n1 holds 240 % CPU"))),
            "moved with u, as node n1 holds 240 % CPU" + EFFECT,
        ),
        (
            Action.MOVE,
            MoreHeadroom(NOW, THEN),
            "moved for head-room, 1.00 -> 1.20: CPU of node n1 was full first" + EFFECT,
        ),
        (
            Action.MOVE,
            BreaksLimit(Violation("cpu", "node n1 holds 240 % CPU")),
            "moved, as node n1 holds 240 % CPU" + EFFECT,
        ),
        (Action.MOVE, Circumstance.TOO_LATE, "as planned, too late at first" + EFFECT),
        (Action.UNDO, Circumstance.UNDONE, "undone: back to where it ran before" + EFFECT),
        (Action.DECLINE, Circumstance.UNMEASURED, "runs already, nothing measured"),
        (
            Action.DECLINE,
            Circumstance.AWAY,
            "a supervisor is away, its workers run on; left alone",
        ),
        (Action.DECLINE, Circumstance.NO_EXECUTORS, "it has no executors"),
        (Action.DECLINE, NoPlacement("no room"), "not placed: no room"),
    ],
)
def test_every_reason_is_said(action, reason, text):
    assert said(action, reason) == text


def test_what_an_algorithm_went_by_is_said():
    new = (Action.PLACE, Circumstance.INCOMPLETE)
    declared = said(*new, Evidence(Ground.DECLARED), before=None)
    assert declared == (
        "placed by declared structure: 1590.1 declared units between nodes; nodes used 3, workers 3"
    )
    blind = said(*new, replace(Evidence(Ground.MEASURED, 7), uses_traffic=False))
    assert blind.startswith("placed by even, blind to traffic: ")


def test_notes_and_what_cannot_be_used_follow_the_reason():
    obstacle = InTheWay(Obstacle.SLOT_TAKEN, Slot("n1", 6700))
    text = said(
        Action.PLACE,
        Circumstance.INCOMPLETE,
        notes=("beta is small",),
        unused=Unused("it lacks executor [1 1] of a", obstacle),
    )
    assert text == (
        "placed by measured traffic (beta is small); the profile does not fit: it lacks executor "
        "[1 1] of a; it cannot go back to where it ran before: slot n1:6700 is another topology's "
        "now" + EFFECT
    )


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize(
    "reason",
    [*Circumstance, NoPlacement("no slot"), MoreHeadroom(NOW, THEN), NoMove.STAYS, Pause(1, 2)],
)
def test_no_pair_of_action_and_reason_is_without_words(action, reason):
    assert said(action, reason)


@pytest.mark.parametrize(
    ("bottleneck", "remedy"),
    [(NODE, "one node more"), (Bottleneck("executor", "b[0]", "t"), "more executors")],
)
def test_a_placement_that_does_not_carry_what_was_measured_is_warned_of(bottleneck, remedy):
    full = replace(AFTER, worth=Worth(0.83, bottleneck, 98.0, "bytes/s"))
    choice = Choice(Action.MOVE, Circumstance.TOO_LATE, Ground.MEASURED, algorithm="even")
    text = sentence(Decision("t", choice, MEASURED, BEFORE, full))
    warning = f"warning: {bottleneck} is full at 0.83 times the rates, {remedy} or fewer tuples/s"
    assert warning in text
