"""The gate: holds each change against every guard, and answers *go*, *wait* or *never*."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from stormcut.control.decide.allowed import Allowed
from stormcut.control.decide.decision import (
    Guard,
    LessTraffic,
    MoreHeadroom,
    Pay,
    Reason,
    Together,
)
from stormcut.control.decide.pace import Pace
from stormcut.control.gate.account import Account
from stormcut.control.gate.change import Change, Initiator
from stormcut.control.gate.guards import GO, TABLE, GuardAnswer, answer
from stormcut.control.gate.ledger import Ledger
from stormcut.control.gate.parts import parts
from stormcut.control.orders import Orders
from stormcut.control.policy import Mode, Policy, Rule
from stormcut.model.cluster import name_in

#: A topology stays so long where it has moved, whoever wants otherwise but a person.
DWELL_SECONDS = 60.0
#: With less head-room a topology is overloaded: it waits for the dwell alone, not the cool-down.
OVERLOADED = 1.25
#: How often it is looked whether quiet hours are over.
QUIET_SECONDS = 60.0
#: Until then Nimbus has asked again, and sees what became of the last round.
ROUND_SECONDS = 15.0
#: What the restart of a topology's workers costs where it was not measured: seconds of its work.
RESTART_SECONDS = 20.0
#: How often it is looked whether spouts have come to rest.
REST_LOOK_SECONDS = 5.0


@dataclass(frozen=True)
class Verdict:
    """Why a change does not go now; after ``left_s`` seconds it may, infinite: not by time."""

    answer: GuardAnswer
    guard: Guard
    left_s: float = math.inf
    pay: Pay | None = None


@dataclass(frozen=True)
class GuardContext:
    """What guards depend on, beside the policy.

    Parameters
    ----------
    now : float
        Seconds of a clock that never runs back.
    local : datetime
        The local time, for quiet hours.
    is_staging : bool
        Another move is made in stages now.
    barred : collection of str
        Ids of the nodes that shall run nothing, or nothing new.
    lost : mapping of str to collection of str
        By topology id: the nodes that have just lost its workers.
    silent : collection of str
        Ids of the topologies of which workers that run, as Nimbus says, are not heard of any more.
    accounts : mapping of str to Account
        How topologies fare, by id.
    prices : mapping of str to float
        By topology id: seconds of its work that a restart of all its workers costs.
    rested : collection of str
        Ids of the topologies that may move as far as their spouts are concerned, of those whose
        rule has them rest before.
    """

    now: float
    local: datetime
    orders: Orders
    pace: Pace
    ledger: Ledger
    allowed: Allowed
    prices: Mapping[str, float] = field(default_factory=dict)
    rested: Collection[str] = ()
    is_staging: bool = False
    barred: Collection[str] = ()
    lost: Mapping[str, Collection[str]] = field(default_factory=dict)
    silent: Collection[str] = ()
    accounts: Mapping[str, Account] = field(default_factory=dict)


class Gate:
    """Judges changes by a policy and what people have ordered."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def judge(self, changes: Sequence[Change], moment: GuardContext) -> dict[str, Verdict]:
        """Return which changes do not go now, by topology, and why.

        What was told before goes first, then persons' orders, higher priorities, fewer restarts.

        Takes O(changes x (log changes + workers)).
        """
        held: dict[str, Verdict] = {}
        budget = _RestartBudget(self._policy, moment)
        for change in sorted(changes, key=lambda change: self._rank(change, moment)):
            verdict = self._first(change, self._standing(change, moment), moment)
            verdict = verdict or self._first(change, budget.standing(change), moment)
            if verdict is None:
                budget.take(change)
            else:
                held[change.topology] = verdict
        return held

    def _rank(self, change: Change, moment: GuardContext) -> tuple[bool, bool, int, int, str]:
        rule = self._policy.rule_of(name_in(change.topology))
        is_person = change.initiator in (Initiator.UNDO, Initiator.APPROVE)
        is_new = moment.ledger.count(change) > 0
        return is_new, not is_person, -rule.priority, change.restart_count, change.topology

    def guards(self, changes: Sequence[Change], moment: GuardContext) -> dict[str, tuple[str, ...]]:
        """Return the keys of all guards that hold changes made together, overridden or not.

        By topology. Those that together exceed a budget are held by it, though none does alone.
        """
        guards: dict[str, tuple[str, ...]] = {}
        budget = _RestartBudget(self._policy, moment)
        for change in sorted(changes, key=lambda change: self._rank(change, moment)):
            standing = (*self._standing(change, moment), *budget.standing(change))
            keys = (v.guard.key for v in standing if TABLE[v.guard][change.initiator] is not GO)
            guards[change.topology] = tuple(keys)
            budget.take(change)
        return guards

    def _first(
        self, change: Change, standing: Iterator[Verdict], moment: GuardContext
    ) -> Verdict | None:
        """Return the first guard that this change does not pass."""
        for verdict in standing:
            said = answer(verdict.guard, change, moment.orders.pauses)
            if said is GuardAnswer.NEVER or (
                said is GuardAnswer.WAIT and verdict.answer is GuardAnswer.NEVER
            ):
                return Verdict(GuardAnswer.NEVER, verdict.guard)
            if said is GuardAnswer.WAIT:
                return verdict
        return None

    def _standing(self, change: Change, moment: GuardContext) -> Iterator[Verdict]:
        """Yield the guards that stand, restarts apart, in the order of `guards.TABLE`."""
        policy, orders, wait = self._policy, moment.orders, GuardAnswer.WAIT
        if policy.rule_of(name_in(change.topology)).pin:
            yield Verdict(wait, Guard.PINNED)
        if policy.rule is Rule.NEVER:
            yield Verdict(wait, Guard.NEVER)
        if _uses_barred(change, moment):
            yield Verdict(wait, Guard.DRAINED)
        if change.topology in moment.silent:
            yield Verdict(wait, Guard.SILENT, ROUND_SECONDS)
        if _is_contradicted(change, moment):
            yield Verdict(wait, Guard.CONTRADICTED, ROUND_SECONDS)
        if orders.is_paused:
            yield Verdict(wait, Guard.PAUSED)
        if policy.mode is Mode.ADVISE:
            yield Verdict(wait, Guard.ADVICE)
        if policy.mode is Mode.APPROVE and not change.is_approved:
            yield Verdict(wait, Guard.APPROVAL)
        if policy.is_quiet(moment.local):
            yield Verdict(wait, Guard.QUIET, QUIET_SECONDS)
        since = moment.pace.since_change((change.topology,))
        cool_down_s = policy.cool_down_s
        if _is_overloaded(change.reason):
            cool_down_s = min(cool_down_s, DWELL_SECONDS)
        if since is not None and since < cool_down_s:
            yield Verdict(wait, Guard.COOL_DOWN, cool_down_s - since)
        dwell_s = min(DWELL_SECONDS, policy.cool_down_s)
        if since is not None and since < dwell_s:
            yield Verdict(wait, Guard.DWELL, dwell_s - since)
        pay = self._pay(change, moment)
        if pay is not None and not pay.pays:
            yield Verdict(wait, Guard.DEAR, pay=pay)
        if moment.is_staging:
            yield Verdict(wait, Guard.STAGE, ROUND_SECONDS)

    def _pay(self, change: Change, moment: GuardContext) -> Pay | None:
        gain = gain_of(change.reason)
        if gain is None or self._policy.rule is Rule.OWN:
            return None
        workers = max(len(change.home), len(change.target), 1)
        share = change.restart_count / workers
        return Pay(
            gain * self._policy.horizon_s,
            moment.prices.get(change.topology, RESTART_SECONDS) * share,
        )

    def unrested(self, going: Sequence[Change], moment: GuardContext) -> dict[str, Verdict]:
        """Withhold all whose spouts are to rest, which belong together, until each has.

        To be asked of what all guards let through: from then on spouts rest.
        """
        waiting_changes = [each for each in going if _waits_for_rest(each)]
        if all(each.topology in moment.rested for each in self.resting(waiting_changes)):
            return {}
        waiting = Verdict(GuardAnswer.WAIT, Guard.REST, REST_LOOK_SECONDS)
        return {change.topology: waiting for change in waiting_changes}

    def resting(self, changes: Sequence[Change]) -> tuple[Change, ...]:
        """Return those of changes for which spouts rest before they are made."""
        return tuple(each for each in changes if _waits_for_rest(each) and self._rests(each))

    def _rests(self, change: Change) -> bool:
        return self._policy.rule_of(name_in(change.topology)).drain_s is not None


