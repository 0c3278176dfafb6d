"""What a person may approve, and what is done of what was approved."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from stormcut.control.apply.context import RoundContext
from stormcut.control.apply.proposal import Proposal
from stormcut.control.apply.settling import Settled, held_now, settle, withheld
from stormcut.control.decide.decision import Guard, Withheld
from stormcut.control.gate.change import Change
from stormcut.control.gate.gate import ROUND_SECONDS
from stormcut.control.orders import Override


@dataclass(frozen=True)
class WhatIf:
    """What would be done if something were ordered, and what of it is done only then."""

    settled: Settled
    proposal: Proposal | None


@dataclass(frozen=True)
class Selection:
    """What is done, and what is not.

    Parameters
    ----------
    holds : mapping of str to Withheld
        By topology id.
    approved : str
        Name of what is done as it was approved, empty if nothing is.
    resting : tuple of Change
        Those for which spouts are to rest.
    again_in : float
        Seconds after which time may let go what was approved.
    """

    settled: Settled
    holds: Mapping[str, Withheld]
    resting: tuple[Change, ...]
    approved: str = ""
    again_in: float = math.inf


def trials(context: RoundContext, usual: Settled) -> tuple[WhatIf, ...]:
    """Return what would be done if a person approved it, and past all guards that may be.

    None where nothing is held, or nobody wants to know.
    """
    is_asked = context.given.is_shown or context.given.orders.approved
    if not usual.held or not is_asked:
        return ()
    past_all = Override("", pauses=context.given.orders.pauses)
    settlements = (settle(context, if_approved=True, override=each) for each in (None, past_all))
    return tuple(WhatIf(each, _proposal(context, each, usual)) for each in settlements)


def choose(context: RoundContext, usual: Settled, tried: tuple[WhatIf, ...]) -> Selection:
    """Return what is done: what was approved, if that is still what it names, and may go."""
    orders = context.given.orders
    offered = _once_approved(usual, tried[0].settled) if tried else {}
    holds = {**usual.held, **offered}
    resting, again_in = usual.resting, math.inf
    for trial, is_forced in zip(tried, (False, True), strict=False):
        proposal = trial.proposal
        if proposal is None or proposal.name not in orders.approved:
            continue
        override = orders.overrides.get(proposal.name)
        if (override is not None) is not is_forced:
            continue
        who = orders.approved_by.get(proposal.name, "")
        settled = _with_order(trial.settled, usual, override, who)
        verdicts = held_now(context, settled.changes)
        if all(verdict.guard is Guard.REST for verdict in verdicts.values()):
            own = {change.topology for change in settled.changes}
            others = (change for change in usual.resting if change.topology not in own)
            resting = (*context.gate.resting(settled.changes), *others)
        if not verdicts:
            return Selection(settled, dict(settled.held), resting, proposal.name)
        again_in = min(verdict.left_s for verdict in verdicts.values())
        holds |= {
            d.topology: withheld(d, verdicts[d.topology])
            for d in proposal.decisions
            # What is shown under a name is what is done under it.
            if d.topology in verdicts and not (is_forced and d.topology in offered)
        }
    return Selection(usual, holds, resting, again_in=again_in)


def _proposal(context: RoundContext, settled: Settled, usual: Settled) -> Proposal | None:
    """Return what would be done beyond what is done anyhow; None if that is nothing."""
    own = usual.targets()
    changes = tuple(c for c in settled.changes if own.get(c.topology) != c.target)
    if not changes:
        return None
    names = {change.topology for change in changes}
    return Proposal(
        tuple(d for d in settled.going if d.topology in names),
        changes,
        context.gate.guards(changes, context.moment),
    )


def _with_order(settled: Settled, usual: Settled, override: Override | None, who: str) -> Settled:
    """Return what was approved, past the guards that its order names; others go as usual."""
    own = usual.sure_changes

    def change(approved: Change) -> Change:
        known = own.get(approved.topology)
        if known is not None and known.target == approved.target:
            return known
        ordered = replace(approved, who=approved.who or who)
        return ordered if override is None else replace(ordered, override=override)

    return replace(settled, changes=tuple(map(change, settled.changes)))


def _once_approved(usual: Settled, offered: Settled) -> dict[str, Withheld]:
    """Return what is withheld as it would be done once it is approved, with what holds it now."""
    own = usual.targets()
    later = {
        d.topology: replace(usual.held[d.topology], proposed=d)
        if d.topology in usual.held
        else Withheld(Guard.OTHERS, d, ROUND_SECONDS)
        for d in offered.going
        if own.get(d.topology) != d.workers
    }
    return {**later, **{n: held for n, held in offered.held.items() if n not in own}}
