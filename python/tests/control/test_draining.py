"""Spouts rest while their topology moves, never for long, and never by anybody's mistake."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
from brain_clusters import topology
from governed import Stage, Valve, spread
from simulated import SimulatedClock

from stormcut.control.apply.draining import (
    ADOPT_SECONDS,
    GIVEN_UP_SECONDS,
    MAX_SECONDS,
    UNUSED_SECONDS,
    Draining,
)
from stormcut.control.operations import approving
from stormcut.control.orders import Undo
from stormcut.control.policy import Mode, Policy, TopologyRule
from stormcut.model.cluster import Slot, Worker


class Drained(Stage):
    """A cluster in which topologies that ``rule`` matches are drained for 20 s before a move."""

    def __init__(self, *names, mode=Mode.AUTOMATIC, rule="a"):
        state, profiles = spread(*(names or ("a",)))
        policy = Policy(mode, topologies=(TopologyRule(rule, drain_s=20.0),))
        super().__init__(state, profiles, policy)
        self.valve = Valve()
        self.draining = Draining(self.valve, self.clock)
        self.brain._draining = self.draining

    def round(self, seconds=10.0):
        moved = super().round(seconds)
        self.draining.watch(self.state)
        return moved


def test_it_rests_moves_and_goes_on():
    stage = Drained()
    assert stage.round() == []
    assert stage.waits() == {"a": "rest"}
    assert stage.valve.inactive == stage.draining.resting() == {"a"}
    assert stage.round() == []
    assert stage.round() == ["a"]
    assert stage.valve.inactive == {"a"}
    stage.round(ADOPT_SECONDS + 1)
    stage.round(1)
    assert not stage.valve.inactive
    assert stage.valve.kept == ()
    assert not stage.draining.resting()


def test_others_that_move_with_it_wait_for_it():
    stage = Drained("a", "b")
    assert stage.round() == []
    assert set(stage.waits()) == {"a", "b"}
    assert stage.valve.inactive == {"a"}
    stage.round()
    assert sorted(stage.round()) == ["a", "b"]


def test_what_is_approved_rests_with_what_moves_anyhow():
    stage = Drained("a", "b", mode=Mode.APPROVE, rule="*")
    (b,) = (t for t in stage.state.topologies if t.id == "b")
    tasks = tuple(executor.start_task for executor in b.executors)
    stage.store.back = {"b": Undo((Worker(Slot("n3", 6703), tasks),))}
    stage.round(1000)
    assert stage.valve.inactive == {"b"}
    shown = stage.brain.outlook()
    stage.store.ordered = approving(shown["proposal"], None, shown)(stage.store.ordered)
    assert stage.round() == []
    assert stage.valve.inactive == {"a", "b"}
    assert stage.waits() == {"a": "rest", "b": "rest"}
    made = [stage.round() for _ in range(2)]
    assert made == [["b"], ["a"]], "each as soon as it has rested"
    _, entry = stage.store.plans[-1]
    assert {x["topology"]: x["initiator"] for x in entry["topologies"]}["a"] == "approve"


def test_where_it_cannot_be_drained_it_moves_all_the_same(caplog):
    stage = Drained()
    stage.valve.is_down = True
    assert stage.round() == []
    assert stage.round() == ["a"]
    assert not stage.valve.inactive
    assert "a moves without being drained: Nimbus does not answer" in caplog.text


def test_what_a_person_has_deactivated_moves_and_stays_deactivated():
    stage = Drained()
    stage.valve.inactive.add("a")
    stage.round()
    assert stage.round() == ["a"]
    for _ in range(5):
        stage.round(30)
    assert stage.valve.inactive == {"a"}
    assert stage.valve.done == []


def test_it_never_rests_for_long():
    stage = Drained()
    stage.round()
    assert stage.valve.inactive == {"a"}
    # Nimbus asks no more, and the move never comes.
    for _ in range(12):
        stage.clock.seconds += 10
        stage.draining.watch(stage.state)
    assert not stage.valve.inactive
    assert MAX_SECONDS >= 12 * 10
    assert UNUSED_SECONDS < MAX_SECONDS
    # It has failed once: next time it is not tried.
    assert stage.round() == ["a"]


def test_activation_is_tried_until_it_is_done(caplog):
    caplog.set_level(logging.INFO)
    stage = Drained()
    stage.round()
    stage.round()
    assert stage.round() == ["a"]
    for _ in range(2):
        stage.valve.is_down = True
        for _ in range(10):
            stage.round(30)
        assert stage.valve.inactive == {"a"}
    # Once, not at each look.
    late = "a is not activated yet (it has moved): Nimbus does not answer"
    assert caplog.messages.count(late) == 1
    stage.valve.is_down = False
    stage.round()
    assert not stage.valve.inactive
    assert stage.valve.kept == ()
    assert "a is active again: it has moved" in caplog.messages


def test_who_has_moved_may_rest_again():
    stage = Drained()
    stage.round()
    stage.round()
    assert stage.round() == ["a"]
    stage.round(ADOPT_SECONDS)
    assert not stage.draining.resting()
    # Back where it was, it is to move once more.
    stage.state = spread("a")[0]
    assert stage.round(3600) == []
    assert stage.valve.inactive == {"a"}


def test_who_is_killed_while_it_rests_may_rest_when_it_is_submitted_again():
    stage = Drained()
    stage.round()
    assert stage.valve.inactive == {"a"}
    running, stage.state = stage.state, replace(stage.state, topologies=())
    stage.round()
    assert not stage.draining.resting()
    stage.state = running
    assert stage.round() == []
    assert stage.valve.inactive == {"a"}


@pytest.mark.parametrize("crashed", ["marked", "deactivated"])
def test_who_leads_next_activates_what_was_left(crashed):
    valve, clock = Valve(), SimulatedClock()
    valve.kept = ("a", "b")
    if crashed == "deactivated":
        valve.inactive = {"a", "b"}
    draining = Draining(valve, clock)
    draining.take_over()
    valve.is_down = True
    draining.watch(None)
    assert valve.kept == ("a", "b")
    valve.is_down = False
    draining.watch(None)
    assert not valve.inactive
    assert valve.kept == ()


def test_what_was_left_is_activated_again_and_again_until_it_is_done():
    class Half(Valve):
        """Nimbus tells what is deactivated, but activates nothing while it is down."""

        asked = 0

        def marked(self):
            self.asked += 1
            return self.kept

    valve = Half()
    valve.kept, valve.inactive, valve.is_down = ("a",), {"a"}, True
    draining = Draining(valve, SimulatedClock())
    draining.watch(None)
    draining.watch(None)
    assert (valve.inactive, valve.asked) == ({"a"}, 1)
    valve.is_down = False
    draining.watch(None)
    assert (valve.inactive, valve.kept) == (set(), ())
    asked = valve.asked
    draining.watch(None)
    assert valve.asked == asked


def rests(is_foreign=False):
    """Return a topology that rests, or that a person has deactivated, and who sees to that."""
    stage = Drained()
    (running,) = stage.state.topologies
    home, elsewhere = (tuple(sorted(running.assignment)), (Worker(Slot("n9", 1), (1,)),))
    if is_foreign:
        stage.valve.inactive.add("a")

    def goes_on(seconds, is_asked):
        stage.clock.seconds += seconds
        if is_asked:
            stage.draining.ask("a", home, elsewhere, 20.0)
        stage.draining.watch(stage.state)

    goes_on(0.0, True)
    return stage, goes_on


def test_it_rests_no_longer_than_it_may_however_often_it_is_asked_for():
    stage, goes_on = rests()
    for _ in range(int(MAX_SECONDS / 10)):
        goes_on(10.0, True)
    assert stage.valve.inactive == {"a"}
    goes_on(1.0, True)
    assert not stage.valve.inactive
    # It has failed: for a while it moves without.
    goes_on(GIVEN_UP_SECONDS - 1, True)
    assert not stage.valve.inactive
    goes_on(2.0, True)
    assert stage.valve.inactive == {"a"}


def test_what_a_person_has_deactivated_is_forgotten_once_nobody_asks_for_its_move():
    stage, goes_on = rests(is_foreign=True)
    for _ in range(20):
        goes_on(10.0, True)
    goes_on(UNUSED_SECONDS, False)
    # Still known: were it active by now, it would not be deactivated.
    stage.valve.inactive.clear()
    goes_on(0.0, True)
    assert not stage.valve.inactive
    goes_on(UNUSED_SECONDS + 1, False)
    goes_on(GIVEN_UP_SECONDS + 1, True)
    assert stage.valve.inactive == {"a"}


def test_who_ends_before_anything_rests_activates_nothing():
    stage = Drained()
    (running,) = stage.state.topologies
    stage.draining.ask("a", running.assignment, (), 20.0)
    stage.draining.close()
    assert stage.valve.done == []


def test_an_orderly_end_leaves_nothing_behind(caplog):
    caplog.set_level(logging.INFO)
    stage = Drained()
    stage.round()
    assert stage.valve.inactive
    stage.draining.close()
    assert "a is active again: the controller ends" in caplog.messages
    assert not stage.valve.inactive
    assert stage.valve.kept == ()
    assert GIVEN_UP_SECONDS > MAX_SECONDS


def test_it_rests_although_something_new_is_placed_at_the_same_time():
    stage = Drained()
    new = topology("b", (1, 1))
    stage.state = replace(stage.state, topologies=(*stage.state.topologies, new))
    assert stage.round() == []
    assert stage.valve.inactive == {"a"}
