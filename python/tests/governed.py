"""Brains with a policy, and clusters that do as they are told."""

from __future__ import annotations

from dataclasses import replace

from brain_clusters import applied, dealt, profile_of, supervisors, topology
from simulated import SimulatedClock, ids

from stormcut.control.brain import Brain
from stormcut.control.decide.adviser import Settings
from stormcut.control.operations import approving
from stormcut.control.orders import NO_ORDERS
from stormcut.control.policy import TopologyRule
from stormcut.control.ports import Unavailable
from stormcut.control.review.trail import appended
from stormcut.model.cluster import ClusterState, Slot

DEFAULTS = Settings()


class Store:
    """Store and evidence of one brain."""

    def __init__(self, profiles):
        self.plans, self.known, self.ordered, self.back = [], profiles, NO_ORDERS, {}
        self.spent, self.trails = (), {}
        self.clock, self.written = SimulatedClock(), 0.0

    def last_plan(self):
        return self.plans[-1][0] if self.plans else None

    def restarts(self):
        since = self.clock.elapsed() - self.written
        return self.spent and tuple(replace(each, at_s=each.at_s - since) for each in self.spent)

    def publish(self, plan, record):
        self.plans.append((plan, record.entry))
        self.spent, self.written = record.restarts, self.clock.elapsed()
        for name, step in record.steps.items():
            self.trails[name] = appended(self.trails.get(name, ()), step)

    def profiles(self):
        return self.known

    def undos(self):
        return self.back

    def reviews(self):
        return ()

    def orders(self):
        return self.ordered


class Stage:
    """A brain with a policy, and a cluster that does as told."""

    def __init__(self, state, profiles, policy, orders=NO_ORDERS, settings=DEFAULTS):
        self.state, self.clock, self.settings = state, SimulatedClock(), settings
        self.store = Store(profiles)
        self.store.clock = self.clock
        self.store.ordered = orders
        self.brain = self._brain(policy)

    def _brain(self, policy):
        return Brain(self.settings, self.store, self.store, self.clock, ids(), policy=policy)

    def policy(self, policy):
        """Let another controller lead, with another policy."""
        self.brain = self._brain(policy)
        self.brain.take_over()

    def round(self, seconds=10.0):
        """Nimbus asks, and does as told; return which topologies moved."""
        self.clock.seconds += seconds
        before = self.state
        self.state = applied(before, self.brain.plan(before).topologies)
        return [
            t.id
            for t, now in zip(before.topologies, self.state.topologies, strict=True)
            if t.assignment and t.assignment != now.assignment
        ]

    def homes(self):
        return homes(self.state)

    def waits(self):
        return {line["topology"]: line["waits_for"] for line in self.brain.outlook()["withheld"]}


class Valve:
    def __init__(self):
        self.inactive, self.kept, self.is_down = set(), (), False
        self.done = []

    def _check(self):
        if self.is_down:
            raise Unavailable("Nimbus does not answer")

    def is_active(self, topology):
        self._check()
        return topology not in self.inactive

    def deactivate(self, topology):
        self._check()
        assert topology in self.kept, "whoever comes after a crash must find it"
        self.inactive.add(topology)

    def activate(self, topology):
        self._check()
        self.inactive.discard(topology)
        self.done.append(topology)

    def marked(self):
        self._check()
        return self.kept

    def mark(self, topologies):
        self._check()
        self.kept = topologies


def spread(*names, nodes=4):
    """Topologies that run spread over nodes and should run together, with their profiles."""
    running = [
        dealt(topology(name, (2, 2), acker=False), [Slot(f"n{n}", 6700 + at) for n in range(nodes)])
        for at, name in enumerate(names)
    ]
    profiles = {t.id: profile_of(t, rate=much) for t in running}
    return ClusterState(supervisors(nodes), tuple(running)), profiles


def approve_past_guards(policy):
    """Approve past its guards what moves a pinned topology and another; return what was shown."""
    state, profiles = spread("a", "b")
    stage = Stage(state, profiles, replace(policy, topologies=(TopologyRule("a", pin=True),)))
    stage.round(1000)
    shown = stage.brain.outlook()
    order = approving(shown["override"]["proposal"], "because", shown)
    stage.store.ordered = replace(order(stage.store.ordered), revision=1)
    return stage, shown


def much(source, target):
    """Return so many tuples/s that a move which saves them pays."""
    return 50_000.0


def goes_on(rollout, later):
    """Return whether a move in stages is the same, a stage later."""
    return None not in (rollout, later) and later.decisions is rollout.decisions


def homes(state):
    """Return what runs where, whatever the order."""
    return {topology.id: set(topology.assignment) for topology in state.topologies}
