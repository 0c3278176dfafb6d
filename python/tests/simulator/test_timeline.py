"""What happens meanwhile: loads, slow and lost nodes, moves."""

from __future__ import annotations

import numpy as np
import pytest

from stormcut.model.errors import InvalidInput
from stormcut.model.network import Costs
from stormcut.model.placement import Placement
from stormcut.model.problem import Component, Node, Problem, Stream, Topology
from stormcut.simulator.changes import (
    LoadChange,
    NodeBack,
    NodeLost,
    SimulatedMove,
    SpeedChange,
    WorkersKilled,
)
from stormcut.simulator.timeline import over_time

FREE = Costs(0.0, 0.0, 0.0, 0.0, 0.0)


def component(name, us, kind="bolt", count=1):
    zeros = np.zeros(count)
    return Component(name, kind, count, zeros, zeros + 1, us)


def cluster(window=None, ackers=False):
    """A source on the first node, a bolt on the second, which a third could hold as well."""
    parts = [component("s", 100.0, "spout"), component("b", 2_000.0)]
    streams = [Stream("s", "b", 200.0)]
    if ackers:
        parts.append(component("__acker", 10.0))
        streams += [
            Stream("s", "__acker", 200.0),
            Stream("b", "__acker", 200.0, stream="ack"),
            Stream("__acker", "s", 200.0, "direct", "done"),
        ]
    topology = Topology("t", tuple(parts), tuple(streams), max_spout_pending=window)
    nodes = tuple(Node(name, (1,), cpu_percent=100.0) for name in "abc")
    slots = [0, 1, 0] if ackers else [0, 1]
    return Problem(nodes, (topology,), costs=FREE), Placement(np.array(slots))


def run(problem, placement, *changes, seconds=60.0, **options):
    return over_time(problem, placement, changes, seconds=seconds, every=1.0, **options)


def at(found, second):
    return next(each for each in found if each.begin <= second < each.end)


def test_nothing_happens_and_nothing_changes():
    found = run(*cluster())
    assert len(found) == 60
    assert {each.lost + each.failed for each in found} == {0}
    assert all(each.sources["t"] == pytest.approx(200, abs=1.5) for each in found)


def test_a_load_that_is_too_much_piles_up_until_it_ends():
    found = run(*cluster(), LoadChange(10.0, 4.0), LoadChange(20.0, 1.0), seconds=80.0)
    assert at(found, 5).under_way < 5
    assert at(found, 15).sources["t"] == pytest.approx(800, rel=0.01)
    # 500/s are executed, 800/s come for ten seconds; 300/s are left to take what has piled up.
    assert at(found, 15).executed["t"] == pytest.approx(500, rel=0.01)
    assert at(found, 19).under_way == pytest.approx(3000, rel=0.02)
    assert at(found, 19).latency["t"].p50 == pytest.approx(3_560, rel=0.05)
    assert at(found, 31).under_way < 10
    assert at(found, 25).under_way == pytest.approx(3000 - 6 * 300, rel=0.05)


def test_a_slow_node_carries_less():
    slow = SpeedChange(10.0, "b", cpu=0.2)
    found = run(*cluster(window=10), slow, SpeedChange(30.0, "b", cpu=1.0), closed=True)
    assert at(found, 5).sources["t"] == pytest.approx(500, rel=0.02)
    assert at(found, 20).sources["t"] == pytest.approx(100, rel=0.02)
    assert at(found, 40).sources["t"] == pytest.approx(500, rel=0.02)


def test_a_lost_node_stops_a_window_until_its_trees_have_failed():
    """The window is full of trees that miss a tuple: they fail after 30 to 60 seconds."""
    lost = NodeLost(10.5, "b"), NodeBack(12.0, "b")
    found = run(*cluster(10, True), *lost, seconds=120.0, closed=True, restart_s=5.0)
    assert at(found, 5).sources["t"] == pytest.approx(500, rel=0.02)
    assert sum(each.lost for each in found) == 10
    assert sum(each.failed for each in found) == 10
    silent = [each.begin for each in found if each.sources["t"] == 0]
    assert silent[0] == 11.0 and 40 < silent[-1] < 72
    assert found[-1].sources["t"] == pytest.approx(at(found, 5).sources["t"], rel=0.02)


