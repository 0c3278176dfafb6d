"""The standing brain: one of several that stand for election, and answers while it leads."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

from stormcut.control.apply.draining import Draining
from stormcut.control.brain import Brain
from stormcut.control.decide.adviser import Recorder, Settings
from stormcut.control.decide.decide import decide
from stormcut.control.decide.question import Question
from stormcut.control.orders import Undo
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
from stormcut.control.publication_cache import PublicationCache
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

#: How soon an order to stop is noticed at the latest.
STOP_SECONDS = 0.2

#: How often a brain that does not lead looks at the orders.
STANDBY_SECONDS = 2.0
#: Nimbus asks every 10 s while a topology runs; a leader that waits longer says so.
UNASKED_SECONDS = 60.0

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
        self._clock = clock
        #: When this brain was elected, and whether it has said that Nimbus does not ask.
        self._elected_s, self._has_warned = 0.0, False
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
        self._elected_s, self._has_warned = self._clock.elapsed(), False
        self.brain.take_over()
        if self._draining is not None:
            self._draining.take_over()

    def stand_by(self) -> None:
        """Know the orders while another leads: when elected, it knows whether any are lost."""
        if self.leads:
            return
        with suppress(Unavailable, StormcutError):
            self._evidence.refresh_orders()

    def _look(self, ended: threading.Event) -> None:
        """Stand by until the end. A ZooKeeper that is away holds this thread up, not the main."""
        while not ended.is_set():
            self.stand_by()
            ended.wait(STANDBY_SECONDS)

    def watch(self) -> None:
        """See that all is as it should be; called again and again while this brain leads."""
        self._evidence.refresh()
        self._acknowledge()
        known = {*self._evidence.profiles(), *self._evidence.undos()}
        self._evidence.remove(self.brain.gone(known))
        self._forget_approvals()
        self._warn_unasked(len(self._evidence.profiles()))
        if self._draining is not None:
            described = self.brain.last_described
            self._draining.watch(None if described is None else described.state)
        plan = self.brain.last_plan
        if plan is not None and not self._store.has_plan():
            message = "plan %s is gone from ZooKeeper; published again"
            log.warning(message, plan.id, extra={"plan": plan.id})
            self._store.restore(plan)

    def _warn_unasked(self, profiles: int) -> None:
        """Say once that Nimbus does not ask, though topologies were measured."""
        waited_s = self._clock.elapsed() - self._elected_s
        if self._has_warned or not profiles or waited_s < UNASKED_SECONDS:
            return
        if self.brain.last_described is None:
            self._has_warned = True
            message = (
                "Nimbus has not asked for a plan in %.0f s (topologies measured: %d). If one runs, "
                "Nimbus lacks the plugin or does not reach the address that this brain listens on "
                "(listen.address); Nimbus's log says which"
            )
            log.warning(message, waited_s, profiles)

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
        ended = threading.Event()
        threading.Thread(target=self._look, args=(ended,), name="orders", daemon=True).start()
        # Python runs signal handlers in the main thread, which a signal that the kernel gave to
        # another thread does not wake.
        while not stopped(STOP_SECONDS):
            pass
        ended.set()
        if self._draining is not None:
            self._draining.close()
        log.info("stopping: withdrawing from ZooKeeper")
        leadership.close()
        server.close()
