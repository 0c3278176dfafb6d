"""Between what is decided and what is done: what an operator allows, now, and in which order.

A decision that may not be carried out now is withheld: its topology stays as it runs, and the plan
says what would be done and what it waits for. The others are then decided anew, around it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime

from stormcut.application.control.apply.draining import IsDrained, at_once
from stormcut.application.control.apply.staging import Rollout, told_elsewhere
from stormcut.application.control.decide.decision import (
    Action,
    BreaksLimit,
    Choice,
    Decision,
    Decisions,
    Ground,
    Hold,
    LessTraffic,
    MoreHeadroom,
    Pay,
    Together,
    Withheld,
)
from stormcut.application.control.decide.declared import MAX_EXECUTORS_KEY
from stormcut.application.control.decide.pace import Pace
from stormcut.application.control.observe.probation import Probation
from stormcut.application.control.orders import Orders
from stormcut.application.control.policy import Mode, Policy, Rule
from stormcut.model.cluster import ClusterState, RunningTopology, Supervisor, Worker

#: What the restart of a topology's workers costs where it was not measured: seconds of its work.
RESTART_SECONDS = 20.0
#: What it costs at least: work that was only late is not lost, but it was late.
LEAST_RESTART_SECONDS = 5.0
HOUR_SECONDS = 3600.0
#: How often it is looked whether a topology is drained.
DRAIN_LOOK_SECONDS = 5.0
#: With less head-room a topology is overloaded, and waits for no longer cool-down than this.
OVERLOADED, OVERLOADED_COOL_DOWN_SECONDS = 1.25, 60.0
#: Traffic weighs so much at least, however little the resources are in use: it takes time.
LEAST_USE = 0.05
#: How often it is looked whether quiet hours are over.
QUIET_SECONDS = 60.0
#: Until then Nimbus has asked again, and sees what became of the last round.
ROUND_SECONDS = 15.0

#: Far above what was ever seen: what is withheld changes what others do, and that what is withheld.
MAX_ROUNDS = 10

#: Decides with topologies ordered to run where they do, by topology id.
Decide = Callable[[Mapping[str, tuple[Worker, ...]]], Decisions]

#: By topology id: the measured seconds of work that a restart of all its workers costs.
MeasuredPrice = Callable[[str], float | None]

#: A limit that nothing fits under: a node that shall run nothing takes no executor.
NOTHING = {MAX_EXECUTORS_KEY: "0"}


@dataclass(frozen=True)
class Governed:
    """What is done, and what would be.

    ``told`` holds every topology, what is withheld as it runs; ``withheld`` are the decisions as
    they would be carried out; ``proposal`` names them all, empty if there are none.
    """

    told: Decisions
    withheld: tuple[Decision, ...]
    proposal: str


class Governor:
    """Applies a `Policy`, and the orders of people, to what was decided.

    It remembers which restarts it let happen within the last hour.

    Parameters
    ----------
    policy : Policy
    measured_price : callable, optional
        Returns what a restart of a topology's workers has cost, by its id, in seconds of its work;
        None where that was not measured.
    is_drained : callable, optional
        Has a topology drained, and returns whether it is.
    """

    def __init__(
        self,
        policy: Policy,
        measured_price: MeasuredPrice = lambda topology: None,
        is_drained: IsDrained = at_once,
    ) -> None:
        self._policy = policy
        self._is_drained = is_drained
        self._measured_price = measured_price
        self.probation = Probation()
        self._rollout: Rollout | None = None
        self._restarts: deque[tuple[float, str, int]] = deque()

    def copy(self) -> Governor:
        """Return the same for somebody who only thinks what would be."""
        other = Governor(self._policy, self._measured_price)
        other._restarts = deque(self._restarts)
        other.probation = self.probation.copy()
        other._rollout = copy(self._rollout)
        return other

    def state(self, state: ClusterState, orders: Orders, now: float) -> ClusterState:
        """Return a state in which nodes have the room that they may have, at a moment.

        Those that shall run nothing have none, and those on probation for what runs there alone.
        """
        self.probation.observe(state, now)
        state = self.probation.limited(state, now)
        supervisors = tuple(
            replace(s, meta={**s.meta, **NOTHING}) if self._has_no_room(s, orders) else s
            for s in state.supervisors
        )
        return (
            state if supervisors == state.supervisors else replace(state, supervisors=supervisors)
        )

    def _has_no_room(self, supervisor: Supervisor, orders: Orders) -> bool:
        names = (supervisor.id, supervisor.host)
        return self._policy.is_drained(*names) or bool(orders.drained.intersection(names))

    def govern(
        self, decide: Decide, state: ClusterState, orders: Orders, pace: Pace, now: float
    ) -> Governed:
        """Return which decisions are carried out now.

        Parameters
        ----------
        decide : callable
            Decides anew with topologies that stay where they run.
        now : float
            Seconds since the epoch.
        """
        rollout = self._going_on(state, orders, now)
        base = {} if rollout is None else rollout.present(state)
        running = {topology.id: topology for topology in state.topologies}
        first = decisions = decide(base)
        wanted = [d for d in first.decided if _changes(d, running[d.topology])]
        proposal = name_of(wanted)
        asked = _Asked(self._policy, orders, pace, now, proposal in orders.approved, self._price)
        withheld: dict[str, Withheld] = {}
        changes = wanted
        for _ in range(MAX_ROUNDS):
            holds = self._holds(changes, asked)
            withheld |= holds
            if not holds or len(holds) == len(changes):
                break
            staying = [running[name] for name in withheld if not running[name].unassigned]
            decisions = decide({**base, **{t.id: tuple(sorted(t.assignment)) for t in staying}})
            changes = [
                d
                for d in decisions.decided
                if d.topology not in withheld and _changes(d, running[d.topology])
            ]
        else:
            # None that depends on another's answer is left to chance.
            withheld |= {d.topology: Withheld(Hold.OTHERS, d, ROUND_SECONDS) for d in changes}
        done = [d for d in changes if d.topology not in withheld]
        self._note(done, now)
        told = self._told(decisions, withheld, running)
        if rollout is None:
            rollout = self._begun(done, now)
        told = told if rollout is None else self._staged(rollout, told, state, now)
        return Governed(told, tuple(hold.proposed for hold in withheld.values()), proposal)

    def _going_on(self, state: ClusterState, orders: Orders, now: float) -> Rollout | None:
        """Return the move that is made in stages now, None if there is none (any more)."""
        rollout = self._rollout
        if rollout is not None and (orders.is_paused or not rollout.goes_on(state, now)):
            rollout = self._rollout = None
        return rollout

    def _begun(self, done: Iterable[Decision], now: float) -> Rollout | None:
        """Return the moves that are to be made in stages, None if they restart few workers."""
        most = self._policy.workers_at_a_time
        moves = {d.topology: d for d in done if d.choice.action is Action.MOVE and d.former}
        if most is None or sum(map(_restarts, moves.values())) <= most:
            return None
        return Rollout(moves, most, now)

    def _staged(
        self, rollout: Rollout, told: Decisions, state: ClusterState, now: float
    ) -> Decisions:
        """Return what is told when those that move in stages get their next one."""
        others = dict(told_elsewhere(told.decided, state, rollout.decisions))
        stage = rollout.next(state, others, now)
        # Others got what it needs: the rest is decided anew.
        self._rollout = None if stage is None else rollout
        if stage is None:
            stage = rollout.waiting(state, ROUND_SECONDS)
        rest = [d for d in told.decided if d.topology not in rollout.decisions]
        return replace(
            told, decided=tuple(sorted((*rest, *stage), key=lambda decision: decision.topology))
        )

    def _price(self, topology: str) -> float:
        """Return what a restart of all its workers costs, in seconds of a topology's work."""
        if self._policy.restart_seconds is not None:
            return self._policy.restart_seconds
        measured = self._measured_price(topology)
        return RESTART_SECONDS if measured is None else max(measured, LEAST_RESTART_SECONDS)

    def _holds(self, changes: Sequence[Decision], asked: _Asked) -> dict[str, Withheld]:
        holds = {d.topology: hold for d in changes if (hold := asked.hold(d)) is not None}
        self._keep_budget(changes, holds, asked)
        self._drain([d for d in changes if d.topology not in holds], holds)
        return holds

    def _drain(self, moving: Sequence[Decision], holds: dict[str, Withheld]) -> None:
        """Withhold all that move, which belong together, until each is drained that shall be."""
        moves = [d for d in moving if d.choice.action is Action.MOVE]
        # All are asked: they are drained at the same time.
        ready = [self._may_move(d) for d in moves]
        if all(ready):
            return
        for decision in moves:
            holds[decision.topology] = Withheld(Hold.DRAIN, decision, DRAIN_LOOK_SECONDS)

    def _may_move(self, decision: Decision) -> bool:
        seconds = self._policy.rule_of(name_in(decision.topology)).drain_s
        return seconds is None or self._is_drained(
            decision.topology, decision.former, decision.workers, seconds
        )

    def _keep_budget(
        self, changes: Sequence[Decision], holds: dict[str, Withheld], asked: _Asked
    ) -> None:
        """Withhold what would restart more workers than may now, dearest last."""
        if asked.is_approved or self._policy.mode is not Mode.AUTOMATIC:
            return
        self._forget(asked.now)
        spent = sum(count for _, _, count in self._restarts)
        known = {(name, count) for _, name, count in self._restarts}
        in_round = 0
        for decision in sorted(changes, key=lambda d: (-self._priority(d), _restarts(d))):
            count = _restarts(decision)
            is_free = decision.topology in holds or decision.choice.action is not Action.MOVE
            if is_free or count == 0 or (name_of([decision]), count) in known:
                continue
            if _exceeds(in_round + count, self._policy.restarts_per_round) and in_round:
                holds[decision.topology] = Withheld(Hold.ROUND, decision, ROUND_SECONDS)
            elif _exceeds(spent + count, self._policy.restarts_per_hour) and spent:
                oldest = self._restarts[0][0] if self._restarts else asked.now
                left = oldest + HOUR_SECONDS - asked.now
                holds[decision.topology] = Withheld(Hold.HOUR, decision, left)
            else:
                in_round, spent = in_round + count, spent + count

    def _priority(self, decision: Decision) -> int:
        return self._policy.rule_of(name_in(decision.topology)).priority

    def _note(self, done: Iterable[Decision], now: float) -> None:
        known = {name for _, name, _ in self._restarts}
        for decision in done:
            name = name_of([decision])
            if _restarts(decision) and name not in known:
                self._restarts.append((now, name, _restarts(decision)))

    def _forget(self, now: float) -> None:
        while self._restarts and self._restarts[0][0] <= now - HOUR_SECONDS:
            self._restarts.popleft()

    def _told(
        self,
        decisions: Decisions,
        holds: Mapping[str, Withheld],
        running: Mapping[str, RunningTopology],
    ) -> Decisions:
        every = [
            _as_it_runs(d, holds[d.topology], running[d.topology]) if d.topology in holds else d
            for d in (*decisions.decided, *decisions.declined)
        ]
        if self._policy.mode is Mode.ADVISE:
            every = [_left_alone(decision) for decision in every]
        every.sort(key=lambda decision: decision.topology)
        return Decisions(
            tuple(d for d in every if d.choice.workers is not None),
            tuple(d for d in every if d.choice.workers is None),
        )


