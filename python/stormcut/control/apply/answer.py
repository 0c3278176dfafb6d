"""What Nimbus is told of every topology: what is withheld stays as it runs, and says why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stormcut.control.apply.context import Inputs, RoundContext
from stormcut.control.decide.decision import (
    Action,
    Choice,
    Decision,
    Decisions,
    Ground,
    Withheld,
)
from stormcut.control.policy import Mode
from stormcut.model.cluster import RunningTopology


def answer(context: RoundContext, decisions: Decisions, holds: Mapping[str, Withheld]) -> Decisions:
    """Return decisions with what holds them in the place of what is withheld."""
    every = [
        _as_it_runs(d, holds[d.topology], context.running[d.topology]) if d.topology in holds else d
        for d in (*decisions.decided, *decisions.declined)
    ]
    if context.given.policy.mode is Mode.ADVISE:
        every = [_left_alone(decision, context.given) for decision in every]
    every.sort(key=lambda decision: decision.topology)
    return Decisions(
        tuple(d for d in every if d.choice.workers is not None),
        tuple(d for d in every if d.choice.workers is None),
    )


def _as_it_runs(decision: Decision, hold: Withheld, topology: RunningTopology) -> Decision:
    """Return the decision to leave a topology as it is, and to say why.

    One that has lost workers is left to Storm, and so is one whose supervisor is away.
    """
    present = tuple(sorted(topology.assignment))
    value = decision.after if decision.workers == present else decision.before
    is_whole = bool(present) and not topology.unassigned and value is not None
    action = Action.KEEP if is_whole else Action.DECLINE
    choice = Choice(action, hold, Ground.KEPT, present if is_whole else None)
    value = value if is_whole else None
    return replace(decision, choice=choice, before=value, after=value, former=())


def _left_alone(decision: Decision, given: Inputs) -> Decision:
    """Return a decision that Storm decides, unless a person ordered what it says.

    What runs as an earlier plan wanted is told to stay so: Storm's default scheduler would spread
    it over as many workers as it may use.
    """
    action = decision.choice.action
    if decision.choice.workers is None or action is Action.UNDO:
        return decision
    if action is Action.KEEP and given.is_as_planned(decision.topology, decision.workers):
        return decision
    choice = replace(decision.choice, action=Action.DECLINE, workers=None)
    return replace(decision, choice=choice, before=None, after=None, former=())
