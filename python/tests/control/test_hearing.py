"""Workers that fall silent: nothing moves for gain, and nothing is placed where they were."""

from dataclasses import replace

from brain_clusters import dealt, profile_of, supervisors, topology
from governed import Stage
from hypothesis import given
from hypothesis import strategies as st

from stormcut.control.observe.hearing import (
    EMPTIED_SECONDS,
    MIN_SECONDS,
    REMEMBERED,
    Hearing,
    Silence,
)
from stormcut.control.orders import Orders
from stormcut.control.policy import Mode, Policy
from stormcut.model.cluster import ClusterState, Slot
from stormcut.profile.decay import Slice
from stormcut.profile.totals import TaskTotals

AUTOMATIC = Policy(Mode.AUTOMATIC, cool_down_s=0.0)


def slice_of(places, ms=5000.0):
    """A slice in which each task, by its number, ran on a host."""
    tasks = (TaskTotals(t, "c", (t, t), ms, workers=((host, 6700),)) for t, host in places.items())
    return Slice(0.0, 5, tuple(tasks), ())


def rhythm(hearing, places, begin, end, every=5.0):
    now = begin
    while now < end:
        hearing.take({"t": slice_of(places)}, now)
        now += every


def test_a_host_is_silent_when_others_are_heard_and_it_is_not():
    hearing = Hearing()
    rhythm(hearing, {1: "a", 2: "b"}, 0.0, 60.0)
    assert hearing.heard() == {("t", "a"): True, ("t", "b"): True}
    rhythm(hearing, {1: "a"}, 60.0, 60.0 + 4 * 5.0)
    assert hearing.heard() == {("t", "a"): True, ("t", "b"): False}
    hearing.take({"t": slice_of({2: "b"})}, 80.0)
    assert all(hearing.heard().values())


def test_metrics_that_all_come_late_make_nobody_silent():
    hearing = Hearing()
    rhythm(hearing, {1: "a", 2: "b"}, 0.0, 60.0)
    hearing.take({"t": slice_of({1: "a", 2: "b"})}, 600.0)
    assert all(hearing.heard().values())


def test_the_shortest_interval_that_counts_is_a_sign():
    hearing = Hearing()
    for now in range(0, 60, 5):
        hearing.take({"t": slice_of({1: "a", 2: "b"}, ms=0.5)}, float(now))
    assert hearing.heard() == {("t", "a"): True, ("t", "b"): True}


def test_a_rhythm_of_long_ago_is_forgotten():
    """A long pause once does not make every later one look usual."""
    hearing = Hearing()
    rhythm(hearing, {1: "a", 2: "b"}, 0.0, 30.0)
    rhythm(hearing, {1: "a", 2: "b"}, 130.0, 130.0 + (REMEMBERED + 1) * 5.0)
    last = 130.0 + REMEMBERED * 5.0
    rhythm(hearing, {1: "a"}, last + 5.0, last + 40.0)
    assert hearing.heard() == {("t", "a"): True, ("t", "b"): False}


def test_an_interval_that_does_not_count_is_no_sign():
    hearing = Hearing()
    rhythm(hearing, {1: "a", 2: "b"}, 0.0, 60.0)
    for now in (65.0, 70.0, 75.0):
        hearing.take({"t": slice_of({1: "a"})}, now)
        hearing.take({"t": slice_of({2: "b"}, ms=0.0)}, now)
    assert hearing.heard()["t", "b"] is False


def test_a_host_that_all_tasks_have_left_is_not_silent():
    hearing = Hearing()
    rhythm(hearing, {1: "a", 2: "b"}, 0.0, 60.0)
    rhythm(hearing, {1: "a", 2: "c"}, 60.0, 200.0)
    assert hearing.heard() == {("t", "a"): True, ("t", "c"): True}


@given(every=st.floats(0.5, 60.0), late=st.floats(0.0, 1.4))
def test_who_keeps_its_rhythm_is_heard(every, late):
    hearing = Hearing()
    rhythm(hearing, {1: "a", 2: "b"}, 0.0, 10 * every, every)
    hearing.take({"t": slice_of({1: "a"})}, 10 * every + late * every)
    assert all(hearing.heard().values())
    hearing.take({"t": slice_of({1: "a"})}, 10 * every + max(3 * every, 2 * MIN_SECONDS))
    assert hearing.heard()["t", "b"] is False


def spread():
    """Two topologies that pay to be packed, on four nodes, each with slots left."""
    slots = [Slot(f"n{node}", 6700) for node in range(4)]
    state = ClusterState(supervisors(4, slots=4), (dealt(topology("a", (4, 4)), slots),))
    return state, {t.id: profile_of(t, rate=lambda a, b: 50_000.0) for t in state.topologies}