class _Asked:
    """One decision after the other, held against policy and orders."""

    def __init__(
        self,
        policy: Policy,
        orders: Orders,
        pace: Pace,
        now: float,
        is_approved: bool,
        price: Callable[[str], float],
        moving: Collection[str] = (),
    ) -> None:
        self._policy, self._orders, self._pace = policy, orders, pace
        self.now, self.is_approved = now, is_approved
        self._price = price
        #: Those that move in stages: nothing else moves meanwhile.
        self._moving = moving

    def hold(self, decision: Decision) -> Withheld | None:
        """Return what a change waits for, None if it may be made now."""
        action = decision.choice.action
        if action is Action.RETURN:
            return None
        if self._orders.is_paused:
            return Withheld(Hold.PAUSED, decision)
        if self.is_approved:
            return None
        if self._policy.mode is not Mode.AUTOMATIC:
            advises = self._policy.mode is Mode.ADVISE
            return Withheld(Hold.ADVICE if advises else Hold.APPROVAL, decision)
        return self._move(decision) if action is Action.MOVE else None

    def _move(self, decision: Decision) -> Withheld | None:
        policy = self._policy
        if self._moving:
            return Withheld(Hold.ROUND, decision, ROUND_SECONDS)
        if policy.rule_of(name_in(decision.topology)).pin:
            return Withheld(Hold.PINNED, decision)
        if isinstance(_cause(decision), BreaksLimit):
            return None
        if policy.rule is Rule.NEVER:
            return Withheld(Hold.NEVER, decision)
        if policy.is_quiet(datetime.fromtimestamp(self.now)):
            return Withheld(Hold.QUIET, decision, QUIET_SECONDS)
        since = self._pace.since_change((decision.topology,))
        cool_down_s = policy.cool_down_s
        if _is_overloaded(decision):
            cool_down_s = min(cool_down_s, OVERLOADED_COOL_DOWN_SECONDS)
        if since is not None and since < cool_down_s:
            return Withheld(Hold.COOL_DOWN, decision, cool_down_s - since)
        pay = self._pay(decision)
        if pay is None or pay.pays:
            return None
        return Withheld(Hold.DEAR, decision, pay=pay)

    def _pay(self, decision: Decision) -> Pay | None:
        gain = gain_of(decision)
        if gain is None or decision.after is None or self._policy.rule is Rule.OWN:
            return None
        workers = max(len(decision.former), len(decision.workers), 1)
        price = self._price(decision.topology)
        return Pay(gain * self._policy.horizon_s, price * _restarts(decision) / workers)


