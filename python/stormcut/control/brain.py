"""The brain: one plan per state and evidence, published before it is told."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from stormcut.control.apply.context import Inputs
from stormcut.control.apply.draining import Draining
from stormcut.control.decide.adviser import Recorder, Settings
from stormcut.control.decide.decision import Decisions
from stormcut.control.decide.pace import Pace
from stormcut.control.gate.account import Account
from stormcut.control.gate.change import Change
from stormcut.control.gate.ledger import Ledger, Restarts
from stormcut.control.history import history_entry, plan_parts, steps
from stormcut.control.observe.descriptions import Descriptions
from stormcut.control.observe.hearing import Heard
from stormcut.control.orders import Orders, Undo
from stormcut.control.outlook import (
    Control,
    GuardLog,
    PartStatus,
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
from stormcut.control.round import Governed, RoundState, play, reaffirm
from stormcut.model.cluster import ClusterState, Described, RunningTopology, name_in
from stormcut.model.plan import Plan
from stormcut.model.profile import Profile

log = logging.getLogger(__name__)

T = TypeVar("T")

#: So often a decision is made again as people order otherwise meanwhile.
MAX_REVISIONS = 3

#: Of a brain that does what it decides, at once.
UNBOUND = Policy(Mode.AUTOMATIC, horizon_s=math.inf, cool_down_s=0.0, restarts_per_hour=None)


@dataclass(frozen=True)
class _Known:
    """What a plan rests on, beside the state."""

    profiles: Mapping[str, Profile]
    undos: Mapping[str, Undo]
    orders: Orders


@dataclass(frozen=True)
class _RoundAnswer:
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
    draining : Draining, optional
        Has topologies drained before they move, where their rule asks for that.
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
        draining: Draining | None = None,
    ) -> None:
        self._clock = clock
        self._new_id = new_id
        self._recorder = recorder
        self._listener = listener
        self._settings = settings
        self._store = store
        self._source = source
        self._deciding = threading.Lock()
        self._answer: _RoundAnswer | None = None
        self._policy = UNBOUND if policy is None else policy
        self._draining = draining
        #: What rounds have left, and what they had left when the last state came: what would be is
        #: asked of that.
        self._left = self._before = RoundState()
        self._governed: Governed | None = None
        self._answered_with: _Known | None = None
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
        self.parts: dict[str, Callable[[], PartStatus]] = {}

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
            self._last = self._store.last_plan() or self._last
            self._published_s = self._clock.elapsed() - _age_s(self._last, self._clock.now())
            self._left = replace(self._left, pace=Pace(), ledger=self._restarts_so_far())
        self._descriptions.forget()
        if self._last is not None:
            plan = self._last.id
            log.info("this brain goes on from plan %s", plan, extra={"plan": plan})
        if self._listener is not None:
            self._listener.took_over()

    def _restarts_so_far(self) -> Ledger:
        """Return what restarted within the last hour; all that may, where that is not known."""
        stored, now = self._store.restarts(), self._clock.elapsed()
        if stored is None:
            most = self._policy.restarts_per_hour
            return Ledger((Restarts(now, "", most),) if most else ())
        known = tuple(replace(each, at_s=now + min(each.at_s, 0.0)) for each in stored)
        # Where nothing is stored its data are gone, or nothing ever restarted.
        return Ledger(known or self._left.ledger.spent)

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
                self._answered_with = known
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
        asked_before = last is not None and (last.state, self._answered_with) == (state, known)
        return asked_before and last is not None and self._clock.elapsed() < last.until

    def _still_passes(self, state: ClusterState, known: _Known) -> bool:
        """Return whether guards let through now, too, what they did when it was decided."""
        governed = self._governed
        if governed is None or not governed.changes:
            return True
        left = reaffirm(self._left, self._inputs(state, known), governed.changes)
        if left is None:
            return False
        self._left = left
        self._have_rest(governed.resting)
        return True

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
        governed = self._preview(described.state, known)
        return preview_document(self._snapshot(described), governed)

    def _preview(self, state: ClusterState, known: _Known) -> Governed:
        """Return what a round would decide now; nothing remembers it."""
        given = self._inputs(state, known)
        rested = [topology.id for topology in state.topologies]
        given = replace(given, is_shown=True, rested=rested, recorder=None)
        # Nimbus may be answered meanwhile.
        left = self._left
        return play(replace(self._before, memory=left.memory, pace=left.pace), given)[1]

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

    def _shown(self, snapshot: Snapshot) -> Snapshot:
        """Return a snapshot with what could be approved, and as people have ordered since."""
        last_answer, governed = self._answered_with, snapshot.governed
        if snapshot.described is None or last_answer is None or governed is None:
            return snapshot
        is_news = (snapshot.orders, snapshot.undos) != (last_answer.orders, last_answer.undos)
        if not is_news and (not governed.withheld or governed.names):
            return snapshot
        # What was approved since is shown as it waits for the next round.
        orders = replace(snapshot.orders, approved=frozenset()) if is_news else snapshot.orders
        previewed = self._preview(
            snapshot.described.state, _Known(last_answer.profiles, snapshot.undos, orders)
        )
        if not is_news:
            # Whose spouts rest first is not asked again: that would have them rest.
            held = {each.proposed.topology: each for each in governed.withheld}
            held |= {each.proposed.topology: each for each in previewed.withheld}
            previewed = replace(
                governed,
                withheld=tuple(held.values()),
                offered=previewed.offered,
                forced=previewed.forced,
            )
        return replace(snapshot, governed=previewed)

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
            self._left,
            self._source.orders(),
            self._source.undos(),
            self._policy,
            self._source.reviews(),
            self._last.id if self._last else None,
            self._clock.elapsed(),
        )

    def _record(self, plan: Plan, given: Inputs, left: RoundState, governed: Governed) -> Record:
        """Return what is kept with a plan."""
        now = self._clock.elapsed()
        restarts = tuple(replace(each, at_s=each.at_s - now) for each in left.ledger.spent)
        is_logged = self._last is None or not plan.places_alike(self._last)
        entry = history_entry(plan, governed, given.profiles, given.state) if is_logged else None
        return Record(entry, steps(plan, governed, given.state), restarts)

    def _inputs(self, state: ClusterState, known: _Known) -> Inputs:
        now = self._clock.elapsed()
        if self._draining is None:
            rested = frozenset(topology.id for topology in state.topologies)
        else:
            rested = self._draining.rested()
        return Inputs(
            state,
            self._policy,
            self._settings,
            now,
            datetime.fromtimestamp(self._clock.now()),
            known.profiles,
            known.undos,
            known.orders,
            self._last,
            now - self._published_s,
            self._source.reviews(),
            self.heard(),
            self.accounts(),
            rested,
            recorder=self._recorder,
        )

    def _have_rest(self, changes: Iterable[Change]) -> None:
        """Have spouts rest whose topologies are about to move, where a rule asks for that."""
        for change in changes:
            seconds = self._policy.rule_of(name_in(change.topology)).drain_s
            if self._draining is not None and seconds is not None:
                self._draining.ask(change.topology, change.home, change.target, seconds)

    def _decided(self, state: ClusterState, known: _Known) -> tuple[_RoundAnswer, _Known]:
        """Return an answer, and what it rests on: orders that came meanwhile are obeyed."""
        began = self._clock.elapsed()
        before = self._left
        given = self._inputs(state, known)
        left, governed = play(before, given)
        for _ in range(MAX_REVISIONS):
            if (orders := self._source.orders()) == known.orders:
                break
            known = replace(known, orders=orders)
            given = self._inputs(state, known)
            left, governed = play(replace(before, memory=left.memory), given)
        took = self._clock.elapsed() - began
        plan = _plan(self._new_id(), state, governed.instructions, self._clock.now())
        # One that changes nothing is not published: it would push what did out of the history.
        is_new = self._last is None or not plan.places_like(self._last)
        if is_new:
            # What was worked out is kept; nobody is told the rest of a plan that was not stored.
            self._left = replace(before, memory=left.memory)
            self._store.publish(plan, self._record(plan, given, left, governed))
            self._last, self._published_s = plan, self._clock.elapsed()
            _report(plan, self._clock.elapsed() - began)
        self._before, self._left, self._governed = before, left, governed
        self._have_rest(governed.resting)
        self._guard_log.note(governed.instructions, is_new)
        assert self._last is not None
        if self._listener is not None:
            self._listener.decided(Decided(state, governed.instructions, self._last, is_new, took))
        return _RoundAnswer(state, self._last, began + governed.again_in), known


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
    summary = "; ".join(reasons) or "no topologies"
    log.info("plan %s in %.2f s: %s", plan.id, seconds, summary, extra={"plan": plan.id})
