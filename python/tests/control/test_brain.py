"""The brain between Nimbus, which asks for plans, and people, who ask what would follow."""

import logging
import math
import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest
from brain_clusters import applied, dealt, profile_of, supervisors, topology
from governed import Stage, spread
from simulated import SimulatedClock, ids

from stormcut.adapters.machine.clock import SystemClock
from stormcut.control.brain import Brain, _age_s
from stormcut.control.decide.adviser import Settings
from stormcut.control.observe import descriptions as module
from stormcut.control.orders import NO_ORDERS, Override, Undo
from stormcut.control.policy import Mode, Policy
from stormcut.control.ports import Unavailable
from stormcut.model.cluster import ClusterState, Slot
from stormcut.model.errors import InvalidInput
from stormcut.model.plan import Plan

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

    def restarts(self):
        return ()

    def publish(self, plan, record):
        self.plans.append((plan, record.entry))

    def profiles(self):
        return self.known

    def reviews(self):
        return ()

    def orders(self):
        return NO_ORDERS

    def undos(self):
        return {}


def brain_of(clock=None, **profiles):
    memory = Memory(profiles)
    return Brain(Settings(), memory, memory, clock or SimulatedClock(), ids()), memory


def test_a_preview_publishes_nothing_and_is_what_follows():
    brain, memory = brain_of()
    with pytest.raises(InvalidInput, match="Nimbus has not asked this brain yet"):
        brain.preview("t", PROFILE, None)
    brain.plan(RUNNING)
    published = len(memory.plans)
    previewed = brain.preview("t", PROFILE, None)
    assert len(memory.plans) == published
    memory.known = {"t": PROFILE}
    brain.plan(RUNNING)
    assert memory.plans[-1][1]["topologies"] == previewed["topologies"]


@pytest.mark.slow
def test_what_is_previewed_waits_for_what_became_of_the_last_plan():
    """Nimbus does as told after it has asked: until it asks again the brain knows the past."""
    brain, _ = brain_of(SystemClock(), t=PROFILE)
    moved = applied(RUNNING, brain.plan(RUNNING).topologies)
    asks = threading.Timer(0.3, brain.plan, (moved,))
    asks.start()
    (line,) = brain.preview("t", PROFILE, Undo(RUNNING.topologies[0].assignment))["topologies"]
    asks.join()
    assert line["workers_restarted"] > 0
    assert brain.described().state == moved


def test_who_waits_goes_on_as_soon_as_nimbus_asks_again():
    clock = SimulatedClock()
    brain, _ = brain_of(clock, t=PROFILE)
    moved = applied(RUNNING, brain.plan(RUNNING).topologies)

    def wait(condition, until, seconds):
        assert not until()
        brain.plan(moved)
        assert until()

    clock.wait = wait
    assert brain.described().state == moved


def test_it_does_not_wait_for_a_nimbus_that_is_gone():
    clock = SimulatedClock()
    brain, _ = brain_of(clock, t=PROFILE)
    brain.plan(RUNNING)
    began = clock.now()
    assert brain.described().state == RUNNING
    assert clock.now() == began + module.SETTLE_SECONDS


def test_what_nimbus_does_not_describe_any_more_is_gone_after_a_while():
    clock = SimulatedClock()
    brain, _ = brain_of(clock)
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


def test_nothing_is_gone_while_nimbus_says_nothing():
    clock = SimulatedClock()
    brain, _ = brain_of(clock)
    brain.plan(ClusterState(supervisors(2), (topology("here-1-1"),)))
    assert brain.gone({"gone-1-1"}) == set()
    clock.seconds += module.GONE_SECONDS + module.SILENT_SECONDS
    assert brain.gone({"gone-1-1"}) == set()
    brain.plan(ClusterState(supervisors(2), (topology("here-1-1"),)))
    assert brain.gone({"gone-1-1"}) == set()


def test_what_changes_nothing_is_not_published():
    """However many profiles come: the history keeps what moved something."""
    brain, memory = brain_of()
    brain.plan(RUNNING)
    for end in range(200, 300):
        known = profile_of(topology("t", (1, 1)))  # fits nothing: nothing moves
        memory.known = {"t": replace(known, to_epoch_s=end)}
        brain.plan(RUNNING)
    assert len(memory.plans) == 1


def test_a_plan_for_other_nodes_is_published_but_no_news_to_people():
    brain, memory = brain_of()
    first = brain.plan(RUNNING)
    assert first.id == "p1"
    more = replace(RUNNING, supervisors=supervisors(4))
    second = brain.plan(more)
    assert (first.fingerprint, second.fingerprint) == (RUNNING.fingerprint(), more.fingerprint())
    assert [entry is None for _, entry in memory.plans] == [False, True]


def test_what_could_not_be_published_is_published_when_it_is_asked_again(solved):
    brain, memory = brain_of()
    brain.plan(RUNNING)
    memory.known = {"t": PROFILE}
    publish = memory.publish

    def away(plan, record):
        raise Unavailable("no connection to ZooKeeper")

    memory.publish = away
    with pytest.raises(Unavailable):
        brain.plan(RUNNING)
    memory.publish = publish
    count = len(solved)
    brain.plan(RUNNING)
    assert len(solved) == count > 0, "what was worked out is kept"
    assert [sorted(entry["profiles"]) for _, entry in memory.plans] == [[], ["t"]]


