"""From a decision to the change that passes the gate: who wants it, and by whose order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from stormcut.control.apply.context import RoundContext
from stormcut.control.decide.decision import Action, BreaksLimit, Decision
from stormcut.control.gate.change import Change, Initiator, restarted
from stormcut.control.gate.gate import cause_of
from stormcut.control.gate.guards import BUDGETS
from stormcut.control.orders import By, Override
from stormcut.model.cluster import RunningTopology

#: What the controller wants by itself, and a person may approve.
APPROVABLE = frozenset({Initiator.GAIN, Initiator.LIMIT, Initiator.DRAIN})


def change_of(
    context: RoundContext,
    decision: Decision,
    is_approved: bool,
    override: Override | None,
) -> Change:
    """Return a decision as the value that passes the gate.

    Parameters
    ----------
    is_approved : bool
        As it is, or would be, once a person has approved it.
    override : Override, optional
        The order under which it is approved.
    """
    topology = context.running[decision.topology]
    initiator = initiator_of(context, decision, topology)
    who = ""
    if initiator is Initiator.UNDO:
        undo = context.given.undos[decision.topology]
        who = undo.who
        is_obeyed = context.obeyed.get(decision.topology) == undo
        override = override or (None if is_obeyed else undo.override)
    elif is_approved and initiator in APPROVABLE:
        initiator = Initiator.APPROVE
    return Change(
        initiator,
        decision.topology,
        tuple(sorted(topology.assignment)),
        decision.workers,
        decision.choice.reason,
        decision.evidence,
        override,
        is_approved=is_approved,
        who=who,
    )


def initiator_of(context: RoundContext, decision: Decision, running: RunningTopology) -> Initiator:
    """Return who wants what was decided: that follows from what it does."""
    action = decision.choice.action
    if action is Action.UNDO:
        is_person = context.given.undos[decision.topology].by is By.PERSON
        return Initiator.UNDO if is_person else Initiator.TAKE_BACK
    if action is not Action.MOVE:
        # What ends a living worker is no placement, whatever it is called.
        ends = restarted(tuple(running.assignment), decision.workers)
        return Initiator.LIMIT if ends else Initiator.PLACEMENT
    if not isinstance(cause_of(decision.choice.reason), BreaksLimit):
        return Initiator.GAIN
    drains = any(worker.slot.node in context.drained for worker in running.assignment)
    return Initiator.DRAIN if drains else Initiator.LIMIT


def with_passed_guards(context: RoundContext, changes: Sequence[Change]) -> dict[str, Change]:
    """Return changes, by topology, with the guards that each passes by a person's order alone."""
    guards = context.gate.guards(changes, context.moment)
    return {c.topology: replace(c, passed=_select_passed(c, guards[c.topology])) for c in changes}


def _select_passed(change: Change, guards: Iterable[str]) -> tuple[str, ...]:
    override = change.override
    return () if override is None else tuple(filter(override.passes, guards))


def exceeds_budget(change: Change) -> bool:
    """Return whether a person has ordered to exceed a budget with it."""
    return not {guard.key for guard in BUDGETS}.isdisjoint(change.passed)
