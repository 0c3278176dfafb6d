"""What an undo goes back along."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from stormcut.control.gate.change import Initiator
from stormcut.control.review.trail import STEPS_KEPT, Step, appended, way_back
from stormcut.model.cluster import Slot, Worker


def at(place):
    return (Worker(Slot(f"n{place}", 6700), (1, 2)),)


def step(before, after, initiator=Initiator.GAIN):
    return Step("p", 0.0, initiator, at(before), at(after))


def trail_of(steps):
    trail = ()
    for each in steps:
        trail = appended(trail, each)
    return trail


@given(places=st.lists(st.integers(0, 5), min_size=2, max_size=2 * STEPS_KEPT))
def test_undo_goes_back_step_by_step_to_storms_own_placement(places):
    places = [p for n, p in enumerate(places) if n == 0 or p != places[n - 1]]
    trail = trail_of(step(a, b) for a, b in pairwise(places))
    here, gone = places[-1], 0
    while (back := way_back(trail)) is not None:
        assert gone < len(places)
        if back.before != at(here):
            trail = appended(trail, Step("u", 0.0, Initiator.UNDO, at(here), back.before))
            here = next(p for p in range(6) if at(p) == back.before)
        gone += 1
        if len(trail) >= STEPS_KEPT:
            break
    if len(places) < STEPS_KEPT / 2:
        assert here == places[0]


def test_there_is_nothing_to_go_back_along_where_no_plan_has_moved():
    assert way_back(()) is None


def test_a_plan_that_never_came_to_be_is_no_step():
    trail = trail_of([step(0, 1), step(0, 2)])
    assert [s.after for s in trail] == [at(2)]
    assert way_back(trail).before == at(0)


def test_stages_of_one_move_are_one_step():
    trail = trail_of([step(0, 1), *(replace(step(n, n + 1), continues=n > 1) for n in (1, 2, 3))])
    assert trail == (step(0, 1), step(1, 4))


def test_the_first_place_is_never_forgotten():
    trail = trail_of(step(n, n + 1) for n in range(3 * STEPS_KEPT))
    assert len(trail) == STEPS_KEPT
    assert trail[0].before == at(0)


def test_a_step_is_told_from_what_storm_did_itself():
    found = Step("p", 0.0, Initiator.GAIN, at(0), at(1), hosts={"n1": "h1"})
    assert found.matches({1: ("h1", 6700), 2: ("h1", 6700)})
    assert found.matches({1: ("h1", 6700)})
    assert not found.matches({1: ("h1", 6700), 2: ("h2", 6700)})
