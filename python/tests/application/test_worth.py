"""When a move is worth it."""

import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from stormcut.application.control.decision import LessHeadroom, LittleSaved, MoreHeadroom, Worth
from stormcut.application.control.worth import verdict
from stormcut.objective.headroom import Bottleneck

NODE = Bottleneck("cpu", "n1")
NOW = Worth(1.0, NODE, 100.0, "tuples/s")

rooms = st.one_of(st.just(math.inf), st.floats(0.01, 10))
worths = st.builds(Worth, rooms, st.just(NODE), st.floats(0, 1000), st.just("bytes/s"))


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
    assert found.reason == LittleSaved(NOW, little, 0.05)
    assert found.reason.share == 0.04


@given(worths, worths, worths, st.sampled_from((1.25, math.inf)))
def test_no_round_of_moves_comes_back(a, b, c, enough):
    def goes(x, y):
        return moves(x, y, enough)

    assert not (goes(a, b) and goes(b, a))
    assert not (goes(a, b) and goes(b, c) and goes(c, a))
