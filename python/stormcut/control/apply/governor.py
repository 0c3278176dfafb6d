"""Between what is decided and what is told: the gate, restarts in stages, and what waits.

A decision that may not be carried out now is withheld: its topology stays as it runs, and the plan
says what would be done and what it waits for. The others are then decided anew, around it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, partial

from stormcut.control.apply.draining import IsDrained, at_once
from stormcut.control.apply.proposal import Proposal
from stormcut.control.apply.settling import (
    Decide,
    Settled,
    remembered,
    settle,
    withheld,
)
from stormcut.control.apply.staging import Rollout, told_elsewhere
from stormcut.control.decide.allowed import allowed
from stormcut.control.decide.decision import (
    Action,
    BreaksLimit,
    Choice,
    Decision,
    Decisions,
    Ground,
    Guard,
    Withheld,
)
from stormcut.control.decide.declared import MAX_EXECUTORS_KEY
from stormcut.control.decide.pace import Pace
from stormcut.control.gate.account import Account
from stormcut.control.gate.change import Change, Initiator, restarted
from stormcut.control.gate.gate import (
    ROUND_SECONDS,
    Gate,
    Moment,
    Verdict,
    cause_of,
)
from stormcut.control.gate.guards import BUDGETS, Answer
from stormcut.control.gate.ledger import Ledger
from stormcut.control.gate.parts import Part
from stormcut.control.observe.hearing import Silence
from stormcut.control.observe.losses import Losses
from stormcut.control.observe.probation import Probation
from stormcut.control.orders import By, Orders, Override, Undo
from stormcut.control.policy import Mode, Policy
from stormcut.model.cluster import ClusterState, RunningTopology, Worker, name_in
from stormcut.model.plan import Plan

#: What the restart of a topology's workers costs where it was not measured: seconds of its work.
RESTART_SECONDS = 20.0
#: What it costs at least: work that was only late is not lost, but it was late.
LEAST_RESTART_SECONDS = 5.0

#: By topology id: the measured seconds of work that a restart of all its workers costs.
MeasuredPrice = Callable[[str], float | None]

#: A limit that nothing fits under: a node that shall run nothing takes no executor.
NOTHING = {MAX_EXECUTORS_KEY: "0"}


@dataclass(frozen=True)
class Governed:
    """What is done, and what would be.

    Parameters
    ----------
    told : Decisions
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
    again_in : float
        Seconds after which time alone may change it.
    considered : frozenset of str
        The approvals that were in force.
    """

    told: Decisions
    withheld: tuple[Withheld, ...]
    offered: Proposal | None = None
    forced: Proposal | None = None
    approved: str = ""
    changes: tuple[Change, ...] = ()
    again_in: float = math.inf
    considered: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """The names under which something can be approved, or was."""
        proposals = (self.offered, self.forced)
        return frozenset(each.name for each in proposals if each is not None)


@dataclass(frozen=True)
class Asked:
    """One question of Nimbus's: the cluster, people's orders, and the time.

    Parameters
    ----------
    now : float
        Seconds of a clock that never runs back.
    local : datetime
        The local time.
    undos : mapping of str to Undo
        Orders back, by topology id.
    last_plan : Plan, optional
        The plan that the cluster was told last.
    accounts : mapping of str to Account
        How topologies fare, by id.
    is_shown : bool
        Somebody looks at what could be approved: that takes three times as long.
    """

    state: ClusterState
    orders: Orders
    pace: Pace
    now: float
    local: datetime
    undos: Mapping[str, Undo] = field(default_factory=dict)
    last_plan: Plan | None = None
    accounts: Mapping[str, Account] = field(default_factory=dict)
    is_shown: bool = False

    @cached_property
    def running(self) -> Mapping[str, RunningTopology]:
        """All topologies, by id."""
        return {topology.id: topology for topology in self.state.topologies}

    def is_as_planned(self, topology: str, workers: tuple[Worker, ...]) -> bool:
        """Return whether the last plan has a topology on these workers."""
        part = self.last_plan.of(topology) if self.last_plan else None
        return part is not None and part.workers == workers


class Governor:
    """Lets through the gate what was decided, and withholds the rest.

    It remembers which workers were restarted within the last hour.

    Parameters
    ----------
    policy : Policy
    measured_price : callable, optional
        Returns what a restart of a topology's workers has cost, by its id, in seconds of its work;
        None where that was not measured.
    is_drained : callable, optional
        Has the spouts of a topology come to rest, and returns whether they have.
    """

    def __init__(
        self,
        policy: Policy,
        measured_price: MeasuredPrice = lambda topology: None,
        is_drained: IsDrained = at_once,
    ) -> None:
        self._policy = policy
        self._gate = Gate(policy)
        self._is_drained = is_drained
        self._measured_price = measured_price
        self.probation = Probation()
        self.silence = Silence()
        self.losses = Losses()
        self.ledger = Ledger()
        self._rollout: Rollout | None = None
        #: The orders back that were carried out, by topology id.
        self._obeyed: dict[str, Undo] = {}

    def copy(self) -> Governor:
        """Return the same for somebody who only thinks what would be."""
        other = Governor(self._policy, self._measured_price)
        other.ledger = self.ledger.copy()
        other.probation = self.probation.copy()
        other.silence = self.silence.copy()
        other.losses = self.losses.copy()
        other._rollout, other._obeyed = copy(self._rollout), dict(self._obeyed)
        return other

    def state(self, state: ClusterState, orders: Orders, now: float) -> ClusterState:
        """Return a state in which nodes have the room that they may have, at a moment.

        Those that shall run nothing have none; those on probation, and silent ones, for what runs
        there alone.
        """
        self.probation.observe(state, now)
        self.losses.observe(state, now)
        state = self.silence.limited(self.probation.limited(state, now))
        barred = self._barred(state, orders)
        if not barred:
            return state
        supervisors = tuple(
            replace(s, meta={**s.meta, **NOTHING}) if s.id in barred else s
            for s in state.supervisors
        )
        return replace(state, supervisors=supervisors)

    def left_on_drained(self, state: ClusterState, orders: Orders) -> dict[str, int]:
        """Return how many executors still run on each node that shall run nothing, by host."""
        barred = self._barred(state, orders)
        left = {s.id: 0 for s in state.supervisors if s.id in barred}
        for topology in state.topologies:
            for worker in topology.assignment:
                if worker.slot.node in left:
                    left[worker.slot.node] += len(worker.executors)
        hosts = {s.id: s.host for s in state.supervisors}
        return {hosts[node]: count for node, count in sorted(left.items())}

    def _barred(self, state: ClusterState, orders: Orders) -> frozenset[str]:
        by_policy = {s.id for s in state.supervisors if self._policy.is_drained(s.id, s.host)}
        return orders.drained_nodes(state.supervisors) | by_policy

    def govern(self, decide: Decide, asked: Asked) -> Governed:
        """Return which decisions are carried out now.

        Parameters
        ----------
        decide : callable
            Decides anew with topologies that stay where they run.
        """
        state = asked.state
        self.ledger.observe(state, asked.now)
        self._note_obeyed(asked)
        rollout = self._going_on(asked)
        base = {} if rollout is None else rollout.present(state)
        moment = self._moment(asked, rollout is not None)
        settles = partial(settle, remembered(decide), base, asked.running)
        usual = settles(partial(self._change, asked), partial(self._all_held, moment))
        is_asked = asked.is_shown or asked.orders.approved
        trials = self._trials(usual, settles, asked, moment) if usual.held and is_asked else ()
        chosen = self._chosen(usual, trials, asked.orders, moment)
        passed = {c.topology: self._with_passed(c, moment) for c in chosen.settled.changes}
        held = {topology: chosen.holds[topology] for topology in chosen.settled.held}
        told = self._told(chosen.settled.decisions, held, asked)
        if rollout is None:
            rollout = self._begun(chosen.settled.going, passed, asked.now)
        staged = set() if rollout is None else set(rollout.decisions)
        for change in passed.values():
            if change.topology not in staged:
                self.ledger.spend(change, asked.now)
        if rollout is not None:
            told, stage = self._staged(rollout, told, asked)
            passed = {n: c for n, c in passed.items() if n not in staged} | stage
        offered, forced = (each.proposal for each in trials) if trials else (None, None)
        return Governed(
            told,
            tuple(chosen.holds.values()),
            offered,
            forced,
            chosen.name,
            tuple(passed.values()),
            min(told.again_in, chosen.again_in),
            asked.orders.approved,
        )

    def _trials(
        self, usual: Settled, settles: Callable[..., Settled], asked: Asked, moment: Moment
    ) -> tuple[_Trial, _Trial]:
        """Return what would be done if a person approved it, and past all guards that may be."""
        past_all = Override("", pauses=asked.orders.pauses)
        found = (
            settles(
                partial(self._change, asked, is_approved=True, override=override),
                partial(self._held_for_good, moment),
            )
            for override in (None, past_all)
        )
        offered, forced = (_Trial(each, self._proposal(each, usual, moment)) for each in found)
        return offered, forced

    def _chosen(
        self, usual: Settled, trials: Sequence[_Trial], orders: Orders, moment: Moment
    ) -> _Chosen:
        """Return what is done: what was approved, if that is still what it names, and may go."""
        holds = {**usual.held, **(_foreseen(usual, trials[0].settled) if trials else {})}
        again_in = math.inf
        for trial, is_forced in zip(trials, (False, True), strict=False):
            proposal = trial.proposal
            if proposal is None or proposal.name not in orders.approved:
                continue
            override = orders.overrides.get(proposal.name)
            if (override is not None) is not is_forced:
                continue
            who = orders.approved_by.get(proposal.name, "")
            settled = _ordered(trial.settled, usual, override, who)
            verdicts = self._all_held(moment, settled.changes)
            if not verdicts:
                return _Chosen(settled, dict(settled.held), proposal.name)
            again_in = min(verdict.left_s for verdict in verdicts.values())
            holds |= {
                d.topology: withheld(d, verdicts[d.topology])
                for d in proposal.decisions
                if d.topology in verdicts
            }
        return _Chosen(usual, holds, again_in=again_in)

    def _all_held(self, moment: Moment, changes: Sequence[Change]) -> Mapping[str, Verdict]:
        return self._gate.judge(changes, moment) or self._gate.unrested(changes, moment)

    def _held_for_good(self, moment: Moment, changes: Sequence[Change]) -> Mapping[str, Verdict]:
        """Return what holds changes whatever time passes, or as others go first."""
        verdicts = self._gate.judge(changes, moment)
        return {
            topology: verdict
            for topology, verdict in verdicts.items()
            if verdict.answer is Answer.NEVER or verdict.guard in (Guard.ROUND, Guard.NODE)
        }

    def _proposal(self, settled: Settled, usual: Settled, moment: Moment) -> Proposal | None:
        """Return what would be done beyond what is done anyhow; None if that is nothing."""
        own = usual.targets()
        changes = tuple(c for c in settled.changes if own.get(c.topology) != c.target)
        if not changes:
            return None
        names = {change.topology for change in changes}
        return Proposal(
            tuple(d for d in settled.going if d.topology in names),
            changes,
            {change.topology: self._gate.guards(change, moment) for change in changes},
        )

    def _with_passed(self, change: Change, moment: Moment) -> Change:
        """Return a change with the guards that it passes by a person's order alone."""
        override = change.override
        if override is None:
            return change
        keys = self._gate.guards(change, moment)
        return replace(change, passed=tuple(key for key in keys if override.passes(key)))

    def _note_obeyed(self, asked: Asked) -> None:
        """Take note of who has gone back: an override counts until then."""
        for name, undo in asked.undos.items():
            topology = asked.running.get(name)
            if topology and tuple(sorted(topology.assignment)) == tuple(sorted(undo.workers)):
                self._obeyed[name] = undo

    def reaffirms(self, changes: Sequence[Change], asked: Asked) -> bool:
        """Return whether changes that were told before still pass every guard, and count them."""
        moment = self._moment(asked, False)
        if self._gate.judge(changes, moment) or self._gate.unrested(changes, moment):
            return False
        for change in changes:
            self.ledger.spend(change, asked.now)
        return True

    def _moment(self, asked: Asked, is_staging: bool) -> Moment:
        return Moment(
            asked.now,
            asked.local,
            asked.orders,
            asked.pace,
            self.ledger,
            allowed(self.state(asked.state, asked.orders, asked.now), self._policy.rule_of),
            self._price,
            self._has_rested,
            is_staging,
            self._barred(asked.state, asked.orders)
            | self.silence.nodes
            | set(self.probation.present(asked.now)),
            self.losses.nodes(),
            self.silence.topologies,
            asked.accounts,
        )

    def _change(
        self,
        asked: Asked,
        decision: Decision,
        is_approved: bool = False,
        override: Override | None = None,
    ) -> Change:
        """Return a decision as the value that passes the gate.

        Parameters
        ----------
        is_approved : bool
            As it is, or would be, once a person has approved it.
        """
        topology = asked.running[decision.topology]
        initiator = self._initiator(decision, topology, asked)
        who = ""
        if initiator is Initiator.UNDO:
            undo = asked.undos[decision.topology]
            who = undo.who
            is_obeyed = self._obeyed.get(decision.topology) == undo
            override = override or (None if is_obeyed else undo.override)
        elif is_approved and initiator in (Initiator.GAIN, Initiator.LIMIT, Initiator.DRAIN):
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

    def _initiator(self, decision: Decision, running: RunningTopology, asked: Asked) -> Initiator:
        action = decision.choice.action
        if action is Action.UNDO:
            is_person = asked.undos[decision.topology].by is By.PERSON
            return Initiator.UNDO if is_person else Initiator.TAKE_BACK
        if action is not Action.MOVE:
            # What ends a living worker is no placement, whatever it is called.
            ends = restarted(tuple(running.assignment), decision.workers)
            return Initiator.LIMIT if ends else Initiator.PLACEMENT
        if not isinstance(cause_of(decision.choice.reason), BreaksLimit):
            return Initiator.GAIN
        barred = self._barred(asked.state, asked.orders)
        drains = any(worker.slot.node in barred for worker in running.assignment)
        return Initiator.DRAIN if drains else Initiator.LIMIT

    def _going_on(self, asked: Asked) -> Rollout | None:
        """Return the move that is made in stages now, None if there is none (any more)."""
        rollout = self._rollout
        if rollout is None:
            return None
        # A person says otherwise of one of them.
        is_undone = any(
            tuple(sorted(asked.undos[name].workers)) != decision.workers
            for name, decision in rollout.decisions.items()
            if name in asked.undos
        )
        if is_undone or not rollout.goes_on(asked.state, asked.now):
            rollout = self._rollout = None
        return rollout

    def _begun(
        self, decided: Iterable[Decision], passed: Mapping[str, Change], now: float
    ) -> Rollout | None:
        """Return the moves that are to be made in stages, None if they restart few workers."""
        moves = {d.topology: d for d in decided if d.topology in passed and d.former}
        wholes = {name: passed[name] for name in moves}
        most, budget = self._policy.workers_at_once, self._policy.restarts_at_once
        if sum(change.restart_count for change in wholes.values()) <= most and (
            sum(change.restart_count for change in wholes.values() if not _is_past_budget(change))
            <= budget
        ):
            return None
        return Rollout(moves, wholes, most, budget, now)

    def _staged(
        self, rollout: Rollout, told: Decisions, asked: Asked
    ) -> tuple[Decisions, dict[str, Change]]:
        """Return what is told when those that move in stages get their next one, and its changes.

        The gate is asked for every stage anew.
        """
        state, now = asked.state, asked.now
        others = dict(told_elsewhere(told.decided, state, rollout.decisions))
        moment = self._moment(asked, False)
        passed: dict[str, Change] = {}

        def may(chosen: Sequence[Part]) -> Withheld | None:
            changes = rollout.changes(state, chosen)
            verdicts = self._gate.judge(changes, moment)
            if verdicts:
                topology, verdict = next(iter(verdicts.items()))
                return withheld(rollout.decisions[topology], verdict)
            passed.update({change.topology: change for change in changes})
            return None

        stage = rollout.next(state, others, now, may)
        for change in passed.values():
            self.ledger.spend(change, now)
        # Others got what it needs, or the rest may not go at all: that is decided anew.
        self._rollout = None if stage is None else rollout
        if stage is None:
            stage = rollout.waiting(state, ROUND_SECONDS)
        rest = [d for d in told.decided if d.topology not in rollout.decisions]
        decided = tuple(sorted((*rest, *stage), key=lambda decision: decision.topology))
        return replace(told, decided=decided), passed

    def _price(self, topology: str) -> float:
        """Return what a restart of all its workers costs, in seconds of a topology's work."""
        if self._policy.restart_seconds is not None:
            return self._policy.restart_seconds
        measured = self._measured_price(topology)
        return RESTART_SECONDS if measured is None else max(measured, LEAST_RESTART_SECONDS)

    def _has_rested(self, change: Change) -> bool:
        seconds = self._policy.rule_of(name_in(change.topology)).drain_s
        return seconds is None or self._is_drained(
            change.topology, change.home, change.target, seconds
        )

    def _told(
        self,
        decisions: Decisions,
        holds: Mapping[str, Withheld],
        asked: Asked,
    ) -> Decisions:
        every = [
            _as_it_runs(d, holds[d.topology], asked.running[d.topology])
            if d.topology in holds
            else d
            for d in (*decisions.decided, *decisions.declined)
        ]
        if self._policy.mode is Mode.ADVISE:
            every = [_left_alone(decision, asked) for decision in every]
        every.sort(key=lambda decision: decision.topology)
        return Decisions(
            tuple(d for d in every if d.choice.workers is not None),
            tuple(d for d in every if d.choice.workers is None),
        )