def gain_of(decision: Decision) -> float | None:
    """Return which share of its work a topology gains by a move, None where that is not weighed.

    More head-room counts as that much more work. Less traffic counts as the share that is saved, as
    far as the fullest resource is in use: traffic that nothing suffers from costs little.
    """
    cause = _cause(decision)
    if isinstance(cause, MoreHeadroom):
        return min(cause.then.headroom / max(cause.now.headroom, 1e-9) - 1, 1.0)
    if isinstance(cause, LessTraffic) and cause.now.travels > 0:
        saved = (cause.now.travels - cause.then.travels) / cause.now.travels
        return saved * _use(cause.now.headroom)
    return None


def _use(headroom: float) -> float:
    """Return what weighs traffic: the use of the fullest resource, 1 where none is known."""
    return 1.0 if math.isinf(headroom) else min(max(1 / max(headroom, 1e-9), LEAST_USE), 1.0)


def _is_overloaded(decision: Decision) -> bool:
    """Return whether a topology nearly fills a resource, and would not where it shall go."""
    cause = _cause(decision)
    return isinstance(cause, MoreHeadroom) and cause.now.headroom < OVERLOADED


def name_of(changes: Iterable[Decision]) -> str:
    """Return a name of what would be done: the same as long as that is the same; empty for none."""
    rows = [
        [d.topology, [[w.slot.node, w.slot.port, list(w.executors)] for w in d.workers]]
        for d in sorted(changes, key=lambda d: d.topology)
    ]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:8] if rows else ""


