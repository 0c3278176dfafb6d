"""What a brain does while it leads, and while it does not."""

import threading
from dataclasses import replace

from brain_clusters import applied, dealt, profile_of, supervisors, topology
from governed import Valve, spread
from simulated import SimulatedClock, ids

from stormcut.control.apply import context
from stormcut.control.apply.draining import ADOPT_SECONDS
from stormcut.control.decide.adviser import Settings
from stormcut.control.observe.descriptions import GONE_SECONDS
from stormcut.control.operations import pausing
from stormcut.control.orders import NO_ORDERS, Orders
from stormcut.control.policy import Mode, Policy, TopologyRule
from stormcut.control.ports import Unavailable
from stormcut.control.publication_cache import MAX_OF_A_CORE
from stormcut.control.standing import Standing
from stormcut.model.cluster import ClusterState, Slot, Worker

RUNNING = ClusterState(
    supervisors(3), (dealt(topology("t", (2, 2)), [Slot(f"n{i}", 6700) for i in range(3)]),)
)
PROFILE = profile_of(RUNNING.topologies[0])


class Outside:
    """Store, publication, server and leadership of a brain, in memory."""

    def __init__(self, clock):
        self.clock, self.reading_seconds = clock, 0.0
        self.ordered = NO_ORDERS
        self.plan, self.known, self.reads, self.leads = None, {}, 0, False
        self.calls, self.obeyed = [], []

    def last_plan(self):
        return self.plan

    def restarts(self):
        return ()

    def publish(self, plan, record):
        self.plan = plan

    def restore(self, plan):
        self.plan = plan

    def has_plan(self):
        return self.plan is not None

    def profiles(self):
        self.reads += 1
        self.clock.seconds += self.reading_seconds
        return dict(self.known)

    def reviews(self):
        return ()

    def orders(self):
        return self.ordered

    def hold(self, why):
        self.ordered = replace(self.ordered, is_paused=True, why=why, revision=99)

    def forget_approvals(self):
        self.ordered = replace(self.ordered, approved=frozenset())

    def acknowledge(self, revision):
        self.obeyed.append(revision)

    def undos(self):
        return {}

    def remove(self, topology):
        del self.known[topology]

    def start(self):
        self.calls.append("start")

    def close(self):
        self.calls.append("close")


def standing():
    clock = SimulatedClock()
    outside = Outside(clock)
    return Standing(Settings(), outside, outside, clock, ids()), outside, clock


def test_a_leader_that_knew_orders_and_finds_none_pauses_until_a_person_resumes():
    """ZooKeeper came back without its data: pauses and drains were forgotten, and it moved on."""
    brain, outside, clock = standing()
    outside.ordered = Orders(drained=frozenset({"n0"}), revision=7)
    brain.elected()
    assert not brain.brain._source.orders().is_paused
    outside.ordered = NO_ORDERS
    clock.seconds += 10
    brain.elected()
    found = brain.brain._source.orders()
    assert found.is_paused and "are gone from ZooKeeper" in found.why
    # Who leads next reads it, too.
    assert outside.ordered.is_paused
    outside.ordered = replace(pausing(False)(outside.ordered), revision=100)
    brain.watch()
    assert not brain.brain._source.orders().is_paused


def test_a_pause_that_cannot_be_stored_is_kept_and_stored_later():
    brain, outside, _ = standing()
    outside.ordered = Orders(drained=frozenset({"n0"}), revision=7)
    brain.elected()
    outside.ordered, stored = NO_ORDERS, outside.hold

    def away(why):
        raise Unavailable("ZooKeeper is away")

    outside.hold = away
    for _ in range(3):
        brain.elected()
        assert "are gone from ZooKeeper" in brain.brain._source.orders().why
    outside.hold = stored
    brain.elected()
    assert outside.ordered.is_paused


def test_orders_that_cannot_be_read_for_a_while_and_are_then_gone_are_lost():
    brain, outside, _ = standing()
    outside.ordered = Orders(revision=7)
    brain.elected()
    outside.ordered = Orders(is_paused=True, pauses=-1, why="belongs to others")
    brain.elected()
    assert brain.brain._source.orders().why == "belongs to others"
    outside.ordered = NO_ORDERS
    brain.elected()
    assert "are gone from ZooKeeper" in brain.brain._source.orders().why


