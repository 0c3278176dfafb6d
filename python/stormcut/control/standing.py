"""The standing brain: one of several that stand for election, and answers while it leads."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from stormcut.control.apply.draining import Draining
from stormcut.control.brain import Brain
from stormcut.control.decide.adviser import Recorder, Settings
from stormcut.control.decide.decide import decide
from stormcut.control.decide.question import Question
from stormcut.control.orders import NO_ORDERS, UNKNOWN_ORDERS, Orders, Undo
from stormcut.control.policy import Policy
from stormcut.control.ports import (
    Clock,
    DecisionListener,
    Leadership,
    NewId,
    Publication,
    Server,
    StandingStore,
    Unavailable,
    Valve,
)
from stormcut.control.review.reviews import Review
from stormcut.model.cluster import (
    ClusterState,
    RunningExecutor,
    RunningTopology,
    Subscription,
    Supervisor,
)
from stormcut.model.errors import StormcutError
from stormcut.model.plan import Plan
from stormcut.model.profile import Profile

log = logging.getLogger("stormcut.brain")

#: Share of a core for looking whether anything was published.
MAX_OF_A_CORE = 0.05

#: How soon an order to stop is noticed at the latest.
STOP_SECONDS = 0.2

#: How often a brain that does not lead looks at the orders.
STANDBY_SECONDS = 2.0

ORDERS_LOST = (
    "the orders that were in force are gone from ZooKeeper: pauses, drains and undos are lost; "
    "give them again, then `stormcut resume`"
)

#: The smallest cluster with something to decide.
TOY = ClusterState(
    (Supervisor("n", "n", (1, 2)), Supervisor("m", "m", (1, 2))),
    (
        RunningTopology(
            "toy",
            "toy",
            2,
            (RunningExecutor(1, 1, "a"), RunningExecutor(2, 2, "b")),
            (Subscription("a", "b", "default", "shuffle"),),
        ),
    ),
)


def warm_up(settings: Settings) -> None:
    """Load what a plan needs: Nimbus does not wait for that."""
    decide(Question(TOY, {}, None, settings))


class PublicationCache:
    """`EvidenceSource` that the leader refreshes: to ask it never waits for what is published."""

    def __init__(self, publication: Publication, clock: Clock) -> None:
        self._publication = publication
        self._clock = clock
        self._profiles: Mapping[str, Profile] = {}
        self._undos: Mapping[str, Undo] = {}
        self._orders = NO_ORDERS
        self._reviews: tuple[Review, ...] = ()
        self._next = 0.0
        #: Whoever reads the orders last has the newest ones.
        self._reading = threading.Lock()

    def refresh(self, now: bool = False) -> None:
        """Read what is published, ``now`` or if it is time: many profiles take long to look at."""
        began = self._clock.elapsed()
        # At each look, however many profiles there are: who says pause does not wait for them.
        self.refresh_orders()
        if not now and began < self._next:
            return
        # Orders first: one that is gone was followed by a new profile before.
        self._undos = self._publication.undos()
        self._reviews = self._publication.reviews()
        self._profiles = self._publication.profiles()
        took = self._clock.elapsed() - began
        self._next = began + took / MAX_OF_A_CORE

    def refresh_orders(self) -> None:
        """Read what people have ordered."""
        with self._reading:
            self._orders = self._newest_orders()

    def _newest_orders(self) -> Orders:
        """Return the orders; where there were some and are none, ZooKeeper has lost its data."""
        found, before = self._publication.orders(), self._orders
        if found.revision or not before.revision:
            return found
        if found.is_paused:  # they are there, and cannot be read
            return replace(found, revision=before.revision)
        if before.why != ORDERS_LOST:
            log.warning("paused: %s", ORDERS_LOST)
        lost = replace(UNKNOWN_ORDERS, why=ORDERS_LOST, revision=before.revision)
        # Whoever leads next knows nothing of them.
        try:
            self._publication.hold(ORDERS_LOST)
        except Unavailable as error:
            log.info("the pause is not stored yet: %s", error)
        return lost

    def remove(self, topologies: Iterable[str]) -> None:
        """Remove what is known of topologies that are gone."""
        for topology in topologies:
            self._publication.remove(topology)
            log.info("topology %s is gone; what was published of it is removed", topology)

    def profiles(self) -> Mapping[str, Profile]:
        """Return the profiles as read last."""
        return self._profiles

    def undos(self) -> Mapping[str, Undo]:
        """Return the orders to go back as read last."""
        return self._undos

    def orders(self) -> Orders:
        """Return what people have ordered, as read last."""
        return self._orders

    def reviews(self) -> tuple[Review, ...]:
        """Return what became of moves, as read last."""
        return self._reviews


class Standing:
    """The brain as far as it may answer, and what it does while it leads.

    Attributes
    ----------
    brain : Brain
        Answers whoever it is that leads.
    """

    def __init__(
        self,
        settings: Settings,
        store: StandingStore,
        publication: Publication,
        clock: Clock,
        new_id: NewId,
        recorder: Recorder | None = None,
        policy: Policy | None = None,
        listener: DecisionListener | None = None,
        valve: Valve | None = None,
    ) -> None:
        self._store = store
        self._publication = publication
        self._evidence = PublicationCache(publication, clock)
        self._leadership: Leadership | None = None
        #: The revision of the orders that people were told to be in force.
        self._acknowledged: int | None = None
        self._clock, self._next_look = clock, 0.0
        self._draining = None if valve is None else Draining(valve, clock)
        self.brain = Brain(
            settings,
            store,
            self._evidence,
            clock,
            new_id,
            recorder,
            policy,
            listener,
            self._draining,
        )

    @property
    def leads(self) -> bool:
        """Whether this brain may answer."""
        return self._leadership is not None and self._leadership.leads

    @property
    def stands(self) -> bool:
        """Whether this brain stands for election, or leads."""
        return self._leadership is not None

    def profiles(self) -> Mapping[str, Profile]:
        """Return the published profiles as read last, by topology id."""
        return self._evidence.profiles()

    def undos(self) -> Mapping[str, Undo]:
        """Return the orders to go back as read last, by topology id."""
        return self._evidence.undos()

    def resting(self) -> set[str]:
        """Return the topologies whose spouts rest as they are about to move."""
        return set() if self._draining is None else self._draining.resting()

    def plan(self, state: ClusterState) -> Plan:
        """Return the plan for a state, as `Brain.plan`."""
        return self.brain.plan(state)

    def elected(self) -> None:
        """Take over: called before this brain leads."""
        self._evidence.refresh(now=True)
        self._acknowledged = None
        self.brain.take_over()
        if self._draining is not None:
            self._draining.take_over()

    def stand_by(self) -> None:
        """Know the orders while another leads: when elected, it knows whether any are lost."""
        now = self._clock.elapsed()
        if self.leads or now < self._next_look:
            return
        self._next_look = now + STANDBY_SECONDS
        with suppress(Unavailable, StormcutError):
            self._evidence.refresh_orders()

    def watch(self) -> None:
        """See that all is as it should be; called again and again while this brain leads."""
        self._evidence.refresh()
        self._acknowledge()
        known = {*self._evidence.profiles(), *self._evidence.undos()}
        self._evidence.remove(self.brain.gone(known))
        self._forget_approvals()
        if self._draining is not None:
            described = self.brain.last_described
            self._draining.watch(None if described is None else described.state)
        plan = self.brain.last_plan
        if plan is not None and not self._store.has_plan():
            told = "plan %s is gone from ZooKeeper; published again"
            log.warning(told, plan.id, extra={"plan": plan.id})
            self._store.restore(plan)

    def _acknowledge(self) -> None:
        """Say which orders count from now on: no plan is made by older ones any more."""
        revision = self._evidence.orders().revision
        if revision != self._acknowledged:
            self.brain.finish_deciding()
            self._publication.acknowledge(revision)
            self._acknowledged = revision

    def _forget_approvals(self) -> None:
        """Take back approvals that were used: the same proposal may come again at another time."""
        approved, governed = self._evidence.orders().approved, self.brain.governed
        if governed is None or approved != governed.considered:
            return  # Nimbus has not asked since
        if approved and not approved & governed.names:
            self._publication.forget_approvals()
            self._evidence.refresh(now=True)

    def run(self, server: Server, leadership: Leadership, stopped: Callable[[float], bool]) -> None:
        """Serve and stand for election until told to stop.

        Parameters
        ----------
        server : Server
            Brings this brain the questions; not started.
        leadership : Leadership
            Calls `elected` and `watch`; not started.
        stopped : callable
            ``stopped(seconds)``: waits so long for an order to stop, and tells whether it came.
        """
        self._leadership = leadership
        server.start()
        leadership.start()
        # Python runs signal handlers in the main thread, which a signal that the kernel gave to
        # another thread does not wake.
        while not stopped(STOP_SECONDS):
            self.stand_by()
        if self._draining is not None:
            self._draining.close()
        log.info("stopping: withdrawing from ZooKeeper")
        leadership.close()
        server.close()
