"""Decides, withholds what guards hold, and decides the rest again, until all that is left passes.

Withholding one move can change another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from stormcut.control.decide.decision import Decision, Decisions, Guard, Withheld
from stormcut.control.gate.change import Change
from stormcut.control.gate.gate import ROUND_SECONDS, Verdict
from stormcut.control.gate.guards import Answer
from stormcut.model.cluster import RunningTopology, Worker

#: Upper bound; two or three rounds are usual.
MAX_ROUNDS = 10

#: Workers that topologies keep, by id.
Staying = Mapping[str, tuple[Worker, ...]]

#: Decides with topologies that stay where they run.
Decide = Callable[[Staying], Decisions]

#: Returns what does not go, by topology, and why.
Judge = Callable[[Sequence[Change]], Mapping[str, Verdict]]


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
    """

    decisions: Decisions
    going: tuple[Decision, ...]
    changes: tuple[Change, ...]
    held: Mapping[str, Withheld]

    def targets(self) -> dict[str, tuple[Worker, ...]]:
        """Return where those that go shall run, by topology id."""
        return {change.topology: change.target for change in self.changes}


def settle(
    decide: Decide,
    base: Staying,
    running: Mapping[str, RunningTopology],
    change_of: Callable[[Decision], Change],
    judge: Judge,
) -> Settled:
    """Return which changes go, and what becomes of the others.

    Parameters
    ----------
    base : mapping of str to tuple of Worker
        Topologies that stay whatever is judged.
    running : mapping of str to RunningTopology
        All, by id.
    """
    held: dict[str, Withheld] = {}
    staying = dict(base)
    for _ in range(MAX_ROUNDS):
        decisions = decide(staying)
        wanted = [d for d in _changing(decisions, running) if d.topology not in held]
        changes = [change_of(decision) for decision in wanted]
        verdicts = judge(changes)
        held |= {
            d.topology: withheld(d, verdicts[d.topology]) for d in wanted if d.topology in verdicts
        }
        if not verdicts or len(verdicts) == len(wanted):
            break
        # What lives of one that has lost workers, too: nobody else gets its slots.
        staying |= {name: tuple(sorted(running[name].assignment)) for name in held}
    else:
        # None that depends on another's answer is left to chance.
        held |= {d.topology: Withheld(Guard.OTHERS, d, ROUND_SECONDS) for d in wanted}
    going = tuple(d for d in wanted if d.topology not in held)
    return Settled(decisions, going, tuple(c for c in changes if c.topology not in held), held)


def _changing(decisions: Decisions, running: Mapping[str, RunningTopology]) -> Iterator[Decision]:
    """Yield the decisions by which a topology shall run elsewhere than it does."""
    for decision in decisions.decided:
        if decision.workers != tuple(sorted(running[decision.topology].assignment)):
            yield decision


def remembered(decide: Decide) -> Decide:
    """Return the same that answers no question twice."""
    known: dict[tuple[tuple[str, tuple[Worker, ...]], ...], Decisions] = {}

    def answer(staying: Staying) -> Decisions:
        key = tuple(sorted(staying.items()))
        if key not in known:
            known[key] = decide(staying)
        return known[key]

    return answer


def withheld(decision: Decision, verdict: Verdict) -> Withheld:
    """Return a change with what holds it."""
    is_final = verdict.answer is Answer.NEVER
    return Withheld(verdict.guard, decision, verdict.left_s, verdict.pay, is_final)