def test_a_day_of_decisions_passes_on_simulated_time():
    """Nimbus asks every 10 s and does as told; a new profile comes every 10 minutes."""
    clock, day = SimulatedClock(), 24 * 3600
    brain, memory = brain_of(clock)
    state, began, moves = RUNNING, clock.now(), 0
    while clock.now() < began + day:
        if (clock.now() - began) % 600 == 0:
            hour = int((clock.now() - began) // 3600)
            memory.known = {"t": profile_of(state.topologies[0], cpu=10.0 + hour)}
        after = applied(state, brain.plan(state).topologies)
        moves += after != state
        state = after
        clock.seconds += 10
    moments = [plan.created_ms for plan, _ in memory.plans]
    assert moments == sorted(moments)
    assert len(moments) <= 2  # that it stays is no news
    assert moves == 1


def test_lines_of_the_log_that_concern_a_plan_carry_its_whole_id(caplog):
    caplog.set_level(logging.INFO)
    brain, memory = brain_of()
    plan = brain.plan(RUNNING)
    memory.last_plan = lambda: plan
    brain.take_over()
    assert [(r.plan, f"plan {r.plan}" in r.getMessage()) for r in caplog.records] == [
        (plan.id, True)
    ] * 2


def test_a_listener_hears_of_every_decision_but_not_of_the_same_answer_again():
    heard = []

    class Listener:
        def took_over(self):
            heard.append("took over")

        def decided(self, what):
            heard.append(what)

    memory = Memory({"t": PROFILE})
    brain = Brain(Settings(), memory, memory, SimulatedClock(), ids(), listener=Listener())
    brain.take_over()
    first = brain.plan(RUNNING)
    brain.plan(RUNNING)
    moved = applied(RUNNING, first.topologies)
    assert brain.plan(moved) == first
    took_over, *decided = heard
    assert took_over == "took over"
    assert [(each.state, each.plan.id, each.is_new) for each in decided] == [
        (RUNNING, first.id, True),
        (moved, first.id, False),
    ]
    assert all([d.topology for d in each.decisions.decided] == ["t"] for each in decided)


def test_a_listener_hears_how_long_a_decision_took_from_first_to_last():
    """Deciding again, as orders have changed, counts; publishing does not."""
    took, clock = [], SimulatedClock()
    memory = Memory({"t": PROFILE})
    orders, publish, asked = memory.orders, memory.publish, 0

    def slow_orders():
        nonlocal asked
        asked += 1
        clock.seconds += 1
        return replace(orders(), approved=frozenset({f"p{min(asked, 3)}"}))

    def slow_publish(*given):
        clock.seconds += 100
        publish(*given)

    memory.orders, memory.publish = slow_orders, slow_publish
    listener = SimpleNamespace(decided=lambda what: took.append(what.seconds))
    Brain(Settings(), memory, memory, clock, ids(), listener=listener).plan(RUNNING)
    assert took == [3]


def test_what_was_worked_out_is_kept_when_orders_have_it_decided_again(solved):
    brain, memory = brain_of(t=PROFILE)
    approved = iter(("a", "b", "b"))
    memory.orders = lambda: replace(NO_ORDERS, approved=frozenset({next(approved)}))
    brain.plan(RUNNING)
    assert len(solved) == 1


def test_an_undo_past_guards_is_previewed_as_if_it_were_ordered_now():
    """It passes the pause that it finds, however many there were before."""
    stage = Stage(*spread("a"), Policy(Mode.AUTOMATIC))
    home = stage.state.topologies[0].assignment
    assert stage.round(1000) == ["a"]
    stage.store.ordered = replace(NO_ORDERS, is_paused=True, pauses=3, revision=1)
    stage.round()
    undo = Undo(home)
    (held,) = stage.brain.preview("a", None, undo)["withheld"]
    assert held["waits_for"] == "paused"
    forced = stage.brain.preview("a", None, replace(undo, override=Override("fire")))
    (line,) = forced["topologies"]
    assert (forced["withheld"], line["initiator"]) == ([], "undo")
    assert "paused" in line["passed"]


def test_who_asks_waits_once_for_a_nimbus_that_is_away():
    """`status` asks twice, and hung for 30 s."""
    state, profiles = spread("a")
    stage = Stage(state, profiles, Policy(Mode.AUTOMATIC))
    stage.brain.plan(state)
    began = stage.clock.elapsed()
    stage.brain.outlook()
    stage.brain.described()
    assert stage.clock.elapsed() - began == module.SETTLE_SECONDS


@pytest.mark.parametrize(("settled", "waited_s"), [(True, module.SETTLE_SECONDS), (False, 0.0)])
def test_an_outlook_waits_for_what_became_of_a_plan_unless_asked_not_to(settled, waited_s):
    state, profiles = spread("a")
    stage = Stage(state, profiles, Policy(Mode.AUTOMATIC))
    stage.brain.plan(state)
    began = stage.clock.elapsed()
    stage.brain.outlook(settled)
    assert stage.clock.elapsed() - began == waited_s


def test_the_age_of_a_plan_is_known_unless_it_is_of_the_future():
    plan = Plan("p", "", 1_700_000_000_000, ())
    assert _age_s(plan, 1_700_000_012.5) == 12.5
    assert _age_s(plan, 1_700_000_000.0) == 0.0
    assert _age_s(plan, 1_699_999_999.0) == _age_s(None, 1_700_000_012.5) == math.inf
