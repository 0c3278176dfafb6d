"""The brain: one plan per state and evidence, published before it is told."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from stormcut.control.apply.draining import IsDrained, at_once
from stormcut.control.apply.governor import Asked, Governed, Governor
from stormcut.control.decide.adviser import Recorder, Settings
from stormcut.control.decide.decide import decide
from stormcut.control.decide.decision import (
    Decisions,
)
from stormcut.control.decide.memory import Memory
from stormcut.control.decide.pace import Pace
from stormcut.control.decide.question import Question
from stormcut.control.gate.account import Account
from stormcut.control.gate.ledger import Ledger, Restarts
from stormcut.control.history import history_entry, plan_parts, steps
from stormcut.control.observe.descriptions import Descriptions
from stormcut.control.observe.hearing import Heard
from stormcut.control.orders import Orders, Undo
from stormcut.control.outlook import (
    Control,
    GuardLog,
    Part,
    Snapshot,
    control,
    outlook_document,
    preview_document,
)
from stormcut.control.policy import Mode, Policy
from stormcut.control.ports import (
    Clock,
    Decided,
    DecisionListener,
    EvidenceSource,
    NewId,
    PlanStore,
    Record,
)
from stormcut.control.review.reviews import restart_seconds
from stormcut.model.cluster import ClusterState, Described, RunningTopology, Worker
from stormcut.model.plan import Plan
from stormcut.model.profile import Profile

log = logging.getLogger(__name__)

T = TypeVar("T")

#: For so long a plan that Nimbus has not made so is offered again: what runs instead has just begun
#: and is cheap to restart.
LATE_SECONDS = 60.0

#: So often a decision is made anew as people order otherwise meanwhile.
MOST_REVISIONS = 3

#: Workers that topologies keep, by id.
Staying = Mapping[str, tuple[Worker, ...]]

#: Of a brain that does what it decides, at once.
UNBOUND = Policy(Mode.AUTOMATIC, horizon_s=math.inf, cool_down_s=0.0, restarts_per_hour=None)


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
        #: As it was before the last state was decided: what would be is asked of that state.
        self._before = self._governor.copy()
        self._governed: Governed | None = None
        self._told: _Known | None = None
        self._last: Plan | None = None
        #: When that was, by the clock that never runs back.
        self._published_s = -math.inf
        self._descriptions = Descriptions(clock)
        self._guard_log = GuardLog()
        #: Whose workers are heard of; nobody's, where nobody listens.
        self.heard: Callable[[], Heard] = dict
        #: How topologies fare, by id.
        self.accounts: Callable[[], Mapping[str, Account]] = dict
        #: Why a topology that runs is not measured, in words; empty if nobody measures.
        self.unmeasured: Callable[[RunningTopology], str] = lambda topology: ""
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
        return self._descriptions.last

    def described(self) -> Described:
        """Return the state that Nimbus described last, or what becomes of a plan just made.

        Raises
        ------
        InvalidInput
            It has described none since this brain began.
        """
        return self._descriptions.settled()

    def gone(self, known: Iterable[str]) -> set[str]:
        """Return which of these topologies Nimbus does not describe any more."""
        return self._descriptions.gone(known)

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
            self._governor.ledger = self._restarts_so_far()
        self._descriptions.forget()
        if self._last is not None:
            plan = self._last.id
            log.info("this brain goes on from plan %s", plan, extra={"plan": plan})
        if self._listener is not None:
            self._listener.took_over()

    def _restarts_so_far(self) -> Ledger:
        """Return what restarted within the last hour; all that may, where that is not known."""
        found, now = self._store.restarts(), self._clock.elapsed()
        if found is None:
            most = self._policy.restarts_per_hour
            return Ledger([Restarts(now, "", most)] if most else ())
        known = [replace(each, at_s=now + min(each.at_s, 0.0)) for each in found]
        # Where nothing is stored its data are gone, or nothing ever restarted.
        return Ledger(known or self._governor.ledger.spent)

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
            if not (self._still_answers(state, known) and self._still_passes(state, known)):
                self._answer, known = self._decided(state, known)
                # Not before: a plan that could not be published has told nobody of what is known.
                self._told = known
            assert self._answer is not None
            plan = self._answer.plan
        self._descriptions.note(Described(state, moment), _moves(plan, state))
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

    def _still_passes(self, state: ClusterState, known: _Known) -> bool:
        """Return whether guards let through now, too, what they did when it was decided."""
        changes = self._governed.changes if self._governed else ()
        if not changes:
            return True
        self._governor.silence.observe(state, self.heard(), self._clock.elapsed())
        return self._governor.reaffirms(changes, self._asked_of(state, known, self._pace))

    def preview(
        self,
        topology: str,
        profile: Profile | None,
        undo: Undo | None,
    ) -> dict[str, Any]:
        """Return as JSON values what would be planned if this were known of a topology.

        The same computation as for a plan, from the state that Nimbus described last; nothing is
        published, and Nimbus is answered meanwhile.

        Raises
        ------
        InvalidInput
            Nimbus has not described any state.
        """
        described, known = self.described(), self._known()
        known = _Known(
            _with(known.profiles, topology, profile),
            _with(known.undos, topology, _overriding(undo, known.orders)),
            known.orders,
        )
        return preview_document(described, self._foreseen(described.state, known))

    def _foreseen(self, state: ClusterState, known: _Known) -> Governed:
        """Return what a round would decide now; nothing remembers it."""
        governor, memory, pace = self._before.copy(), self._memory.copy(), self._pace.copy()
        now = self._clock.elapsed()
        pace.observe(state, self._last, now, self._least_age_s())
        governor.silence.observe(state, self.heard(), now)
        question = self._question(state, known, governor, pace)

        def decided(staying: Staying) -> Decisions:
            return decide(replace(question, staying=staying), memory)

        asked = replace(self._asked_of(state, known, pace), is_shown=True)
        return governor.govern(decided, asked)

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
        described = self.described() if settled else self.last_described
        parts = {name: part() for name, part in self.parts.items()}
        snapshot = self._shown(self._snapshot(described))
        return {**outlook_document(snapshot, parts), "unmeasured": self._unmeasured(described)}

    def _shown(self, at: Snapshot) -> Snapshot:
        """Return a snapshot with what could be approved, and as people have ordered since."""
        told, governed = self._told, at.governed
        if at.described is None or told is None or governed is None:
            return at
        is_news = (at.orders, at.undos) != (told.orders, told.undos)
        if not is_news and (not governed.withheld or governed.names):
            return at
        # What was approved since is shown as it waits for the next round.
        orders = replace(at.orders, approved=frozenset(), overrides={}) if is_news else at.orders
        found = self._foreseen(at.described.state, _Known(told.profiles, at.undos, orders))
        if not is_news:
            # Whose spouts rest first is not asked again: that would have them rest.
            held = {each.proposed.topology: each for each in governed.withheld}
            held |= {each.proposed.topology: each for each in found.withheld}
            found = replace(
                governed,
                withheld=tuple(held.values()),
                offered=found.offered,
                forced=found.forced,
            )
        return replace(at, governed=found)

    def _unmeasured(self, described: Described | None) -> dict[str, str]:
        """Return why topologies that run are not measured, by id, of those that are not."""
        measured = self._source.profiles()
        running = () if described is None else described.state.topologies
        whys = {t.id: self.unmeasured(t) for t in running if t.id not in measured}
        return {name: why for name, why in whys.items() if why}

    def control(self) -> Control:
        """Return who may act now, and what waits for what."""
        return control(self._snapshot(self.last_described))

    def _snapshot(self, described: Described | None) -> Snapshot:
        return Snapshot(
            described,
            self._governed,
            self._governor,
            self._source.orders(),
            self._source.undos(),
            self._policy.mode,
            self._source.reviews(),
            self._last.id if self._last else None,
            self._clock.elapsed(),
        )

    def _record(self, plan: Plan, state: ClusterState, known: _Known) -> Record:
        """Return what is kept with a plan."""
        assert self._governed is not None
        now = self._clock.elapsed()
        restarts = tuple(
            replace(each, at_s=each.at_s - now) for each in self._governor.ledger.spent
        )
        is_told = self._last is None or not plan.places_alike(self._last)
        entry = history_entry(plan, self._governed, known.profiles, state) if is_told else None
        return Record(entry, steps(plan, self._governed, state), restarts)

    def _plan_age_s(self) -> float:
        return self._clock.elapsed() - self._published_s

    def _least_age_s(self) -> float:
        """Return how old the last plan is at least: who has moved stays, where that is unknown."""
        age_s = self._plan_age_s()
        return age_s if math.isfinite(age_s) else 0.0

    def _question(
        self, state: ClusterState, known: _Known, governor: Governor, pace: Pace
    ) -> Question:
        limited = governor.state(state, known.orders, self._clock.elapsed())
        return Question(
            limited,
            known.profiles,
            self._last,
            self._settings,
            known.undos,
            lost=governor.losses.nodes(),
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
        self._before = self._governor.copy()
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
        self._guard_log.note(decisions, is_new)
        assert self._last is not None
        if self._listener is not None:
            self._listener.decided(Decided(state, decisions, self._last, is_new, took))
        governor = self._governor
        ends_in = governor.probation.ends_in(began), governor.losses.ends_in(began)
        again_in = min(self._governed.again_in, *ends_in)
        return _Answer(state, self._last, began + again_in), known


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


def _overriding(undo: Undo | None, orders: Orders) -> Undo | None:
    """Return an order back that is given now: it passes the pause that it finds."""
    if undo is None or undo.override is None:
        return undo
    return replace(undo, override=replace(undo.override, pauses=orders.pauses))


def _report(plan: Plan, seconds: float) -> None:
    reasons = [f"{part.topology} {part.reason}" for part in plan.topologies]
    reasons += [f"{d.topology} declined: {d.reason}" for d in plan.declined]
    told = "; ".join(reasons) or "no topologies"
    log.info("plan %s in %.2f s: %s", plan.id, seconds, told, extra={"plan": plan.id})