def test_a_standby_that_never_led_knows_that_orders_are_lost():
    brain, outside, _ = standing()
    outside.ordered = Orders(drained=frozenset({"n0"}), revision=7)
    brain.stand_by()
    outside.ordered = NO_ORDERS
    brain.elected()
    found = brain.brain._source.orders()
    assert found.is_paused and "are gone from ZooKeeper" in found.why
    outside.ordered = Orders(revision=8)
    brain.stand_by()
    assert brain.brain._source.orders().revision == 8
    # A leader reads them in its watch.
    outside.ordered, outside.leads, brain._leadership = Orders(revision=9), True, outside
    brain.stand_by()
    assert brain.brain._source.orders().revision == 8


def test_a_zookeeper_that_is_away_keeps_nobody_from_stopping():
    """It asked for the orders in the thread that takes signals, which then waited for ever."""
    brain, outside, _ = standing()
    asked, back = threading.Event(), threading.Event()

    def away():
        asked.set()
        back.wait(60)
        return NO_ORDERS

    outside.orders = away
    run = threading.Thread(
        target=brain.run, args=(outside, outside, lambda _: asked.is_set()), daemon=True
    )
    run.start()
    run.join(30)
    assert asked.is_set() and not run.is_alive()
    back.set()


def test_it_leads_while_it_runs_and_is_elected():
    brain, outside, _ = standing()
    outside.leads = True
    assert not brain.leads
    led = []

    def stopped(seconds):
        assert seconds > 0
        led.append(brain.leads)
        outside.leads = False
        return len(led) == 2

    brain.run(outside, outside, stopped)
    assert led == [True, False]
    assert outside.calls == ["start", "start", "close", "close"]


def test_what_is_published_is_known_when_it_is_elected_and_seen_later():
    brain, outside, clock = standing()
    outside.known = {"t": PROFILE}
    brain.elected()
    assert brain.plan(RUNNING).topologies[0].reason.startswith("moved by measured traffic")
    outside.known = {}
    clock.seconds += 0.5
    brain.watch()
    brain.plan(RUNNING)
    (line,) = brain.brain.outlook(settled=False)["topologies"]
    assert line["reason"].startswith("as planned, too late at first")


def test_who_was_elected_activates_what_was_left_before_nimbus_asks():
    clock, valve = SimulatedClock(), Valve()
    valve.kept, valve.inactive = ("t",), {"t"}
    outside = Outside(clock)
    brain = Standing(Settings(), outside, outside, clock, ids(), valve=valve)
    brain.elected()
    brain.watch()
    assert brain.brain.last_described is None
    assert (valve.kept, valve.inactive) == ((), set())


def test_a_leader_that_nimbus_never_asks_says_so_once(caplog):
    """With `listen.address` 127.0.0.1 and Nimbus elsewhere, no word was said for ever."""
    brain, outside, clock = standing()

    def warnings():
        return [each for each in caplog.messages if "has not asked for a plan" in each]

    brain.elected()
    clock.seconds += 100
    brain.watch()
    assert not warnings(), "no topology is known: nothing to ask for"
    outside.known = {"t": PROFILE}
    for _ in range(3):
        clock.seconds += 100
        brain.watch()
    assert len(warnings()) == 1
    assert "measured: 1)" in warnings()[0] and "listen.address" in warnings()[0]
    brain.elected()
    brain.plan(RUNNING)
    clock.seconds += 100
    brain.watch()
    assert len(warnings()) == 1, "it asks"


def test_it_reads_no_more_than_its_share_of_time_allows():
    brain, outside, clock = standing()
    outside.reading_seconds = 1.0
    brain.elected()
    began, reads = clock.now(), outside.reads
    while clock.now() < began + 1000:
        clock.seconds += 0.5
        brain.watch()
    assert outside.reads - reads <= 1000 * MAX_OF_A_CORE
    assert outside.reads - reads >= 0.9 * 1000 * MAX_OF_A_CORE


def test_a_plan_that_somebody_deleted_is_published_again(caplog):
    brain, outside, _ = standing()
    brain.elected()
    brain.watch()
    assert outside.plan is None
    plan = brain.plan(ClusterState(supervisors(2), (topology("t"),)))
    outside.plan = None
    brain.watch()
    assert outside.plan == plan
    assert [(r.plan, r.levelname) for r in caplog.records] == [(plan.id, "WARNING")]


def test_what_is_published_of_a_topology_goes_with_it():
    brain, outside, clock = standing()
    outside.known = {"gone-1-1": PROFILE, "t": PROFILE}
    brain.elected()
    for _ in range(int(GONE_SECONDS / 10) + 2):
        brain.plan(RUNNING)
        brain.watch()
        clock.seconds += 10
    assert outside.known == {"t": PROFILE}