class _RestartBudget:
    """What may yet restart in this round and hour."""

    def __init__(self, policy: Policy, moment: GuardContext) -> None:
        self._policy, self._ledger, self._now = policy, moment.ledger, moment.now
        self._round = self._hour = 0
        self._nodes: Counter[str] = Counter()

    def standing(self, change: Change) -> Iterator[Verdict]:
        """Yield the budgets that a change exceeds: for good where one of its parts does alone."""
        policy, at_once = self._policy, self._at_once(change)
        if _exceeds(self._round + at_once, policy.restarts_per_round):
            never = _exceeds(at_once, policy.restarts_per_round)
            yield Verdict(_never_or_wait(never), Guard.ROUND, ROUND_SECONDS)
        for node, restarts in self._on_nodes(change).items():
            if _exceeds(self._nodes[node] + restarts, policy.restarts_per_node):
                never = _exceeds(restarts, policy.restarts_per_node)
                yield Verdict(_never_or_wait(never), Guard.NODE, ROUND_SECONDS)
                break
        # Told before and not made yet, it is counted already.
        most, count = policy.restarts_per_hour, min(self._ledger.count(change), at_once)
        if most is None or not count:
            return
        if count > most:
            yield Verdict(GuardAnswer.NEVER, Guard.HOUR)
        elif (left := self._ledger.frees_in(self._hour + count, most, self._now)) > 0:
            yield Verdict(GuardAnswer.WAIT, Guard.HOUR, left)

    def take(self, change: Change) -> None:
        """Count a change that goes."""
        at_once = self._at_once(change)
        self._round += at_once
        self._hour += min(self._ledger.count(change), at_once)
        self._nodes.update(self._on_nodes(change))

    def _at_once(self, change: Change) -> int:
        """Return in how many slots workers restart in one round: of a staged move in fewer."""
        count, policy = change.restart_count, self._policy
        most = min(policy.workers_at_once, policy.restarts_at_once)
        if change.initiator is Initiator.STAGE or count <= most:
            return count
        # A stage holds one part at least.
        largest = parts(change.topology, change.home, change.target)[-1].restarts
        return max(int(most), largest)

    def _on_nodes(self, change: Change) -> Mapping[str, int]:
        most = self._at_once(change)
        return {node: min(restarts, most) for node, restarts in change.restarts.items()}


