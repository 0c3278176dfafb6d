"""What was approved is made as approved; what goes anyhow goes as usual."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from brain_clusters import topology

from stormcut.control.apply.answer import _as_it_runs, _left_alone
from stormcut.control.apply.approval import _once_approved, _with_order
from stormcut.control.apply.settling import Settled
from stormcut.control.decide.decision import (
    Action,
    Choice,
    Circumstance,
    Decision,
    Decisions,
    Evidence,
    Ground,
    Guard,
    Withheld,
)
from stormcut.control.gate.change import Change, Initiator
from stormcut.control.gate.gate import ROUND_SECONDS
from stormcut.control.orders import Override
from stormcut.model.cluster import RunningExecutor, Slot, Worker

AGREED = Override("agreed")


def change(topology: str, node: str, initiator: Initiator, who: str = "") -> Change:
    home, target = ((Worker(Slot(each, 6700), (1, 2)),) for each in ("n0", node))
    evidence = Evidence(Ground.MEASURED)
    return Change(initiator, topology, home, target, Circumstance.LATER, evidence, who=who)


def settled(*changes: Change) -> Settled:
    return Settled(Decisions((), ()), (), changes, {})


def ordered(approved, usual, override=None, who="anna@ops1"):
    return _with_order(settled(*approved), settled(*usual), override, who).changes


def test_who_approved_and_what_was_overridden_are_of_what_would_not_go_anyhow():
    """Else a person would answer for what the controller does by itself, past its guards."""
    drained = change("a-1-1", "n1", Initiator.DRAIN)
    approved = [change(name, "n1", Initiator.APPROVE) for name in ("a-1-1", "b-1-1")]
    for override in (None, AGREED):
        made = ordered(approved, [drained], override)
        assert made == (drained, replace(approved[1], who="anna@ops1", override=override))


def test_what_goes_elsewhere_than_usual_is_ordered():
    usual = change("a-1-1", "n2", Initiator.GAIN)
    (approved,) = [change("a-1-1", "n1", Initiator.APPROVE)]
    made = ordered([approved], [usual, change("b-1-1", "n1", Initiator.GAIN)], AGREED)
    assert made == (replace(approved, who="anna@ops1", override=AGREED),)


def test_who_ordered_it_before_is_kept():
    approved = change("a-1-1", "n1", Initiator.UNDO, who="ben@ops2")
    assert ordered([approved], []) == (approved,)


def decision(topology, *nodes, former=()):
    """Return a decision that a topology runs on nodes; nobody looks into its figures."""
    workers = tuple(Worker(Slot(each, 6700), (at,)) for at, each in enumerate(nodes, 1))
    choice = Choice(Action.MOVE, Circumstance.LATER, Ground.MEASURED, workers)
    before, after = object(), object()
    return Decision(topology, choice, Evidence(Ground.MEASURED), before, after, former=former)


def test_what_an_approval_would_do_is_shown_with_what_holds_it_now():
    """What others' answers alone keep back waits for the next round."""
    held, free, anyhow = (decision(f"{name}-1-1", "n1") for name in "abc")
    other = decision("d-1-1", "n2")
    goes = replace(change("c-1-1", "n1", Initiator.GAIN), target=anyhow.workers)
    waits = Withheld(Guard.QUIET, decision("a-1-1", "n3"), 60.0)
    usual = replace(settled(goes), held={"a-1-1": waits})
    never = Withheld(Guard.PINNED, other, 0.0, is_final=True)
    offered = replace(settled(), going=(held, free, anyhow), held={"d-1-1": never})
    assert _once_approved(usual, offered) == {
        "a-1-1": Withheld(Guard.QUIET, held, 60.0),
        "b-1-1": Withheld(Guard.OTHERS, free, ROUND_SECONDS),
        "d-1-1": never,
    }


def test_what_is_withheld_stays_as_it_runs_with_what_that_is_worth():
    home = decision("a-1-1", "n1").workers
    running = replace(topology("a-1-1", (1,), acker=False), assignment=home)
    hold = Withheld(Guard.QUIET, decision("a-1-1", "n2"), 60.0)
    moves, stays = decision("a-1-1", "n2", former=home), decision("a-1-1", "n1")
    for each, value in ((moves, moves.before), (stays, stays.after)):
        answer = _as_it_runs(each, hold, running)
        assert (answer.choice.action, answer.choice.reason) == (Action.KEEP, hold)
        assert (answer.workers, answer.former) == (home, ())
        assert answer.before is answer.after is value
    # Nobody knows what a part of it is worth: Storm decides.
    lost = replace(running, executors=(*running.executors, RunningExecutor(2, 2, "c1")))
    for each in (lost, replace(running, assignment=())):
        answer = _as_it_runs(moves, hold, each)
        assert (answer.choice.action, answer.choice.reason) == (Action.DECLINE, hold)
        assert (answer.workers, answer.before, answer.after) == ((), None, None)


def test_what_only_advice_would_move_is_left_to_storm_without_figures():
    moves = decision("a-1-1", "n2", former=decision("a-1-1", "n1").workers)
    answer = _left_alone(moves, SimpleNamespace())
    assert (answer.choice.action, answer.workers) == (Action.DECLINE, ())
    assert (answer.before, answer.after, answer.former) == (None, None, ())
    # What a person takes back is done.
    undone = replace(moves, choice=replace(moves.choice, action=Action.UNDO))
    assert _left_alone(undone, SimpleNamespace()) is undone
