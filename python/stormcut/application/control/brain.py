"""The brain: one plan per state and evidence, published before it is told."""

from __future__ import annotations

import logging
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from stormcut.application.control.apply.draining import IsDrained, at_once
from stormcut.application.control.apply.governor import Asked, Governed, Governor
from stormcut.application.control.decide.adviser import Recorder, Settings
from stormcut.application.control.decide.decide import decide
from stormcut.application.control.decide.decision import (
    Decision,
    Decisions,
    Guard,
    Withheld,
)
from stormcut.application.control.decide.memory import Memory
from stormcut.application.control.decide.pace import Pace
from stormcut.application.control.decide.question import Question
from stormcut.application.control.decide.wording import sentence
from stormcut.application.control.gate.account import Account
from stormcut.application.control.gate.change import Change, Initiator
from stormcut.application.control.gate.ledger import Ledger, Restarts
from stormcut.application.control.history import (
    history_entry,
    outlook_lines,
    plan_parts,
    review_line,
)
from stormcut.application.control.observe.hearing import Heard
from stormcut.application.control.orders import Orders, Undo
from stormcut.application.control.policy import Mode, Policy
from stormcut.application.control.ports import (
    Clock,
    Decided,
    DecisionListener,
    EvidenceSource,
    NewId,
    PlanStore,
    Record,
)
from stormcut.application.control.review.reviews import restart_seconds
from stormcut.application.control.review.trail import Step
from stormcut.application.control.review.trial import Outcome
from stormcut.model.cluster import ClusterState, Described, Worker
from stormcut.model.errors import InvalidInput
from stormcut.model.plan import Plan
from stormcut.model.profile import Profile

log = logging.getLogger(__name__)

T = TypeVar("T")

PREVIEW_VERSION = OUTLOOK_VERSION = 1

#: Nimbus describes the cluster every 10 s (``nimbus.monitor.freq.secs``).
SETTLE_SECONDS = 15.0

#: For so long a plan that Nimbus has not made so is offered again: what runs instead has just begun
#: and is cheap to restart.
LATE_SECONDS = 60.0

#: After so long a topology that Nimbus does not describe any more is gone, if it describes others:
#: it was heard within the other.
GONE_SECONDS = 600.0
SILENT_SECONDS = 60.0

#: So often a decision is made anew as people order otherwise meanwhile.
MOST_REVISIONS = 3

#: Of what became of moves, in an outlook.
SHOWN_REVIEWS = 5

#: Workers that topologies keep, by id.
Staying = Mapping[str, tuple[Worker, ...]]

#: Of a brain that does what it decides, at once.
UNBOUND = Policy(Mode.AUTOMATIC, horizon_s=math.inf, cool_down_s=0.0, restarts_per_hour=None)


@dataclass(frozen=True)
class Part:
    """How somebody is that works beside the brain: whether that is well, and in words."""

    is_well: bool
    words: str


@dataclass(frozen=True)
class Control:
    """Who may act now, and what waits for what.

    ``left_on_drained`` are executors that still run on each drained node, by host; ``waiting``
    changes that are withheld, by guard; ``outcomes`` what became of the last moves.
    """

    mode: Mode
    is_paused: bool
    left_on_drained: Mapping[str, int]
    silent: frozenset[str]
    waiting: Mapping[Guard, int]
    outcomes: Mapping[Outcome, int]


@dataclass(frozen=True)
class _Known:
    """What a plan rests on, beside the state."""

    profiles: Mapping[str, Profile]
    undos: Mapping[str, Undo]
    orders: Orders


@dataclass(frozen=True)
class _Answer:
    """A plan with the state it answers; kept so that asking again costs nothing.

    From the moment ``until`` on, time alone may change it.
    """

    state: ClusterState
    plan: Plan
    until: float