@dataclass(frozen=True)
class _Trial:
    """What would become of it if something were ordered, and what that proposes."""

    settled: Settled
    proposal: Proposal | None


@dataclass(frozen=True)
class _Chosen:
    """What is done, what is not, and the name of what was approved; empty: nothing was."""

    settled: Settled
    holds: Mapping[str, Withheld]
    name: str = ""
    again_in: float = math.inf


def _is_past_budget(change: Change) -> bool:
    """Return whether a person has ordered to exceed a budget with it."""
    return not {guard.key for guard in BUDGETS}.isdisjoint(change.passed)


def _ordered(settled: Settled, usual: Settled, override: Override | None, who: str) -> Settled:
    """Return what was approved, past the guards that its order names; others go as usual."""
    own = {change.topology: change for change in usual.changes}

    def change(approved: Change) -> Change:
        known = own.get(approved.topology)
        if known is not None and known.target == approved.target:
            return known
        ordered = replace(approved, who=approved.who or who)
        return ordered if override is None else replace(ordered, override=override)

    return replace(settled, changes=tuple(map(change, settled.changes)))


def _foreseen(usual: Settled, offered: Settled) -> dict[str, Withheld]:
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


def _left_alone(decision: Decision, asked: Asked) -> Decision:
    """Return a decision that Storm decides, unless a person ordered what it says.

    What runs as an earlier plan wanted is told to stay so: Storm's default scheduler would spread
    it over as many workers as it may use.
    """
    action = decision.choice.action
    if decision.choice.workers is None or action is Action.UNDO:
        return decision
    if action is Action.KEEP and asked.is_as_planned(decision.topology, decision.workers):
        return decision
    choice = replace(decision.choice, action=Action.DECLINE, workers=None)
    return replace(decision, choice=choice, before=None, after=None, former=())
