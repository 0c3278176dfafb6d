"""When a move is worth it."""

import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from stormcut.application.control.worth import Worth, verdict
from stormcut.objective.headroom import Bottleneck

NODE = Bottleneck("cpu", "n1")
NOW = Worth(1.0, NODE, 100.0, "tuples/s")

rooms = st.one_of(st.just(math.inf), st.floats(0.01, 10))
worths = st.builds(Worth, rooms, st.just(NODE), st.floats(0, 1000), st.just("bytes/s"))


def moves(now, then, enough=1.25):
    return verdict(now, then, 0.05, enough).moves


def test_more_head_room_is_worth_more_traffic():
    found = verdict(NOW, Worth(1.2, NODE, 500.0, "tuples/s"), 0.05, 1.25)
    assert found.moves
    assert found.why == " for head-room, 1.00 -> 1.20: CPU of node n1 was full first"


def test_less_traffic_is_not_worth_head_room_that_is_needed():
    found = verdict(NOW, Worth(0.9, NODE, 0.0, "tuples/s"), 0.05, 1.25)
    assert not found.moves
    assert "from 1.00 to 0.90: CPU of node n1 would be full first" in found.why


def test_head_room_beyond_what_is_enough_does_not_count():
    spread = replace(NOW, headroom=9.0)
    assert moves(spread, Worth(1.3, NODE, 10.0, "tuples/s"))
    assert not moves(Worth(1.3, NODE, 10.0, "tuples/s"), spread)
    assert not moves(spread, Worth(1.3, NODE, 10.0, "tuples/s"), math.inf)


def test_a_little_less_traffic_is_no_reason():
    assert not moves(NOW, replace(NOW, travels=96.0))
    assert (
        "saves 4.0% of 100.0 tuples/s between nodes"
        in verdict(NOW, replace(NOW, travels=96.0), 0.05, 1.25).why
    )


@given(worths, worths, worths, st.sampled_from((1.25, math.inf)))
def test_no_round_of_moves_comes_back(a, b, c, enough):
    def goes(x, y):
        return moves(x, y, enough)

    assert not (goes(a, b) and goes(b, a))
    assert not (goes(a, b) and goes(b, c) and goes(c, a))