class Brain:
    """Answers states with plans, one at a time.

    The same question gets the same plan, and so does a cluster that has done as the plan says:
    a plan is new only if it places something elsewhere, is for other executors or nodes, or rests
    on other measurements.

    Parameters
    ----------
    settings : Settings
        How to decide.
    store : PlanStore
        Gets every new plan before anybody is told of it.
    source : EvidenceSource
        Gives the measurements and orders.
    clock : Clock
        Tells the time.
    new_id : callable
        Names a plan.
    recorder : Recorder, optional
        Keeps every answer of the algorithm that a plan rests on.
    policy : Policy, optional
        What it may do of what it decides; without one, all.
    listener : DecisionListener, optional
        Is told of every decision.
    is_drained : callable, optional
        Has a topology drained before it moves, where its rule asks for that.
    """

    def __init__(
        self,
        settings: Settings,
        store: PlanStore,
        source: EvidenceSource,
        clock: Clock,
        new_id: NewId,
        recorder: Recorder | None = None,
        policy: Policy | None = None,
        listener: DecisionListener | None = None,
        is_drained: IsDrained = at_once,
    ) -> None:
        self._clock = clock
        self._new_id = new_id
        self._recorder = recorder
        self._listener = listener
        self._settings = settings
        self._store = store
        self._source = source
        self._memory = Memory()
        self._pace = Pace()
        self._deciding = threading.Lock()
        self._answer: _Answer | None = None
        self._policy = UNBOUND if policy is None else policy
        self._governor = Governor(
            self._policy,
            lambda topology: restart_seconds(source.reviews(), topology),
            is_drained,
        )
        self._governed: Governed | None = None
        self._told: _Known | None = None
        self._last: Plan | None = None
        #: When that was, by the clock that never runs back.
        self._published_s = -math.inf
        self._described: Described | None = None
        self._described_s = -math.inf
        self._moves = False
        self._missing: dict[str, float] = {}
        #: Which guard held a topology's change in the last decision.
        self._held: dict[str, Guard] = {}
        self._asked = threading.Condition()
        #: Whose workers are heard of; nobody's, where nobody listens.
        self.heard: Callable[[], Heard] = dict
        #: How topologies fare, by id.
        self.accounts: Callable[[], Mapping[str, Account]] = dict
        #: How those are that work beside it, for an outlook; by name.
        self.parts: dict[str, Callable[[], Part]] = {}

    @property
    def governed(self) -> Governed | None:
        """What was decided last, None before Nimbus has asked."""
        return self._governed

    @property
    def last_plan(self) -> Plan | None:
        """The plan published or taken over last."""
        return self._last

    @property
    def last_described(self) -> Described | None:
        """The state that Nimbus described last, None before it has asked; see `described`."""
        return self._described

    def take_over(self) -> None:
        """Go on from the published plan: another brain may have led meanwhile.

        Where none is published, somebody has deleted it: this brain's own last plan stands.
        """
        with self._deciding:
            self._answer = None
            # What comes from now on is news, also if Nimbus has not asked before.
            self._told = self._known()
            self._last = self._store.last_plan() or self._last
            self._published_s = self._clock.elapsed() - _age_s(self._last, self._clock.now())
            self._pace = Pace()
            self._governor.ledger = Ledger(_aged(self._store.restarts(), self._clock))
        with self._asked:
            # Of the time when this brain led before.
            self._described, self._moves = None, False
        if self._last is not None:
            plan = self._last.id
            log.info("this brain goes on from plan %s", plan, extra={"plan": plan})
        if self._listener is not None:
            self._listener.took_over()

    def plan(self, state: ClusterState) -> Plan:
        """Return the plan for a state.

        Raises
        ------
        Unavailable
            A new plan could not be published.
        """
        with self._deciding:
            moment = _milliseconds(self._clock.now())
            known = self._known()
            if not self._still_answers(state, known):
                self._answer, known = self._decided(state, known)
                # Not before: a plan that could not be published has told nobody of what is known.
                self._told = known
            assert self._answer is not None
            plan = self._answer.plan
        with self._asked:
            self._described, self._described_s = Described(state, moment), self._clock.elapsed()
            self._moves = _moves(plan, state)
            self._asked.notify_all()
        return plan

    def _known(self) -> _Known:
        source = self._source
        return _Known(dict(source.profiles()), dict(source.undos()), source.orders())

    def finish_deciding(self) -> None:
        """Wait until what is decided now is decided: whatever follows obeys newer orders."""
        with self._deciding:
            pass

    def _still_answers(self, state: ClusterState, known: _Known) -> bool:
        last = self._answer
        asked_before = last is not None and (last.state, self._told) == (state, known)
        return asked_before and last is not None and self._clock.elapsed() < last.until

    def described(self) -> Described:
        """Return the state that Nimbus described last.

        Where it was told to move something since, waits for what it describes next: that is what
        became of the plan.

        Raises
        ------
        InvalidInput
            It has described none since this brain began.
        """
        with self._asked:
            last = self._described
            if last is not None and self._moves:
                self._clock.wait(self._asked, lambda: self._described is not last, SETTLE_SECONDS)
            if self._described is None:
                raise InvalidInput(
                    "Nimbus has not asked this brain yet; it asks every 10 s as soon as a topology "
                    "runs, if it has the plugin (its log says why not)"
                )
            return self._described

    def gone(self, known: Iterable[str]) -> set[str]:
        """Return which of these topologies Nimbus has not described for `GONE_SECONDS`.

        Nothing is gone while Nimbus describes nothing: it may be starting.
        """
        described, now = self._described, self._clock.elapsed()
        if described is None or now - self._described_s > SILENT_SECONDS:
            self._missing = {}
            return set()
        living = {topology.id for topology in described.state.topologies}
        began = self._missing
        self._missing = {name: began.get(name, now) for name in known if name not in living}
        return {name for name, since in self._missing.items() if now - since >= GONE_SECONDS}

    def preview(
        self,
        topology: str,
        profile: Profile | None,
        former: tuple[Worker, ...] | None,
        override: str | None = None,
    ) -> dict[str, Any]:
        """Return as JSON values what would be planned if this were known of a topology.

        The same computation as for a plan, from the state that Nimbus described last; nothing is
        published, and Nimbus is answered meanwhile.

        Raises
        ------
        InvalidInput
            Nimbus has not described any state.
        """
        described, last, now = self.described(), self._last, self._clock.elapsed()
        pace = self._pace.copy()
        pace.observe(described.state, last, now, self._least_age_s())
        governor, memory, known = self._governor.copy(), self._memory.copy(), self._known()
        undo = None if former is None else Undo(former, override=override)
        known = _Known(
            _with(known.profiles, topology, profile),
            _with(known.undos, topology, undo),
            known.orders,
        )
        question = self._question(described.state, known, governor, pace)

        def decided(staying: Staying) -> Decisions:
            return decide(replace(question, staying=staying), memory)

        governed = governor.govern(decided, self._asked_of(described.state, known, pace))
        return {
            "version": PREVIEW_VERSION,
            "described_ms": described.moment_ms,
            "fingerprint": described.state.fingerprint(),
            **outlook_lines(governed),
        }

    def outlook(self, settled: bool = True) -> dict[str, Any]:
        """Return as JSON values what was decided last: what is done, and what waits for what.

        Parameters
        ----------
        settled : bool
            Wait for what became of a plan, as `described` does.

        Raises
        ------
        InvalidInput
            Nimbus has not described any state.
        """
        described = self.described() if settled else self._described
        governed, orders = self._governed, self._source.orders()
        if described is None or governed is None:
            raise InvalidInput("Nimbus has not asked this brain yet")
        return {
            "version": OUTLOOK_VERSION,
            "described_ms": described.moment_ms,
            "mode": self._policy.mode.value,
            "paused": orders.is_paused,
            "drained": sorted(orders.drained),
            "left_on_drained": self._governor.left_on_drained(described.state, orders),
            "nodes": {s.id: s.host for s in described.state.supervisors},
            "silent": sorted(self._governor.silence.nodes),
            "on_probation": list(self._governor.probation.present(self._clock.elapsed())),
            "plan": self._last.id if self._last else None,
            "parts": {name: asdict(part()) for name, part in self.parts.items()},
            "reviews": [review_line(each) for each in self._source.reviews()[-SHOWN_REVIEWS:]],
            **outlook_lines(governed),
        }

    def control(self) -> Control:
        """Return who may act now, and what waits for what."""
        orders, described, governed = self._source.orders(), self._described, self._governed
        left = {} if described is None else self._governor.left_on_drained(described.state, orders)
        told = () if governed is None else (*governed.told.decided, *governed.told.declined)
        reasons = (decision.choice.reason for decision in told)
        return Control(
            self._policy.mode,
            orders.is_paused,
            left,
            self._governor.silence.nodes,
            Counter(each.guard for each in reasons if isinstance(each, Withheld)),
            Counter(review.outcome for review in self._source.reviews()),
        )

    def _tell_of_guards(self, told: Decisions, is_told: bool) -> None:
        """Log which guard holds a change, once, unless a plan has just told it."""
        held = {
            decision.topology: decision.choice.reason.guard
            for decision in (*told.decided, *told.declined)
            if isinstance(decision.choice.reason, Withheld)
        }
        for decision in (*told.decided, *told.declined):
            name = decision.topology
            if not is_told and name in held and held[name] is not self._held.get(name):
                log.info("%s %s", name, sentence(decision))
        for name in self._held.keys() - held.keys():
            log.info("%s: nothing is withheld any more", name)
        self._held = held

    def _record(self, plan: Plan, state: ClusterState, known: _Known) -> Record:
        """Return what is kept with a plan."""
        assert self._governed is not None
        decisions = {d.topology: d for d in self._governed.told.decided}
        steps = {
            change.topology: _step(plan, change, decisions[change.topology], state)
            for change in self._governed.changes
            if change.initiator is not Initiator.PLACEMENT
        }
        ahead_s = self._clock.now() - self._clock.elapsed()
        restarts = tuple(
            replace(each, at_s=each.at_s + ahead_s) for each in self._governor.ledger.spent
        )
        is_told = self._last is None or not plan.places_alike(self._last)
        entry = history_entry(plan, self._governed, known.profiles) if is_told else None
        return Record(entry, steps, restarts)

    def _plan_age_s(self) -> float:
        return self._clock.elapsed() - self._published_s

    def _least_age_s(self) -> float:
        """Return how old the last plan is at least: who has moved stays, where that is unknown."""
        age_s = self._plan_age_s()
        return age_s if math.isfinite(age_s) else 0.0

    def _question(
        self, state: ClusterState, known: _Known, governor: Governor, pace: Pace
    ) -> Question:
        return Question(
            governor.state(state, known.orders, self._clock.elapsed()),
            known.profiles,
            self._last,
            self._settings,
            known.undos,
            is_recent=self._plan_age_s() < LATE_SECONDS,
            pace=pace,
            rule_of=self._policy.rule_of,
        )

    def _asked_of(self, state: ClusterState, known: _Known, pace: Pace) -> Asked:
        local = datetime.fromtimestamp(self._clock.now())
        now = self._clock.elapsed()
        accounts = self.accounts()
        return Asked(state, known.orders, pace, now, local, known.undos, self._last, accounts)

    def _governed_by(self, state: ClusterState, known: _Known) -> Governed:
        self._governor.silence.observe(state, self.heard(), self._clock.elapsed())
        question = self._question(state, known, self._governor, self._pace)
        question = replace(question, recorder=self._recorder)

        def decided(staying: Staying) -> Decisions:
            return decide(replace(question, staying=staying), self._memory)

        return self._governor.govern(decided, self._asked_of(state, known, self._pace))

    def _decided(self, state: ClusterState, known: _Known) -> tuple[_Answer, _Known]:
        """Return an answer, and what it rests on: orders that came meanwhile are obeyed."""
        began = self._clock.elapsed()
        self._pace.observe(state, self._last, began, self._least_age_s())
        self._governed = self._governed_by(state, known)
        for _ in range(MOST_REVISIONS):
            if (orders := self._source.orders()) == known.orders:
                break
            known = replace(known, orders=orders)
            self._governed = self._governed_by(state, known)
        decisions = self._governed.told
        took = self._clock.elapsed() - began
        plan = _plan(self._new_id(), state, decisions, self._clock.now())
        # One that changes nothing is not published: it would push what did out of the history.
        is_new = self._last is None or not plan.places_like(self._last)
        if is_new:
            self._store.publish(plan, self._record(plan, state, known))
            self._last, self._published_s = plan, self._clock.elapsed()
            _report(plan, self._clock.elapsed() - began)
        self._tell_of_guards(decisions, is_new)
        assert self._last is not None
        if self._listener is not None:
            self._listener.decided(Decided(state, decisions, self._last, is_new, took))
        again_in = min(decisions.again_in, self._governor.probation.ends_in(began))
        return _Answer(state, self._last, began + again_in), known


