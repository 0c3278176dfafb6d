"""The one order of placements."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problem_strategies import placements, problems, with_resources

from stormcut.model.network import Link
from stormcut.model.placement import Placement
from stormcut.model.problem import Component, Node, Problem, Stream, Topology
from stormcut.objective.order import (
    ENOUGH_ROOM,
    PlacementValue,
    advantage,
    best,
    is_ahead,
)


def chain(executors, cpu, rate=100.0, windows=None):
    parts = (
        Component.uniform("s", executors, "spout", cpu),
        Component.uniform("b", executors, "bolt", cpu),
    )
    stream = Stream("s", "b", rate, bytes_per_tuple=100.0)
    return Topology("t", parts, (stream,), max_spout_pending=windows)


def value(problem, *slots):
    return PlacementValue(problem, Placement(np.array(slots)))


def cluster(cpu, count=2, link=None):
    return tuple(
        Node(f"n{i}", (0, 1), cpu_percent=cpu, link=Link(link, link)) for i in range(count)
    )


def test_limits_come_first():
    problem = Problem(cluster(60.0), (chain(2, 20.0),))
    packed, spread = value(problem, 0, 0, 0, 0), value(problem, 0, 2, 0, 2)
    assert advantage(spread, packed) == "within the limits of all nodes"


def test_rates_are_carried_before_anything_else():
    problem = Problem(cluster(80.0), (chain(2, 20.0),))  # an idle worker takes 7.5 points
    packed, spread = value(problem, 0, 0, 0, 0), value(problem, 0, 2, 0, 2)
    assert packed.is_feasible
    assert advantage(spread, packed) == "the rates asked for are carried"


def test_room_counts_up_to_what_is_enough_and_then_traffic():
    tight = Problem(cluster(120.0), (chain(2, 20.0),))
    assert "head-room" in advantage(value(tight, 0, 2, 0, 2), value(tight, 0, 0, 0, 0))
    roomy = Problem(cluster(400.0), (chain(2, 20.0),))
    packed, spread = value(roomy, 0, 0, 0, 0), value(roomy, 0, 2, 0, 2)
    assert spread.room > packed.room * 1.01 > ENOUGH_ROOM
    assert advantage(packed, spread) == "0 tuples/s between nodes instead of 50"


def test_where_the_rates_are_not_carried_more_of_them_is_better():
    problem = Problem(cluster(400.0, link=0.02), (chain(2, 90.0),))
    near, far = value(problem, 0, 2, 0, 2), value(problem, 0, 0, 2, 2)
    assert not near.carries and not far.carries
    assert near.sustained > far.sustained
    assert advantage(near, far) == (
        f"{near.sustained:,.0f} of the tuples/s asked for instead of {far.sustained:,.0f}"
    )


def test_restarts_count_where_all_else_is_equal():
    problem = Problem(cluster(400.0), (chain(1, 20.0),), Placement(np.array([0, 0])))
    stays, moves = value(problem, 0, 0), value(problem, 2, 2)
    assert advantage(stays, moves) == "0 workers restarted instead of 2"
    assert advantage(moves, stays) is None


@given(st.data())
def test_no_two_placements_are_ahead_of_each_other_and_none_of_itself(data):
    problem = data.draw(problems().flatmap(with_resources))
    one, other = (PlacementValue(problem, data.draw(placements(problem))) for _ in range(2))
    assert not (is_ahead(one, other) and is_ahead(other, one))
    assert not is_ahead(one, one, 0.0)


@given(st.data())
def test_the_best_of_several_is_behind_none_unless_they_go_round_in_circles(data):
    problem = data.draw(problems().flatmap(with_resources))
    values = [PlacementValue(problem, data.draw(placements(problem))) for _ in range(4)]
    chosen = values[best(values)]
    for rival in values:
        if is_ahead(rival, chosen):
            assert any(is_ahead(each, rival) for each in values)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_best_does_not_depend_on_the_order_in_which_they_come(order):
    problem = Problem(cluster(120.0), (chain(2, 20.0),))
    slots = [(0, 0, 0, 0), (0, 2, 0, 2), (0, 0, 2, 2)]
    values = [value(problem, *slots[at]) for at in order]
    assert values[best(values)].placement.slots.tolist() == [0, 2, 0, 2]