def name_in(topology_id: str) -> str:
    """Return a topology's name: its id without the two numbers that Storm appends."""
    return topology_id.rsplit("-", 2)[0]


def _cause(decision: Decision) -> object:
    reason = decision.choice.reason
    return reason.whole if isinstance(reason, Together) else reason


def _changes(decision: Decision, topology: RunningTopology) -> bool:
    return decision.workers != tuple(sorted(topology.assignment))


def _restarts(decision: Decision) -> int:
    return decision.after.metrics.workers_restarted if decision.after else 0


def _exceeds(count: int, most: int | None) -> bool:
    return most is not None and count > most


def _as_it_runs(decision: Decision, hold: Withheld, topology: RunningTopology) -> Decision:
    """Return the decision to leave a topology as it is, and to say why."""
    present = tuple(sorted(topology.assignment))
    is_whole = bool(present) and not topology.unassigned
    action = Action.KEEP if is_whole else Action.DECLINE
    choice = Choice(action, hold, Ground.KEPT, present if is_whole else None)
    value = decision.before if is_whole else None
    return replace(decision, choice=choice, before=value, after=value, former=())


def _left_alone(decision: Decision) -> Decision:
    """Return a decision that Storm decides, unless a person ordered what it says."""
    if decision.choice.workers is None or decision.choice.action is Action.RETURN:
        return decision
    choice = replace(decision.choice, action=Action.DECLINE, workers=None)
    return replace(decision, choice=choice, before=None, after=None, former=())
