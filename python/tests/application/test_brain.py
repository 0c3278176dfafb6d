"""The brain between Nimbus, which asks for plans, and people, who ask what would follow."""

import threading
from datetime import datetime

import pytest
from brain_clusters import applied, dealt, profile_of, supervisors, topology

from stormcut.application.control import brain as module
from stormcut.application.control.brain import Brain
from stormcut.application.control.decide import Settings
from stormcut.application.control.ports import Unavailable
from stormcut.model.cluster import ClusterState, Slot
from stormcut.model.errors import InvalidInput

RUNNING = ClusterState(
    supervisors(3), (dealt(topology("t", (2, 2)), [Slot(f"n{i}", 6700) for i in range(3)]),)
)
PROFILE = profile_of(RUNNING.topologies[0])


class Memory:
    """Store and evidence of one brain."""

    def __init__(self, profiles):
        self.plans, self.known = [], profiles

    def last_plan(self):
        return None

    def publish(self, plan, entry):
        self.plans.append((plan, entry))

    def profiles(self):
        return self.known

    def former(self):
        return {}


def brain_of(**profiles):
    memory = Memory(profiles)
    return Brain(Settings(), memory, memory), memory


def test_a_preview_publishes_nothing_and_is_what_follows():
    brain, memory = brain_of()
    with pytest.raises(InvalidInput, match="Nimbus has not asked this brain yet"):
        brain.preview("t", PROFILE, None)
    brain.plan(RUNNING)
    published = len(memory.plans)
    foreseen = brain.preview("t", PROFILE, None)
    assert len(memory.plans) == published
    memory.known = {"t": PROFILE}
    brain.plan(RUNNING)
    assert memory.plans[-1][1]["topologies"] == foreseen["topologies"]


def test_what_is_foreseen_waits_for_what_became_of_the_last_plan():
    """Nimbus does as told after it has asked: until it asks again the brain knows the past."""
    brain, _ = brain_of(t=PROFILE)
    moved = applied(RUNNING, brain.plan(RUNNING).topologies)
    asks = threading.Timer(0.3, brain.plan, (moved,))
    asks.start()
    (line,) = brain.preview("t", PROFILE, RUNNING.topologies[0].assignment)["topologies"]
    asks.join()
    assert line["workers_restarted"] > 0
    assert brain.described().state == moved


def test_it_does_not_wait_for_a_nimbus_that_is_gone(monkeypatch):
    monkeypatch.setattr(module, "SETTLE_SECONDS", 0.05)
    brain, _ = brain_of(t=PROFILE)
    brain.plan(RUNNING)
    assert brain.described().state == RUNNING


def test_what_nimbus_does_not_describe_any_more_is_gone_after_a_while(monkeypatch):
    clock = Clock(monkeypatch)
    brain, _ = brain_of()
    known = {"here-1-1", "gone-1-1"}
    assert brain.gone(known) == set()
    state = ClusterState(supervisors(2), (topology("here-1-1"),))
    for _ in range(int(module.GONE_SECONDS / 10)):
        clock.seconds += 10
        brain.plan(state)
        assert brain.gone(known) == set()
    clock.seconds += 10
    brain.plan(state)
    assert brain.gone(known) == {"gone-1-1"}


def test_nothing_is_gone_while_nimbus_says_nothing(monkeypatch):
    clock = Clock(monkeypatch)
    brain, _ = brain_of()
    brain.plan(ClusterState(supervisors(2), (topology("here-1-1"),)))
    assert brain.gone({"gone-1-1"}) == set()
    clock.seconds += module.GONE_SECONDS + module.SILENT_SECONDS
    assert brain.gone({"gone-1-1"}) == set()
    brain.plan(ClusterState(supervisors(2), (topology("here-1-1"),)))
    assert brain.gone({"gone-1-1"}) == set()


class Clock:
    """The brain's; it goes when it is told to."""

    def __init__(self, monkeypatch):
        self.seconds = 1_700_000_000.0
        monkeypatch.setattr(module, "datetime", self)

    def now(self, zone):
        return datetime.fromtimestamp(self.seconds, zone)


def test_a_profile_that_comes_before_nimbus_asks_a_new_leader_is_answered_by_a_plan():
    before, memory = brain_of()
    before.plan(RUNNING)
    after = Brain(Settings(), memory, memory)
    memory.last_plan = lambda: memory.plans[-1][0]
    after.take_over()
    memory.known = {"t": profile_of(topology("t", (1, 1)))}  # fits nothing: nothing moves
    assert after.plan(RUNNING).id == memory.plans[-1][0].id
    assert [sorted(entry["profiles"]) for _, entry in memory.plans] == [[], ["t"]]


def test_what_could_not_be_published_is_published_when_it_is_asked_again():
    brain, memory = brain_of()
    brain.plan(RUNNING)
    memory.known = {"t": profile_of(topology("t", (1, 1)))}  # fits nothing: nothing moves
    publish = memory.publish

    def away(plan, entry):
        raise Unavailable("no connection to ZooKeeper")

    memory.publish = away
    with pytest.raises(Unavailable):
        brain.plan(RUNNING)
    memory.publish = publish
    brain.plan(RUNNING)
    assert [sorted(entry["profiles"]) for _, entry in memory.plans] == [[], ["t"]]