def _never_or_wait(never: bool) -> GuardAnswer:
    return GuardAnswer.NEVER if never else GuardAnswer.WAIT


def _exceeds(count: int, most: int | None) -> bool:
    return most is not None and count > most


def _uses_barred(change: Change, moment: GuardContext) -> bool:
    """Return whether a change starts a worker on a node where its topology shall not run."""
    begun = [worker for worker in change.target if worker not in change.home]
    barred = {*moment.barred, *moment.lost.get(change.topology, ())}
    return any(w.slot.node in barred for w in begun) or not moment.allowed.has(
        change.topology, begun
    )


def _is_contradicted(change: Change, moment: GuardContext) -> bool:
    """Return whether what is measured is not what the model says of where a topology runs now."""
    cause, account = cause_of(change.reason), moment.accounts.get(change.topology)
    if account is None or not isinstance(cause, MoreHeadroom | LessTraffic):
        return False
    return account.contradicts(cause.now.headroom)


def gain_of(reason: Reason) -> float | None:
    """Return which share of its work a topology gains by a move, None where that is not weighed.

    More head-room counts as that much more work. Less traffic counts as the share of CPU or of a
    link that it frees: a saving that fills no resource is worth no restart.
    """
    cause = cause_of(reason)
    if isinstance(cause, MoreHeadroom):
        return min(cause.then.headroom / max(cause.now.headroom, 1e-9) - 1, 1.0)
    if isinstance(cause, LessTraffic):
        return max(cause.now.burden - cause.then.burden, 0.0)
    return None


def cause_of(reason: Reason) -> Reason:
    """Return why a topology moves, be it alone or with others."""
    return reason.whole if isinstance(reason, Together) else reason


def _is_overloaded(reason: Reason) -> bool:
    """Return whether a topology nearly fills a resource, and would not where it shall go."""
    cause = cause_of(reason)
    return isinstance(cause, MoreHeadroom) and cause.now.headroom < OVERLOADED


def _waits_for_rest(change: Change) -> bool:
    return TABLE[Guard.REST][change.initiator] is GuardAnswer.WAIT
