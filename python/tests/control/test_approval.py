"""What was approved is made as approved; what goes anyhow goes as usual."""

from __future__ import annotations

from dataclasses import replace

from stormcut.control.apply.approval import _with_order
from stormcut.control.apply.settling import Settled
from stormcut.control.decide.decision import Circumstance, Decisions, Evidence, Ground
from stormcut.control.gate.change import Change, Initiator
from stormcut.control.orders import Override
from stormcut.model.cluster import Slot, Worker

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