def test_in_open_loop_a_lost_node_costs_what_comes_meanwhile():
    lost = NodeLost(10.0, "b"), NodeBack(15.0, "b")
    found = run(*cluster(), *lost, restart_s=5.0)
    assert sum(each.lost for each in found) == pytest.approx(200 * 10, rel=0.01)
    assert at(found, 12).executed["t"] == 0
    assert at(found, 25).executed["t"] == pytest.approx(200, rel=0.02)


def test_killed_workers_are_back_sooner_than_those_of_a_lost_node():
    found = run(*cluster(), WorkersKilled(10.0, "b"), restart_s=10.0)
    assert [each.begin for each in found if each.executed["t"] == 0] == [10.0, 11.0, 12.0, 13.0]
    assert sum(each.lost for each in found) == pytest.approx(200 * 4, rel=0.01)


def test_what_ends_twice_starts_after_the_second_end():
    twice = NodeLost(10.0, "b"), NodeBack(11.0, "b"), NodeLost(12.0, "b"), NodeBack(19.0, "b")
    found = run(*cluster(), *twice, restart_s=10.0)
    silent = [each.begin for each in found if each.executed["t"] == 0]
    assert silent == [*range(10, 29)]


@pytest.mark.parametrize("end", [10.1, 10.3, 10.7, 11.9])
def test_a_worker_is_back_whenever_it_ended(end):
    """The engine counts nanoseconds: its seconds may be a little less than those of a change."""
    for each in (WorkersKilled(end, "b"), SimulatedMove(end, Placement(np.array([0, 2])))):
        found = run(*cluster(), each, restart_s=3.3)
        assert at(found, 20).executed["t"] == pytest.approx(200, rel=0.02)


def test_what_starts_already_is_not_back_sooner_for_a_kill():
    found = run(*cluster(), NodeLost(9.0, "b"), NodeBack(10.0, "b"), WorkersKilled(11.0, "b"))
    silent = [each.begin for each in found if each.executed["t"] == 0]
    assert silent == [*range(9, 20)]


def test_what_happens_at_the_end_of_an_interval_counts_to_the_next():
    found = run(*cluster(10, True), WorkersKilled(10.0, "b"), closed=True)
    assert [at(found, second).lost for second in (9, 10)] == [0, 10]


def test_a_move_restarts_what_moves_and_goes_on_elsewhere():
    problem, placement = cluster()
    elsewhere = Placement(np.array([0, 2]))
    found = run(
        problem, placement, SimulatedMove(10.0, elsewhere), SpeedChange(30.0, "b", cpu=0.01)
    )
    assert at(found, 15).executed["t"] == 0
    # It is not on the slow node any more.
    assert at(found, 40).executed["t"] == pytest.approx(200, rel=0.02)
    assert sum(each.lost for each in found) == pytest.approx(200 * 10, rel=0.01)


def test_a_node_that_is_lost_starts_nothing():
    problem, placement = cluster()
    elsewhere = Placement(np.array([0, 2]))
    found = run(problem, placement, NodeLost(10.0, "c"), SimulatedMove(20.0, elsewhere))
    assert found[-1].executed["t"] == 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ((LoadChange(5.0, 1.0), LoadChange(4.0, 1.0)), "time does not go back"),
        ((NodeLost(1.0, "z"),), "no node 'z'"),
        ((LoadChange(1.0, 1.0, "u"),), "no topology 'u'"),
    ],
)
def test_bad_changes_are_refused(changes, words):
    with pytest.raises(InvalidInput, match=words):
        run(*cluster(), *changes)