def _step(plan: Plan, change: Change, decision: Decision, state: ClusterState) -> Step:
    """Return a change as a step of its topology's trail."""
    hosts = {s.id: s.host for s in state.supervisors}
    used = {worker.slot.node for worker in change.target}
    predicted = decision.after.metrics.inter_node_tuples_per_second if decision.after else None
    return Step(
        plan.id,
        plan.created_ms / 1000,
        change.origin or change.initiator,
        change.home,
        change.target,
        predicted if change.evidence.measured else None,
        {node: hosts[node] for node in sorted(used) if node in hosts},
        change.continues,
    )


def _plan(name: str, state: ClusterState, decisions: Decisions, now: float) -> Plan:
    return Plan(
        name,
        state.fingerprint(),
        _milliseconds(now),
        *plan_parts(decisions),
    )


def _moves(plan: Plan, state: ClusterState) -> bool:
    """Return whether a plan has something run elsewhere than it does."""
    present = {topology.id: tuple(sorted(topology.assignment)) for topology in state.topologies}
    return any(part.workers != present[part.topology] for part in plan.topologies)


def _aged(restarts: Iterable[Restarts], clock: Clock) -> list[Restarts]:
    """Return restarts by the clock that never runs back; what is of the future is of now."""
    now, elapsed = clock.now(), clock.elapsed()
    return [replace(each, at_s=elapsed - max(now - each.at_s, 0.0)) for each in restarts]


def _age_s(plan: Plan | None, now: float) -> float:
    """Return how old another brain's plan is; one of the future is of unknown age: not recent."""
    if plan is None or plan.created_ms > _milliseconds(now):
        return math.inf
    return now - plan.created_ms / 1000


def _milliseconds(moment: float) -> int:
    return int(moment * 1000)


def _with(known: Mapping[str, T], topology: str, value: T | None) -> dict[str, T]:
    others = {name: each for name, each in known.items() if name != topology}
    return others if value is None else {**others, topology: value}


def _report(plan: Plan, seconds: float) -> None:
    reasons = [f"{part.topology} {part.reason}" for part in plan.topologies]
    reasons += [f"{d.topology} declined: {d.reason}" for d in plan.declined]
    told = "; ".join(reasons) or "no topologies"
    log.info("plan %s in %.2f s: %s", plan.id, seconds, told, extra={"plan": plan.id})
