"""When a move is worth it."""

import math
from dataclasses import replace

import pytest
from brain_clusters import dealt, profile_of, situation_of, supervisors, topology
from hypothesis import given
from hypothesis import strategies as st

from stormcut.control.decide.adviser import ENOUGH
from stormcut.control.decide.decision import (
    LessHeadroom,
    LittleGained,
    LittleReached,
    LittleSaved,
    MoreHeadroom,
    Worth,
)
from stormcut.control.decide.worth import NOISE, verdict, worth
from stormcut.model.cluster import ClusterState, Slot
from stormcut.objective.headroom import Bottleneck

NODE = Bottleneck("cpu", "n1")
NOW = Worth(1.0, NODE, 100.0, "tuples/s")

rooms = st.one_of(st.just(math.inf), st.floats(0.01, 10))
worths = st.builds(
    Worth,
    rooms,
    st.just(NODE),
    st.floats(0, 1000),
    st.just("bytes/s"),
    st.floats(0, 100),
    reached=st.one_of(st.just(()), st.tuples(st.floats(0, 1000))),
)


def moves(now, then, enough=1.25):
    return verdict(now, then, 0.05, enough).moves


def test_more_head_room_is_worth_more_traffic():
    more = Worth(1.2, NODE, 500.0, "tuples/s")
    found = verdict(NOW, more, 0.05, 1.25)
    assert found.moves
    assert found.reason == MoreHeadroom(NOW, more)


def test_less_traffic_is_not_worth_head_room_that_is_needed():
    less = Worth(0.9, NODE, 0.0, "tuples/s")
    found = verdict(NOW, less, 0.05, 1.25)
    assert not found.moves
    assert found.reason == LessHeadroom(NOW, less)


def test_head_room_beyond_what_is_enough_does_not_count():
    spread = replace(NOW, headroom=9.0)
    assert moves(spread, Worth(1.3, NODE, 10.0, "tuples/s"))
    assert not moves(Worth(1.3, NODE, 10.0, "tuples/s"), spread)
    assert not moves(spread, Worth(1.3, NODE, 10.0, "tuples/s"), math.inf)


def test_a_little_less_traffic_is_no_reason():
    little = replace(NOW, travels=96.0)
    found = verdict(NOW, little, 0.05, 1.25)
    assert not found.moves
    assert found.reason == LittleSaved(NOW, little, NOISE)
    assert found.reason.share == 0.04


def test_a_gain_that_noise_may_seem_to_make_is_none():
    now, then = replace(NOW, noise=0.1), replace(NOW, headroom=1.15, noise=0.05)
    found = verdict(now, then, 0.05, 1.5)
    assert not found.moves
    assert isinstance(found.reason, LittleGained)
    assert found.reason.chance == pytest.approx(1.64 * math.hypot(0.1, 0.05))
    assert verdict(now, replace(then, headroom=1.4), 0.05, 1.5).moves


def test_a_move_out_of_an_overload_must_let_sources_reach_more():
    """`cut` had 1.45 times the head-room of `even`, and acked 0.90 times as much."""
    now = replace(NOW, headroom=0.74, reached=(100.0, 10.0))
    then = replace(NOW, headroom=1.07, reached=(101.0, 10.0))
    found = verdict(now, then, 0.05, 1.25)
    assert not found.moves
    assert found.reason == LittleReached(now, then, 0.05)
    assert found.reason.growth == pytest.approx(1.01)
    # One of two gains; nobody knows what it gains.
    assert verdict(now, replace(then, reached=(90.0, 11.0)), 0.05, 1.25).moves
    assert verdict(now, replace(then, reached=()), 0.05, 1.25).moves


def test_more_than_enough_head_room_is_worth_nothing():
    now, then = replace(NOW, headroom=2.3), replace(NOW, headroom=3.2)
    assert not verdict(now, then, 0.05, ENOUGH).moves


def test_what_chance_may_have_counted_is_no_reason():
    # 100 tuples counted in a second: ± 10.
    counted, less = replace(NOW, deviation=10.0), replace(NOW, travels=64.0, deviation=8.0)
    found = verdict(counted, less, 0.05, 1.25)
    assert not found.moves
    assert found.reason.chance == pytest.approx(3 * math.hypot(10, 8) / 100)
    # As many a second, counted for a hundred.
    assert moves(replace(counted, deviation=1.0), replace(less, deviation=0.8))


@given(worths, worths, worths, st.sampled_from((1.25, math.inf)))
def test_no_round_of_moves_comes_back(a, b, c, enough):
    def goes(x, y):
        return moves(x, y, enough)

    assert not (goes(a, b) and goes(b, a))
    assert not (goes(a, b) and goes(b, c) and goes(c, a))


@pytest.mark.parametrize(("tuples_per_s", "is_whole"), [(10.0, False), (1e9, True)])
def test_what_travelling_takes_is_a_share_of_the_nodes_that_are_used(tuples_per_s, is_whole):
    def measure_burden(*nodes):
        running = dealt(topology("t", (2, 2), acker=False), [Slot(node, 6700) for node in nodes])
        profile = profile_of(running, rate=lambda *_: tuples_per_s)
        return worth(*situation_of(ClusterState(supervisors(3), (running,)), profile)).burden

    share = measure_burden("n0", "n1")
    assert (share == 1.0) if is_whole else (0.0 < share < 1.0)
    assert measure_burden("n1", "n2") == share
