"""Decides, withholds what guards hold, and decides the rest again, until all that is left passes.

Withholding one move can change another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stormcut.control.apply.changes import change_of
from stormcut.control.apply.context import RoundContext
from stormcut.control.decide.decision import Decision, Decisions, Guard, Withheld
from stormcut.control.gate.change import Change
from stormcut.control.gate.gate import ROUND_SECONDS, Verdict
from stormcut.control.gate.guards import GuardAnswer
from stormcut.control.orders import Override
from stormcut.model.cluster import RunningTopology, Worker

#: Upper bound; two or three rounds are usual.
MAX_ROUNDS = 10


@dataclass(frozen=True)
class Settled:
    """What was decided in the end.

    Parameters
    ----------
    decisions : Decisions
        Of all topologies; those that are held stay in them where they run.
    going : tuple of Decision
        The changes that go.
    changes : tuple of Change
        The same, as they pass the gate.
    held : mapping of str to Withheld
        By topology id.
    resting : tuple of Change
        Those for which spouts are to rest first, whether or not they do by now.
    until_rest : tuple of Change
        Those that nothing but such a rest holds: it is to end before any of them goes.
    """

    decisions: Decisions
    going: tuple[Decision, ...]
    changes: tuple[Change, ...]
    held: Mapping[str, Withheld]
    resting: tuple[Change, ...] = ()
    until_rest: tuple[Change, ...] = ()

    @property
    def sure_changes(self) -> dict[str, Change]:
        """By topology id, the changes that go, and those that go after a rest."""
        return {change.topology: change for change in (*self.until_rest, *self.changes)}

    def targets(self) -> dict[str, tuple[Worker, ...]]:
        """Return where `sure_changes` have topologies run, by id."""
        return {topology: change.target for topology, change in self.sure_changes.items()}


def settle(
    context: RoundContext, if_approved: bool = False, override: Override | None = None
) -> Settled:
    """Return which changes go, and what becomes of the others.

    Parameters
    ----------
    if_approved : bool
        Decide as if a person had approved what is decided: around that alone which an approval
        does not let go.
    override : Override, optional
        The order under which it is approved.
    """
    held: dict[str, Withheld] = {}
    resting: dict[str, Change] = {}
    until_rest: dict[str, Change] = {}
    staying = dict(context.base)
    for _ in range(MAX_ROUNDS):
        decisions = context.deciding.decide_around(staying)
        wanted = [d for d in _changing(decisions, context.running) if d.topology not in held]
        changes = [change_of(context, decision, if_approved, override) for decision in wanted]
        verdicts = held_for_good(context, changes) if if_approved else held_now(context, changes)
        if not if_approved and all(v.guard is Guard.REST for v in verdicts.values()):
            resting |= {change.topology: change for change in context.gate.resting(changes)}
            until_rest |= {c.topology: c for c in changes if c.topology in verdicts}
        held |= {
            d.topology: withheld(d, verdicts[d.topology]) for d in wanted if d.topology in verdicts
        }
        if not verdicts or len(verdicts) == len(wanted):
            break
        # What lives of one that has lost workers, too: nobody else gets its slots.
        staying |= {name: tuple(sorted(context.running[name].assignment)) for name in held}
    else:
        # None that depends on another's answer is left to chance.
        held |= {d.topology: Withheld(Guard.OTHERS, d, ROUND_SECONDS) for d in wanted}
    going = tuple(d for d in wanted if d.topology not in held)
    passed = tuple(change for change in changes if change.topology not in held)
    return Settled(
        decisions, going, passed, held, tuple(resting.values()), tuple(until_rest.values())
    )


def held_now(context: RoundContext, changes: Sequence[Change]) -> Mapping[str, Verdict]:
    """Return which changes do not go now, by topology, and why."""
    return context.gate.judge(changes, context.moment) or context.gate.unrested(
        changes, context.moment
    )


def held_for_good(context: RoundContext, changes: Sequence[Change]) -> Mapping[str, Verdict]:
    """Return what holds changes whatever time passes, or as others go first."""
    return {
        topology: verdict
        for topology, verdict in context.gate.judge(changes, context.moment).items()
        if verdict.answer is GuardAnswer.NEVER or verdict.guard in (Guard.ROUND, Guard.NODE)
    }


def withheld(decision: Decision, verdict: Verdict) -> Withheld:
    """Return a change with what holds it."""
    is_final = verdict.answer is GuardAnswer.NEVER
    return Withheld(verdict.guard, decision, verdict.left_s, verdict.pay, is_final)


def _changing(decisions: Decisions, running: Mapping[str, RunningTopology]) -> Iterator[Decision]:
    """Yield the decisions by which a topology shall run elsewhere than it does."""
    for decision in decisions.decided:
        if decision.workers != tuple(sorted(running[decision.topology].assignment)):
            yield decision
