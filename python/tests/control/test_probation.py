"""Supervisors that come and go are trusted again only after a while."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from brain_clusters import topology
from governed import Stage, spread

from stormcut.control.observe.probation import (
    PROBATION_SECONDS,
    Probation,
    with_room_for_what_runs,
)
from stormcut.control.policy import Mode, Policy
from stormcut.model.cluster import ClusterState
from stormcut.running.declared import MAX_EXECUTORS_KEY, max_executors


def without(state: ClusterState, *names: str) -> ClusterState:
    return replace(state, supervisors=tuple(s for s in state.supervisors if s.id not in names))


def flapping(state: ClusterState, losses: int, every_s: float) -> tuple[Probation, float]:
    """Lose the first node so often; return who is on probation, and the moment of the last loss."""
    probation, now = Probation(), 1000.0
    for number in range(losses):
        now = 1000.0 + number * every_s
        probation = probation.observe(state, now - 10)
        probation = probation.observe(without(state, "n0"), now)
    probation = probation.observe(state, now + 10)
    return probation, now


def test_who_was_lost_twice_in_ten_minutes_is_on_probation_for_ten():
    state, _ = spread("a")
    probation, now = flapping(state, 2, 300.0)
    assert probation.present(now + 10) == ("n0",)
    assert probation.ends_in(now + 10) == PROBATION_SECONDS - 10
    assert probation.present(now + PROBATION_SECONDS) == ()
    assert math.isinf(probation.ends_in(now + PROBATION_SECONDS))


def test_who_was_lost_once_or_seldom_is_not():
    state, _ = spread("a")
    for losses, every_s in ((1, 0.0), (3, PROBATION_SECONDS + 1)):
        probation, now = flapping(state, losses, every_s)
        assert probation.present(now + 10) == ()


@pytest.mark.parametrize(
    ("gone", "flapped"), [(("n0", "n1"), ("n0", "n1")), (("n0", "n1", "n2"), ())]
)
def test_when_most_go_at_once_it_is_not_theirs(gone, flapped):
    state, _ = spread("a")
    probation = Probation()
    for number in range(3):
        probation = probation.observe(state, 100.0 * number)
        probation = probation.observe(without(state, *gone), 100.0 * number + 50)
    probation = probation.observe(state, 400.0)
    assert tuple(sorted(probation.present(400.0))) == flapped


def test_a_node_on_probation_has_room_for_what_runs_there_and_for_no_more_than_it_had():
    state, _ = spread("a", "b")
    most = {name: {MAX_EXECUTORS_KEY: number} for name, number in (("n1", "1"), ("n2", "9"))}
    nodes = tuple(replace(s, meta=most.get(s.id, s.meta)) for s in state.supervisors)
    limited = with_room_for_what_runs(replace(state, supervisors=nodes), {"n0", "n1", "n2"})
    # Two topologies with a worker of one executor on each node.
    assert [max_executors(s) for s in limited.supervisors] == [2, 1, 2, None]


def test_nothing_new_is_placed_there_and_what_runs_stays():
    """Without probation the emptiest node is where a new topology fits."""
    state, profiles = spread("a")
    stage = Stage(state, profiles, Policy(Mode.AUTOMATIC))
    stage.round()
    homes = stage.homes()
    idle = [s.id for s in state.supervisors if s.id not in {w.slot.node for w in homes["a"]}]
    for _ in range(2):
        whole = stage.state
        for name in idle:
            stage.state = without(stage.state, name)
            stage.round()
            stage.state = replace(stage.state, supervisors=whole.supervisors)
            stage.round()
    assert stage.brain.outlook()["on_probation"] == idle
    new = topology("b", (1, 1))
    stage.state = replace(stage.state, topologies=(*stage.state.topologies, new))
    stage.round()
    assert stage.homes()["a"] == homes["a"]
    assert not {w.slot.node for w in stage.homes()["b"]} & {*idle}
