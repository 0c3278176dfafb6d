"""Between what is decided and what is told: the gate, restarts in stages, and what waits.

A decision that may not be carried out now is withheld: its topology stays as it runs, and the plan
says what would be done and what it waits for. The others are then decided anew, around it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime

from stormcut.application.control.apply.draining import IsDrained, at_once
from stormcut.application.control.apply.staging import Part, Rollout, told_elsewhere
from stormcut.application.control.decide.allowed import allowed
from stormcut.application.control.decide.decision import (
    Action,
    BreaksLimit,
    Choice,
    Decision,
    Decisions,
    Ground,
    Guard,
    Withheld,
)
from stormcut.application.control.decide.declared import MAX_EXECUTORS_KEY
from stormcut.application.control.decide.pace import Pace
from stormcut.application.control.gate.account import Account
from stormcut.application.control.gate.change import Change, Initiator, restarted
from stormcut.application.control.gate.gate import (
    ROUND_SECONDS,
    Gate,
    Moment,
    Verdict,
    cause_of,
)
from stormcut.application.control.gate.guards import Answer
from stormcut.application.control.gate.ledger import Ledger
from stormcut.application.control.observe.hearing import Silence
from stormcut.application.control.observe.losses import Losses
from stormcut.application.control.observe.probation import Probation
from stormcut.application.control.orders import By, Orders, Undo
from stormcut.application.control.policy import Mode, Policy
from stormcut.model.cluster import ClusterState, RunningTopology, Supervisor, Worker, name_in
from stormcut.model.plan import Plan

#: What the restart of a topology's workers costs where it was not measured: seconds of its work.
RESTART_SECONDS = 20.0
#: What it costs at least: work that was only late is not lost, but it was late.
LEAST_RESTART_SECONDS = 5.0

#: Far above what was ever seen: what is withheld changes what others do, and that what is withheld.
MAX_ROUNDS = 10

#: Decides with topologies that stay where they run, by topology id.
Decide = Callable[[Mapping[str, tuple[Worker, ...]]], Decisions]

#: By topology id: the measured seconds of work that a restart of all its workers costs.
MeasuredPrice = Callable[[str], float | None]

#: A limit that nothing fits under: a node that shall run nothing takes no executor.
NOTHING = {MAX_EXECUTORS_KEY: "0"}


@dataclass(frozen=True)
class Governed:
    """What is done, and what would be.

    ``told`` holds every topology, what is withheld as it runs; ``withheld`` are the decisions as
    they would be carried out; ``proposal`` names them all, empty if there are none. ``changes`` are
    those that Nimbus is told, as they passed the gate.
    """

    told: Decisions
    withheld: tuple[Decision, ...]
    proposal: str
    changes: tuple[Change, ...] = ()


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
    """

    state: ClusterState
    orders: Orders
    pace: Pace
    now: float
    local: datetime
    undos: Mapping[str, Undo] = field(default_factory=dict)
    last_plan: Plan | None = None
    accounts: Mapping[str, Account] = field(default_factory=dict)

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

    def copy(self) -> Governor:
        """Return the same for somebody who only thinks what would be."""
        other = Governor(self._policy, self._measured_price)
        other.ledger = self.ledger.copy()
        other.probation = self.probation.copy()
        other.silence = self.silence.copy()
        other.losses = self.losses.copy()
        other._rollout = copy(self._rollout)
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
        return frozenset(s.id for s in state.supervisors if self._has_no_room(s, orders))

    def _has_no_room(self, supervisor: Supervisor, orders: Orders) -> bool:
        names = (supervisor.id, supervisor.host)
        return self._policy.is_drained(*names) or bool(orders.drained.intersection(names))

    def govern(self, decide: Decide, asked: Asked) -> Governed:
        """Return which decisions are carried out now.

        Parameters
        ----------
        decide : callable
            Decides anew with topologies that stay where they run.
        """
        state = asked.state
        self.ledger.observe(state, asked.now)
        rollout = self._going_on(asked)
        base = {} if rollout is None else rollout.present(state)
        running = {topology.id: topology for topology in state.topologies}
        first = decisions = decide(base)
        wanted = [d for d in first.decided if _changes(d, running[d.topology])]
        proposal = name_of(wanted)
        moment = self._moment(asked, rollout is not None)
        withheld: dict[str, Withheld] = {}
        decided = wanted
        passed: dict[str, Change] = {}
        for _ in range(MAX_ROUNDS):
            changes = [self._change(d, running[d.topology], asked, proposal) for d in decided]
            verdicts = self._gate.judge(changes, moment) or self._gate.unrested(changes, moment)
            held = self._withheld(decided, verdicts)
            withheld |= held
            passed = {c.topology: c for c in changes if c.topology not in withheld}
            if not held or len(held) == len(decided):
                break
            staying = [running[name] for name in withheld if not running[name].unassigned]
            decisions = decide({**base, **{t.id: tuple(sorted(t.assignment)) for t in staying}})
            decided = [
                d
                for d in decisions.decided
                if d.topology not in withheld and _changes(d, running[d.topology])
            ]
        else:
            # None that depends on another's answer is left to chance.
            withheld |= {d.topology: Withheld(Guard.OTHERS, d, ROUND_SECONDS) for d in decided}
            passed = {}
        told = self._told(decisions, withheld, asked)
        if rollout is None:
            rollout = self._begun(decided, passed, asked.now)
        staged = set() if rollout is None else set(rollout.decisions)
        for change in passed.values():
            if change.topology not in staged:
                self.ledger.spend(change, asked.now)
        if rollout is not None:
            told, stage = self._staged(rollout, told, asked)
            passed = {n: c for n, c in passed.items() if n not in staged} | stage
        held_back = tuple(hold.proposed for hold in withheld.values())
        return Governed(told, held_back, proposal, tuple(passed.values()))

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
        self, decision: Decision, running: RunningTopology, asked: Asked, proposal: str
    ) -> Change:
        """Return a decision as the value that passes the gate."""
        initiator = self._initiator(decision, running, asked)
        override = None
        is_approved = proposal in asked.orders.approved
        if initiator is Initiator.UNDO:
            override = asked.undos[decision.topology].override
        elif is_approved:
            override = asked.orders.overrides.get(proposal)
            if initiator in (Initiator.GAIN, Initiator.LIMIT, Initiator.DRAIN):
                initiator = Initiator.APPROVE
        return Change(
            initiator,
            decision.topology,
            tuple(sorted(running.assignment)),
            decision.workers,
            decision.choice.reason,
            decision.evidence,
            override,
            is_approved,
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

    @staticmethod
    def _withheld(
        decided: Iterable[Decision], verdicts: Mapping[str, Verdict]
    ) -> dict[str, Withheld]:
        return {
            d.topology: _with_verdict(d, verdicts[d.topology])
            for d in decided
            if d.topology in verdicts
        }

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
        most = self._policy.workers_at_a_time
        moves = {d.topology: d for d in decided if d.topology in passed and d.former}
        if most is None or sum(map(_restarts, moves.values())) <= most:
            return None
        return Rollout(moves, {name: passed[name] for name in moves}, most, now)

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
                return _with_verdict(rollout.decisions[topology], verdict)
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
        running = {topology.id: topology for topology in asked.state.topologies}
        every = [
            _as_it_runs(d, holds[d.topology], running[d.topology]) if d.topology in holds else d
            for d in (*decisions.decided, *decisions.declined)
        ]
        if self._policy.mode is Mode.ADVISE:
            every = [_left_alone(decision, asked) for decision in every]
        every.sort(key=lambda decision: decision.topology)
        return Decisions(
            tuple(d for d in every if d.choice.workers is not None),
            tuple(d for d in every if d.choice.workers is None),
        )


def name_of(changes: Iterable[Decision]) -> str:
    """Return a name of what would be done: the same as long as that is the same; empty for none."""
    rows = [
        [d.topology, [[w.slot.node, w.slot.port, list(w.executors)] for w in d.workers]]
        for d in sorted(changes, key=lambda d: d.topology)
    ]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:8] if rows else ""


def _with_verdict(decision: Decision, verdict: Verdict) -> Withheld:
    is_final = verdict.answer is Answer.NEVER
    return Withheld(verdict.guard, decision, verdict.left_s, verdict.pay, is_final)


def _changes(decision: Decision, topology: RunningTopology) -> bool:
    return decision.workers != tuple(sorted(topology.assignment))


def _restarts(decision: Decision) -> int:
    return decision.after.metrics.workers_restarted if decision.after else 0


def _as_it_runs(decision: Decision, hold: Withheld, topology: RunningTopology) -> Decision:
    """Return the decision to leave a topology as it is, and to say why."""
    present = tuple(sorted(topology.assignment))
    is_whole = bool(present) and not topology.unassigned
    action = Action.KEEP if is_whole else Action.DECLINE
    choice = Choice(action, hold, Ground.KEPT, present if is_whole else None)
    value = decision.before if is_whole else None
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