def heard(state, *silent):
    hosts = {s.id: s.host for s in state.supervisors}
    return {
        (t.id, hosts[w.slot.node]): w.slot.node not in silent
        for t in state.topologies
        for w in t.assignment
    }


def test_nothing_moves_for_gain_while_workers_are_silent_and_status_says_so():
    state, profiles = spread()
    stage = Stage(state, profiles, AUTOMATIC)
    stage.brain.heard = lambda: heard(stage.state, "n3")
    assert stage.round() == []
    assert set(stage.waits().values()) == {"silent"}
    assert stage.brain.outlook()["silent"] == ["n3"]
    stage.brain.heard = lambda: heard(stage.state)
    stage.clock.seconds += 60.0
    assert stage.round() == [state.topologies[0].id]


def test_one_silent_topology_holds_itself_alone():
    """Whose metrics stop, on purpose or not, once held every move of all others."""
    state, profiles = spread()
    evil = dealt(topology("evil-2-1", (1, 1), acker=False), [Slot("n3", 6703)])
    both = ClusterState(state.supervisors, (*state.topologies, evil))
    stage = Stage(both, profiles, AUTOMATIC)
    host = next(s.host for s in state.supervisors if s.id == "n3")
    stage.brain.heard = lambda: {**heard(state), ("evil-2-1", host): False}
    assert stage.round() == [state.topologies[0].id]


def test_lost_executors_are_not_placed_on_a_node_that_has_fallen_silent():
    """Only the silent node, and the one that lost them, have a slot left."""
    state, profiles = spread()
    nodes = tuple(
        replace(s, ports=s.ports[:1]) if s.id in ("n1", "n2") else s for s in state.supervisors
    )
    (whole,) = state.topologies
    kept = tuple(w for w in whole.assignment if w.slot.node != "n0")

    def placed_on(*silent):
        stage = Stage(replace(state, supervisors=nodes), profiles, AUTOMATIC)
        stage.store.ordered = Orders(is_paused=True)
        stage.round()
        stage.store.ordered = Orders()
        # As Nimbus does, without the port of the dead worker.
        listed = tuple(replace(s, ports=s.ports[1:]) if s.id == "n0" else s for s in nodes)
        stage.state = ClusterState(listed, (replace(whole, assignment=kept),))
        stage.brain.heard = lambda: heard(stage.state, *silent)
        part = stage.brain.plan(stage.state).of(whole.id)
        if part is None:
            return None
        (new,) = set(part.workers) - set(kept)
        return new.slot.node

    assert placed_on() == "n3"
    # Nor on the one that has just lost them.
    assert placed_on("n3") is None


def test_a_drain_does_not_wait_for_who_is_silent():
    state, profiles = spread()
    stage = Stage(state, profiles, AUTOMATIC, Orders(drained=frozenset({"n0"})))
    stage.brain.heard = lambda: heard(stage.state, "n3")
    assert stage.round() == [state.topologies[0].id]
    assert "n0" not in {w.slot.node for t in stage.state.topologies for w in t.assignment}


class TestSilence:
    def test_one_worker_of_several_says_that_the_node_lives(self):
        both = tuple(
            dealt(topology(name, (2,)), [Slot("n0", port), Slot("n1", port)])
            for name, port in (("a", 6700), ("b", 6701))
        )
        state = ClusterState(supervisors(2), both)
        silence = Silence()
        silence = silence.observe(state, heard(state) | {("a-1-1", "host-n0"): False}, 0.0)
        names = {s.id: s.host for s in state.supervisors}
        silence = silence.observe(state, heard(state) | {(both[0].id, names["n0"]): False}, 0.0)
        assert silence.topologies == {both[0].id}
        assert silence.nodes == frozenset()

    def test_an_emptied_node_is_left_out_for_a_while(self):
        state, _ = spread()
        silence = Silence()
        silence = silence.observe(state, heard(state, "n3"), 0.0)
        (before,) = state.topologies
        slots = [Slot(f"n{node}", 6701) for node in range(3)]
        emptied = ClusterState(state.supervisors, (dealt(before, slots),))
        silence = silence.observe(emptied, heard(emptied), EMPTIED_SECONDS - 1)
        assert silence.nodes == {"n3"}
        assert not silence.topologies
        silence = silence.observe(emptied, heard(emptied), EMPTIED_SECONDS)
        assert silence.nodes == frozenset()

    def test_one_that_nimbus_does_not_list_any_more_is_forgotten(self):
        state, _ = spread()
        silence = Silence()
        silence = silence.observe(state, heard(state, "n3"), 0.0)
        fewer = ClusterState(state.supervisors[:3], state.topologies)
        silence = silence.observe(fewer, {}, 1.0)
        assert silence.nodes == frozenset()
