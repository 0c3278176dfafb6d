"""The controller on simulated time: it does there what it does on a cluster."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from brain_clusters import profile_of, supervisors, topology

from stormcut.control.decide.adviser import Settings
from stormcut.control.observe.observer import Watching
from stormcut.control.policy import Mode, Policy, Rule
from stormcut.lab.rehearsal.rehearsal import STEP_S, RehearsedController, rehearse
from stormcut.lab.rehearsal.world import DEAD_S, LIVE_S, Offered, Outage, World
from stormcut.model.cluster import Slot, Worker
from stormcut.model.plan import Plan, TopologyPlan
from stormcut.simulator.timeline import RESTART_S

NOTHING = Plan("p", "f", 0, ())


def offered(rate, assignment=()):
    """A chain of two components whose tuples have 1 kB; of each source's, all for one bolt."""
    running = replace(topology("t", (4, 4), workers=4, acker=False), assignment=assignment)
    profile = profile_of(running, 0.01, lambda s, t: 0.25 if t == s + 4 else 0.0)
    pairs = tuple(replace(t, bytes_per_tuple=1000.0) for t in profile.traffic)
    used = tuple(pair for pair in pairs if pair.tuples_per_second)
    truth = replace(profile, traffic=used)
    return Offered(running, rate if callable(rate) else lambda second: rate, lambda second: truth)


def narrow(count=4, mbit=4.0):
    return supervisors(count, slots=2, meta={"stormcut.link.mbit": str(mbit)})


def dealt(beside):
    """A source on each node, and the bolt that it sends to so many nodes further."""
    return tuple(Worker(Slot(f"n{at}", 6700), (1 + at, 5 + (at + beside) % 4)) for at in range(4))


def controller(rule=Rule.WORTH):
    watching = Watching(is_on=rule is not Rule.NEVER, takes_back=True)
    return RehearsedController(Settings(), Policy(Mode.AUTOMATIC, rule), watching)


def test_what_has_room_is_served_and_what_has_none_waits_and_is_lost():
    load = offered(lambda second: 100.0 if second < 100 else 5_000.0, dealt(1))
    world = World(narrow(), [load])
    for _ in range(10):
        world.step(STEP_S)
    assert world.tallies["t"].served == pytest.approx(10_000.0)
    assert world.tallies["t"].lost == 0
    for _ in range(30):
        world.step(STEP_S)
    # 4 Mbit/s out of each node carry 487 tuples/s of 1,026 bytes; there are four.
    assert world.tallies["t"].served / 400 == pytest.approx(0.75 * 4 * 487, rel=0.05)
    assert world.tallies["t"].lost > 0 and world.tallies["t"].late > 0


def test_a_lost_node_costs_until_nimbus_knows():
    load = offered(100.0)
    world = World(narrow(), [load], [Outage("n1", 100.0, 10_000.0)])
    world.apply(NOTHING)
    served = []
    for _ in range(40):
        before = world.tallies["t"].served
        world.apply(NOTHING)
        world.step(STEP_S)
        served.append(world.tallies["t"].served - before)
    silent = sum(each == 0 for each in served[5:])
    assert silent == pytest.approx((DEAD_S + RESTART_S) / STEP_S, abs=1)
    assert served[-1] == pytest.approx(1000.0)
    assert not any(w.slot.node == "n1" for t in world.state().topologies for w in t.assignment)


@pytest.mark.slow
def test_the_controller_moves_what_a_link_holds_back_and_then_rests():
    def run(rule):
        world = World(narrow(), [offered(2_500.0, dealt(1))])
        moments = rehearse(world, controller(rule), 1800.0)
        return world, moments

    never, moments = run(Rule.NEVER)
    assert never.tallies["t"].moves == 0
    assert moments[-1].served["t"] == pytest.approx(4 * 487, rel=0.02)
    worth, moments = run(Rule.WORTH)
    assert worth.tallies["t"].moves == 1
    assert moments[-1].served["t"] == pytest.approx(2_500.0, rel=0.01)
    again, same = run(Rule.WORTH)
    assert (again.tallies, same) == (worth.tallies, moments)


@pytest.mark.slow
def test_noise_alone_moves_nothing():
    load = offered(lambda second: 1_000.0 * (1 + 0.05 * math.sin(second)), dealt(0))
    world = World(narrow(), [load])
    rehearse(world, controller(), 3600.0)
    assert world.tallies["t"].moves == 0
    assert world.tallies["t"].served == pytest.approx(world.tallies["t"].offered, rel=0.01)


def test_live_sources_skip_what_they_are_late_for():
    load = replace(offered(lambda second: 5_000.0 if second < 100 else 100.0, dealt(1)), window=50)
    world = World(narrow(), [load])
    for _ in range(10):
        world.step(STEP_S)
    behind = world.tallies["t"].offered - world.tallies["t"].served
    assert world.tallies["t"].lost == pytest.approx(behind - 50 - 5_000 * LIVE_S)
    for _ in range(10):
        world.step(STEP_S)
    after = world.tallies["t"]
    assert after.offered == pytest.approx(after.served + after.lost)


def test_live_sources_lose_what_is_due_while_they_start():
    placed = dealt(1)
    world = World(narrow(), [replace(offered(100.0, placed), window=50)])
    world.step(STEP_S)
    executors = placed[0].executors
    moved = (Worker(Slot("n0", 6701), executors), *placed[1:])
    world.apply(Plan("p", "f", 0, (TopologyPlan("t", moved, "cut", "moved"),)))
    world.step(STEP_S)
    # One source of four starts; the others keep what no bolt takes, for a second and in windows.
    assert world.tallies["t"].lost == pytest.approx(250 + 750 - 50 - 100 * LIVE_S)
    for _ in range(3):
        world.step(STEP_S)
    tally = world.tallies["t"]
    assert tally.served + tally.lost == pytest.approx(tally.offered)


@pytest.mark.slow
def test_a_paused_controller_measures_and_waits():
    world = World(narrow(), [offered(2_500.0, dealt(1))])
    moments = rehearse(world, controller(), 1800.0, paused_s=1200.0)
    moves = {moment.second: moment.moves for moment in moments}
    assert moves[1200.0] == 0 and moves[1200.0 + 2 * STEP_S] == 1
