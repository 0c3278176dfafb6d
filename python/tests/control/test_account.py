"""Where the model's account of the present is wrong its forecast of the future is not used."""

import pytest
from governed import Stage, spread

from stormcut.control.gate.account import Account
from stormcut.control.orders import Orders
from stormcut.control.policy import Mode, Policy
from stormcut.control.review.trial import MoveReview
from stormcut.profile.decay import Slice
from stormcut.profile.totals import TaskTotals

AUTOMATIC = Policy(Mode.AUTOMATIC, cool_down_s=0.0)


@pytest.mark.parametrize(
    ("account", "headroom", "wrong"),
    [
        (Account(), 0.9, False),
        (Account(), 0.75, False),
        (Account(), 0.5, True),
        (Account(factor=4.0), 0.5, False),
        (Account(factor=0.25), 2.0, True),
        # 200 tuples/s were published, and 100 are carried: head-room of a half fits.
        (Account(share=0.5), 0.5, False),
        (Account(share=0.5), 0.3, True),
        (Account(share=2.0), 0.7, True),
        (Account(is_stalled=True), 0.5, False),
        (Account(is_stalled=True, share=0.1), 0.5, False),
        (Account(is_stalled=True), 1.2, False),
        (Account(is_stalled=True), 2.0, True),
        (Account(is_stalled=True), float("inf"), True),
        (Account(), float("inf"), False),
    ],
)
def test_what_a_head_room_cannot_be(account, headroom, wrong):
    assert account.contradicts(headroom) is wrong


def test_what_the_model_does_not_explain_moves_nothing_for_gain():
    state, profiles = spread("a")
    stage = Stage(state, profiles, AUTOMATIC)
    stage.brain.accounts = lambda: {"a": Account(is_stalled=True)}
    assert stage.round() == []
    assert stage.waits() == {"a": "contradicted"}
    stage.brain.accounts = lambda: {"a": Account()}
    stage.clock.seconds += 60.0
    assert stage.round() == ["a"]


def test_a_drain_does_not_ask_the_model():
    state, profiles = spread("a")
    stage = Stage(state, profiles, AUTOMATIC, Orders(drained=frozenset({"n0"})))
    stage.brain.accounts = lambda: {"a": Account(is_stalled=True)}
    assert stage.round() == ["a"]


def watched(*rates):
    """A trial after slices of one spout and one bolt, with tuples acked and failed in each."""
    trial = MoveReview()
    for number, (acked, failed) in enumerate(rates):
        end = 10 * (number + 1)
        spout = TaskTotals(1, "s", (1, 1), 1e4, acked=acked, failed=failed, workers=(("a", 1),))
        bolt = TaskTotals(2, "b", (2, 2), 1e4, executed=100, workers=(("b", 1),))
        trial.add(Slice(end - 10, end, (spout, bolt), ()))
    return trial


@pytest.mark.parametrize(
    ("rates", "stalls"),
    [
        ([(100, 0)] * 8, False),
        ([(100, 5)] * 8, False),
        ([(100, 0)] * 8 + [(50, 50)], True),
        ([(100, 0)] * 8 + [(0, 0)], True),
        # Nothing of it was ever acked: it has no ackers.
        ([(0, 0)] * 8, False),
    ],
)
def test_a_topology_stalls_when_nothing_is_acked_or_much_fails(rates, stalls):
    assert watched(*rates).is_stalled is stalls