def test_an_approval_is_for_once():
    state, profiles = spread("a")
    outside = Outside(clock := SimulatedClock())
    outside.known = profiles
    policy = Policy(Mode.APPROVE)
    brain = Standing(Settings(), outside, outside, clock, ids(), policy=policy)
    brain.elected()
    assert not moves(brain.plan(state), state)
    proposal = brain.brain.outlook()["proposal"]
    outside.ordered = replace(NO_ORDERS, approved=frozenset({proposal}))
    clock.seconds += 10
    brain.watch()
    plan = brain.plan(state)
    assert moves(plan, state)
    clock.seconds += 10
    brain.watch()
    assert outside.ordered.approved
    moved = applied(state, plan.topologies)
    brain.plan(moved)
    clock.seconds += 10
    brain.watch()
    assert outside.ordered == NO_ORDERS
    # Somebody has it run as before: that is another moment.
    assert not moves(brain.plan(state), state)


def test_a_leader_has_spouts_rest_before_their_topology_moves_and_go_on_after():
    state, profiles = spread("a")
    outside, valve = Outside(clock := SimulatedClock()), Valve()
    outside.known = profiles
    policy = Policy(Mode.AUTOMATIC, topologies=(TopologyRule("a", drain_s=20.0),))
    brain = Standing(Settings(), outside, outside, clock, ids(), policy=policy, valve=valve)
    brain.elected()
    seen = []
    for _ in range(3):
        plan = brain.plan(state)
        brain.watch()
        seen.append((moves(plan, state), brain.resting(), set(valve.inactive)))
        clock.seconds += 10
    assert seen == [(False, {"a"}, {"a"})] * 2 + [(True, {"a"}, {"a"})]
    moved = applied(state, plan.topologies)
    for seconds in (0, ADOPT_SECONDS + 1):
        clock.seconds += seconds
        brain.plan(moved)
        brain.watch()
    assert brain.resting() == valve.inactive == set()


def moves(plan, state):
    return any(part.workers != state.topologies[0].assignment for part in plan.topologies)


def test_an_order_to_pause_does_not_wait_for_profiles_and_is_acknowledged():
    """Five hundred profiles take long to look at: orders are read at each look all the same."""
    brain, outside, clock = standing()
    outside.reading_seconds = 1.5
    brain.elected()
    outside.ordered = Orders(is_paused=True, revision=7)
    began = clock.now()
    while 7 not in outside.obeyed:
        clock.seconds += 0.5
        brain.watch()
    assert clock.now() - began <= 2.5
    for _ in range(9):
        clock.seconds += 0.5
        brain.watch()
    assert outside.obeyed.count(7) == 1
    assert brain.brain.plan(RUNNING).topologies == ()


def test_an_order_is_acknowledged_once_what_is_decided_before_it_is_published():
    """Who was told that the controller is paused saw it move something a second later."""
    brain, outside, _ = standing()
    brain.elected()
    publishes, may, publish = threading.Event(), threading.Event(), outside.publish

    def slow(plan, record):
        publishes.set()
        may.wait()
        publish(plan, record)

    outside.publish = slow
    plan = threading.Thread(target=brain.plan, args=(RUNNING,))
    plan.start()
    publishes.wait()
    outside.ordered = Orders(is_paused=True, revision=7)
    watch = threading.Thread(target=brain.watch)
    watch.start()
    try:
        watch.join(0.2)
        assert 7 not in outside.obeyed
    finally:
        may.set()
        plan.join()
        watch.join()
    assert 7 in outside.obeyed


def test_an_order_that_comes_while_something_is_decided_is_obeyed_by_that_decision(monkeypatch):
    brain, outside, _ = standing()
    outside.known = {"t": PROFILE}
    brain.elected()
    real = context.decide

    def slow(question, memory=None):
        outside.ordered = Orders(is_paused=True, revision=7)
        brain._evidence._orders = outside.ordered
        return real(question, memory)

    monkeypatch.setattr(context, "decide", slow)
    plan = brain.plan(RUNNING)
    assert plan.topologies == () or plan.topologies[0].workers == tuple(
        sorted(RUNNING.topologies[0].assignment)
    )


def test_spouts_wake_when_it_ends_while_zookeeper_is_away():
    clock = SimulatedClock()
    outside, valve = Outside(clock), Valve()
    brain = Standing(Settings(), outside, outside, clock, ids(), valve=valve)
    home, target = ((Worker(Slot(node, 1), (1,)),) for node in ("n", "m"))
    brain._draining.ask("a", home, target, 20.0)
    brain._draining.watch(None)
    assert valve.inactive == {"a"}
    outside.leads = False
    brain.run(outside, outside, lambda seconds: True)
    assert valve.inactive == set()
