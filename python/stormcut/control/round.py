"""One round of control: from what Nimbus describes to what it is told.

    observe -> settle -> approve -> stage

Each step is a function of what earlier rounds have left and of this round's inputs, and changes
neither. A preview is the same round with its result thrown away; to publish what was decided, and
to have spouts rest, is the brain's.

1. `observe`: who runs, is silent, lost, on probation; since when; what restarted within the hour.
2. `settle` (apply/settling.py): decide, withhold what guards hold, decide the rest around it.
3. `trials` and `choose` (apply/approval.py): the same as if a person had approved it; what was
   approved is done if it still is what its name says.
4. `stage` (apply/staging.py): of a move of many workers, those that may restart now.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stormcut.control.apply.answer import answer
from stormcut.control.apply.approval import Selection, choose, trials
from stormcut.control.apply.changes import exceeds_budget, with_passed_guards
from stormcut.control.apply.context import Deciding, Inputs, RoundContext
from stormcut.control.apply.proposal import Proposal
from stormcut.control.apply.settling import held_now, settle, withheld
from stormcut.control.apply.staging import Rollout, decided_elsewhere
from stormcut.control.decide.allowed import allowed, with_workers
from stormcut.control.decide.decision import Decision, Decisions, Withheld
from stormcut.control.decide.memory import Memory
from stormcut.control.decide.pace import Pace
from stormcut.control.decide.question import Question
from stormcut.control.gate.change import Change
from stormcut.control.gate.gate import RESTART_SECONDS, ROUND_SECONDS, Gate, GuardContext
from stormcut.control.gate.ledger import Ledger
from stormcut.control.observe.hearing import Silence
from stormcut.control.observe.losses import Losses
from stormcut.control.observe.nodes import drained_nodes, without_room
from stormcut.control.observe.probation import Probation
from stormcut.control.orders import Undo
from stormcut.control.review.reviews import restart_seconds
from stormcut.running.machines import (
    LoadOf,
    Machines,
    read_machines,
    read_shared_machines,
)
from stormcut.running.situation import fitting

#: What a restart costs at least: work that was only late is not lost, but it was late.
MIN_RESTART_SECONDS = 5.0

#: For so long a plan that Nimbus has not made so is offered again: what runs instead has just begun
#: and is cheap to restart.
LATE_SECONDS = 60.0


@dataclass(frozen=True)
class RoundState:
    """What rounds leave for the next one.

    Parameters
    ----------
    rollout : Rollout, optional
        The move that is made in stages.
    obeyed : mapping of str to Undo
        The orders back that were carried out, by topology id: an override counts until then.
    memory : Memory
        What was worked out and still holds; a round works on a copy.
    """

    silence: Silence = field(default_factory=Silence)
    probation: Probation = field(default_factory=Probation)
    losses: Losses = field(default_factory=Losses)
    pace: Pace = field(default_factory=Pace)
    ledger: Ledger = field(default_factory=Ledger)
    rollout: Rollout | None = None
    obeyed: Mapping[str, Undo] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory)
    machines: Machines = field(default_factory=Machines)

    def bar_nodes(self, drained: Iterable[str], now: float) -> dict[str, str]:
        """Return the nodes on which nothing may start at a moment, and what each is."""
        return {
            **dict.fromkeys(self.probation.present(now), "on probation"),
            **dict.fromkeys(self.silence.nodes, "silent"),
            **dict.fromkeys(drained, "drained"),
        }


@dataclass(frozen=True)
class Governed:
    """What is done, and what would be.

    Parameters
    ----------
    instructions : Decisions
        Every topology, what is withheld as it runs.
    withheld : tuple of Withheld
        What is not done, as it would be.
    offered, forced : Proposal, optional
        What would be done if a person approved it now, and if it passed the guards, too, that a
        person may override; None: nothing more than is done anyhow, or nobody wants to know.
    approved : str
        Name of the proposal that is done now as it was approved, empty if none is.
    changes : tuple of Change
        Those that Nimbus is told, as they passed the gate.
    resting : tuple of Change
        Those for which spouts are to rest, whether or not they do by now.
    again_in : float
        Seconds after which time alone may change it.
    considered : frozenset of str
        The approvals that were in force.
    """

    instructions: Decisions
    withheld: tuple[Withheld, ...]
    offered: Proposal | None = None
    forced: Proposal | None = None
    approved: str = ""
    changes: tuple[Change, ...] = ()
    resting: tuple[Change, ...] = ()
    again_in: float = math.inf
    considered: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """The names under which something can be approved, or was."""
        proposals = (self.offered, self.forced)
        return frozenset(each.name for each in proposals if each is not None)


def play(before: RoundState, given: Inputs) -> tuple[RoundState, Governed]:
    """Return what a round leaves, and what is done."""
    state = observe(before, given)
    context = _context(state, given)
    usual = settle(context)
    tried = trials(context, usual)
    selection = choose(context, usual, tried)
    state, instructions, changes = stage(state, context, selection)
    offered, forced = (each.proposal for each in tried) if tried else (None, None)
    ends_in = (part.ends_in(given.now) for part in (state.probation, state.losses))
    return state, Governed(
        instructions,
        tuple(selection.holds.values()),
        offered,
        forced,
        selection.approved,
        changes,
        selection.resting,
        min(instructions.again_in, selection.again_in, *ends_in),
        given.orders.approved,
    )


def observe(before: RoundState, given: Inputs) -> RoundState:
    """Return what is known once a state was seen."""
    state, now = given.state, given.now
    memory = before.memory.copy()
    known = (state, given.profiles, given.settings.costs, _load_of(memory, given))
    # Who has moved stays, where a plan's age is unknown.
    age_s = given.plan_age_s if math.isfinite(given.plan_age_s) else 0.0
    back = {
        t.id: undo
        for t in state.topologies
        if (undo := given.undos.get(t.id)) and undo.target(t) == tuple(sorted(t.assignment))
    }
    return RoundState(
        before.silence.observe(state, given.heard, now),
        before.probation.observe(state, now),
        before.losses.observe(state, now),
        before.pace.observe(state, given.last_plan, now, age_s),
        before.ledger.observe(state, now),
        _going_on(before.rollout, given),
        {**before.obeyed, **back},
        memory,
        before.machines.observe(state, read_machines(*known), now, read_shared_machines(*known)),
    )


def _load_of(memory: Memory, given: Inputs) -> LoadOf:
    profiles, costs = given.profiles, given.settings.costs
    return lambda topology: memory.workload(topology, fitting(profiles, topology), costs)


def reaffirm(before: RoundState, given: Inputs, changes: Sequence[Change]) -> RoundState | None:
    """Return what is left if changes that were told before pass every guard now; None if not."""
    state = observe(before, given)
    if held_now(_context(state, given), changes):
        return None
    return replace(state, ledger=state.ledger.spend(changes, given.now))


def stage(
    state: RoundState, context: RoundContext, selection: Selection
) -> tuple[RoundState, Decisions, tuple[Change, ...]]:
    """Return what is left, what Nimbus is told, and the changes in it.

    Of moves that restart more workers than may at once, what it is told is one stage.
    """
    settled, now = selection.settled, context.given.now
    passed = with_passed_guards(context, settled.changes)
    holds = {topology: selection.holds[topology] for topology in settled.held}
    instructions = answer(context, settled.decisions, holds)
    rollout = state.rollout or _begun(settled.going, passed, context.given)
    if rollout is None:
        changes = tuple(passed.values())
        return replace(state, ledger=state.ledger.spend(changes, now)), instructions, changes
    whole = tuple(c for c in passed.values() if c.topology not in rollout.decisions)
    state = replace(state, ledger=state.ledger.spend(whole, now))
    goes_on, decisions, staged = _next_stage(state, context, rollout, instructions)
    rest = [d for d in instructions.decided if d.topology not in rollout.decisions]
    decided = tuple(sorted((*rest, *decisions), key=lambda decision: decision.topology))
    ledger = state.ledger.spend(staged, now)
    state = replace(state, ledger=ledger, rollout=goes_on)
    return state, replace(instructions, decided=decided), (*whole, *staged)


def _next_stage(
    state: RoundState, context: RoundContext, rollout: Rollout, instructions: Decisions
) -> tuple[Rollout | None, tuple[Decision, ...], tuple[Change, ...]]:
    """Return a move once its next stage is told, what those that move are told, and the changes.

    The gate is asked for every stage again. None: the rest cannot go, and is decided again.
    """
    cluster, now = context.given.state, context.given.now
    if (left_s := rollout.left_s(now)) > 0:
        return rollout, rollout.waiting(cluster, left_s), ()
    others = dict(decided_elsewhere(instructions.decided, cluster, rollout.decisions))
    parts = rollout.next(cluster, others)
    # Others got what it needs.
    if parts is None:
        return None, rollout.waiting(cluster, ROUND_SECONDS), ()
    changes = tuple(rollout.changes(cluster, parts))
    verdicts = context.gate.judge(changes, replace(context.moment, ledger=state.ledger))
    for topology, verdict in verdicts.items():
        held = withheld(rollout.decisions[topology], verdict)
        if held.is_final:
            return None, rollout.waiting(cluster, ROUND_SECONDS), ()
        return rollout, rollout.waiting(cluster, held.left_s, held.guard), ()
    goes_on, decisions = rollout.advance(cluster, parts, now)
    return goes_on, decisions, changes


def _going_on(rollout: Rollout | None, given: Inputs) -> Rollout | None:
    """Return the move that is made in stages, None if there is none any more."""
    if rollout is None:
        return None
    # A person says otherwise of one of them.
    is_undone = any(
        undo.target(t) != rollout.decisions[t.id].workers
        for t in given.state.topologies
        if t.id in rollout.decisions and (undo := given.undos.get(t.id))
    )
    return None if is_undone or not rollout.goes_on(given.state, given.now) else rollout


def _begun(
    decided: Iterable[Decision], passed: Mapping[str, Change], given: Inputs
) -> Rollout | None:
    """Return the moves that are to be made in stages, None if they restart few workers."""
    moves = {d.topology: d for d in decided if d.topology in passed and d.former}
    wholes = {name: passed[name] for name in moves}
    most, budget = given.policy.workers_at_once, given.policy.restarts_at_once
    count = sum(change.restart_count for change in wholes.values())
    counted = sum(c.restart_count for c in wholes.values() if not exceeds_budget(c))
    if count <= most and counted <= budget:
        return None
    return Rollout(moves, wholes, most, budget, given.now)


def _context(state: RoundState, given: Inputs) -> RoundContext:
    cluster, policy, now = given.state, given.policy, given.now
    barred = drained_nodes(cluster, given.orders, policy)
    limited = state.machines.limited(cluster, _load_of(state.memory, given))
    limited = state.silence.limited(state.probation.limited(limited, now))
    limited = with_workers(without_room(limited, barred), policy.rule_of)
    rollout = state.rollout
    question = Question(
        limited,
        given.profiles,
        given.last_plan,
        given.settings,
        given.undos,
        lost=state.losses.nodes(),
        is_recent=given.plan_age_s < LATE_SECONDS,
        recorder=given.recorder,
        pace=state.pace,
        rule_of=policy.rule_of,
    )
    moment = GuardContext(
        now,
        given.local,
        given.orders,
        state.pace,
        state.ledger,
        allowed(limited, policy.rule_of),
        _restart_prices(given),
        given.rested,
        rollout is not None,
        state.bar_nodes(barred, now),
        state.losses.nodes(),
        state.silence.topologies,
        given.accounts,
    )
    base = {} if rollout is None else rollout.present(cluster)
    deciding = Deciding(question, state.memory)
    return RoundContext(given, Gate(policy), moment, deciding, barred, state.obeyed, base)


def _restart_prices(given: Inputs) -> dict[str, float]:
    """Return what a restart of all its workers costs, in seconds of work, by topology id."""
    names = [topology.id for topology in given.state.topologies]
    if given.policy.restart_seconds is not None:
        return dict.fromkeys(names, given.policy.restart_seconds)
    measured = {name: restart_seconds(given.reviews, name) for name in names}
    return {
        name: RESTART_SECONDS if cost is None else max(cost, MIN_RESTART_SECONDS)
        for name, cost in measured.items()
    }
