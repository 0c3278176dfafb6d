"""What breaks a limit where it runs is mended by the workers that must leave, and no others."""

from dataclasses import replace

import pytest
from brain_clusters import (
    assert_worth_is_shown,
    closed,
    clusters,
    dealt,
    profile_of,
    supervisors,
    topology,
)
from hypothesis import assume, given

from stormcut.control.decide import completing, relief
from stormcut.control.decide.adviser import Settings
from stormcut.control.decide.decide import decide
from stormcut.control.decide.decision import Action
from stormcut.control.decide.question import Question
from stormcut.control.decide.relief import relieved
from stormcut.control.decide.wording import sentence
from stormcut.model.cluster import ClusterState, Slot, Worker
from stormcut.model.profile import TaskTraffic
from stormcut.running.situation import situation
from stormcut.running.usage import Usage
from stormcut.running.workload import workload


@pytest.mark.parametrize("names", [("a",), ("a", "b")])
@pytest.mark.parametrize("settings", [Settings(), Settings("stromax", {"skew": "9"})])
@pytest.mark.parametrize("busiest", [1.0, 103.0])
def test_a_drain_ends_no_worker_of_other_nodes(names, settings, busiest):
    """All five were moved, for 76 tuples/s less that nobody would have noticed.

    A thread that is full is so elsewhere, too.
    """
    running = [
        dealt(
            topology(name, (2, 3), workers=5),
            [Slot(f"n{n % 3}", 6700 + 5 * at + n) for n in range(5)],
        )
        for at, name in enumerate(names)
    ]
    state = closed(ClusterState(supervisors(3, slots=12), tuple(running)), "n0")
    profiles = {each.id: profile_of(each, cpu=1.0, rate=lambda *_: 5.0) for each in running}
    for name, profile in profiles.items():
        first, *others = profile.executors
        full = replace(first, cpu_percent=busiest)
        profiles[name] = replace(profile, executors=(full, *others))
    for decision in decide(Question(state, profiles, None, settings)).decided:
        assert "as h0 is drained" in sentence(decision)
        assert_worth_is_shown(decision)
        before = next(each for each in running if each.id == decision.topology).assignment
        staying = {worker for worker in before if worker.slot.node != "n0"}
        assert staying < set(decision.workers)
        assert "n0" not in {worker.slot.node for worker in decision.workers}


@pytest.mark.parametrize(("heap_mb", "sizes"), [(768.0, [1, 1, 1, 3]), (128.0, [1] * 6)])
def test_where_slots_are_too_few_those_that_leave_share_one_if_it_has_the_heap(heap_mb, sizes):
    chain = topology("a", (2, 3), workers=6)
    executors = tuple(replace(e, memory_mb=100.0) for e in chain.executors)
    chain = replace(chain, executors=executors, worker_heap_mb=heap_mb)
    running = dealt(chain, [Slot(f"n{n % 2}", 6700 + n // 2) for n in range(6)])
    state = closed(ClusterState(supervisors(2, slots=4), (running,)), "n0")
    profiles = {"a": profile_of(running, cpu=1.0, rate=lambda *_: 5.0)}
    (decision,) = decide(Question(state, profiles, None, Settings())).decided
    assert sorted(len(worker.executors) for worker in decision.workers) == sizes
    assert {w for w in running.assignment if w.slot.node == "n1"} <= set(decision.workers)


def crowded(most):
    """Return a topology of three workers on one node of three, which may hold so many executors."""
    running = replace(
        topology("a", (4, 4), acker=False, workers=3),
        assignment=(
            Worker(Slot("n0", 6700), (1, 2, 3, 4)),
            Worker(Slot("n0", 6701), (5, 6, 7)),
            Worker(Slot("n0", 6702), (8,)),
        ),
    )
    full, *others = supervisors(3)
    full = replace(full, meta={"stormcut.max.executors": str(most)})
    return running, ClusterState((full, *others), (running,))


@pytest.mark.parametrize(("most", "leaves"), [(7, {8}), (4, {1, 2, 3, 4}), (3, {1, 2, 3, 4, 8})])
def test_of_a_node_above_its_limit_the_fewest_executors_leave(most, leaves):
    running, state = crowded(most)
    profiles = {"a": profile_of(running, cpu=1.0, rate=lambda *_: 5.0)}
    (decision,) = decide(Question(state, profiles, None, Settings())).decided
    gone = {t for w in decision.workers if w.slot.node != "n0" for t in w.executors}
    assert gone == leaves
    assert {w for w in running.assignment if not leaves.issuperset(w.executors)} <= {
        *decision.workers
    }


def test_what_no_node_has_room_for_goes_to_several():
    """All workers were placed again."""
    running = dealt(
        topology("a", (12, 12), acker=False, workers=4), [Slot(f"n{n}", 6700) for n in range(4)]
    )
    state = closed(ClusterState(supervisors(4, cpu=110.0), (running,)), "n0")
    profiles = {"a": profile_of(running, rate=lambda *_: 0.1)}
    (decision,) = decide(Question(state, profiles, None, Settings())).decided
    staying = {worker for worker in running.assignment if worker.slot.node != "n0"}
    assert staying < set(decision.workers)
    assert len(decision.workers) - len(staying) > 1


@given(clusters())
def test_what_leaves_a_node_leaves_for_good_and_whole(cluster):
    state, profiles = cluster
    used = sorted({w.slot.node for t in state.topologies for w in t.assignment})
    assume(used and all(t.assignment and not t.unassigned for t in state.topologies))
    state = closed(state, used[0])
    found = decide(Question(state, profiles, None, Settings()))
    again = {t.id: t.assignment for t in state.topologies}
    again |= {each.topology: tuple(sorted(each.workers)) for each in found.decided}
    for each in found.decided:
        if each.choice.action is Action.MOVE:
            assert used[0] not in {worker.slot.node for worker in each.workers}
    moved = replace(
        state,
        topologies=tuple(replace(t, assignment=again[t.id]) for t in state.topologies),
    )
    for each in decide(Question(moved, profiles, None, Settings())).decided:
        assert tuple(sorted(each.workers)) == again[each.topology]


@pytest.mark.slow
def test_a_drain_of_a_large_topology_ends_no_other_worker():
    """From 2,001 executors on all its workers were ended."""
    slots = [Slot(f"n{n}", 6700 + port) for port in range(2) for n in range(12)]
    running = dealt(topology("a", (1_200, 1_200), acker=False, workers=24), slots)
    nodes = supervisors(12, cpu=4_000.0, memory=1e6)
    state = closed(ClusterState(nodes, (running,)), "n0")
    ends = [executor.start_task for executor in running.executors]
    traffic = tuple(TaskTraffic(ends[i], ends[1_200 + i], 1.0, None) for i in range(1_200))
    profile = replace(profile_of(running, rate=lambda *_: 0.0), traffic=traffic)
    (decision,) = decide(Question(state, {"a": profile}, None, Settings())).decided
    staying = {worker for worker in running.assignment if worker.slot.node != "n0"}
    assert staying < set(decision.workers)


@pytest.mark.parametrize(("counted", "node"), [(10**9, "n3"), (50, "n3"), (1, "n2")])
def test_with_less_time_fewer_nodes_are_tried(counted, node, monkeypatch):
    """The best of all is n3, which it talks to; n2 is the emptiest, and taken unseen."""
    monkeypatch.setattr(completing, "MAX_COUNTED", counted)
    pair = replace(
        topology("a", (1, 1), acker=False),
        assignment=(Worker(Slot("n0", 6700), (1,)), Worker(Slot("n3", 6700), (2,))),
    )
    others = [
        replace(dealt(topology(f"b{n}", (2,), acker=False), [Slot(f"n{n}", 6703)]), workers=1)
        for n in (1, 3)
    ]
    state = closed(ClusterState(supervisors(4), (pair, *others)), "n0")
    profiles = {each.id: profile_of(each, cpu=1.0) for each in state.topologies}
    decided = decide(Question(state, profiles, None, Settings())).decided
    (moved,) = (each.workers for each in decided if each.topology == "a")
    assert {worker.slot.node for worker in moved} == {"n3", node}


def test_with_little_time_nodes_that_have_no_room_are_not_counted(monkeypatch):
    """The emptiest node may hold no more executors: all workers were moved."""
    # Of one node, with four pairs and four executors.
    monkeypatch.setattr(completing, "MAX_COUNTED", 4 + 4 * completing.PAIRS_OF_EXECUTOR)
    running = dealt(
        topology("a", (2, 2), acker=False, workers=4), [Slot(f"n{n}", 6700) for n in range(4)]
    )
    full = {"stormcut.max.executors": "1"}
    nodes = tuple(
        replace(node, meta=full, cpu_percent=4_000.0) if node.id in ("n1", "n2") else node
        for node in supervisors(4)
    )
    state = closed(ClusterState(nodes, (running,)), "n0")
    profiles = {"a": profile_of(running, cpu=1.0)}
    (decision,) = decide(Question(state, profiles, None, Settings())).decided
    staying = {worker for worker in running.assignment if worker.slot.node != "n0"}
    (moved,) = set(decision.workers) - staying
    assert staying < set(decision.workers)
    assert moved.slot.node == "n3"


@pytest.mark.parametrize(("most", "is_relieved"), [(3, True), (2, False)])
def test_who_leaves_a_full_node_is_sought_in_bounded_time(most, is_relieved, monkeypatch):
    monkeypatch.setattr(relief, "MAX_TRIED", most)
    running, state = crowded(7)
    assert (relieved(running, situation_of(state), running.assignment) is not None) is is_relieved


def situation_of(state):
    """Return the only topology of a cluster, measured, on all of its nodes."""
    (running,) = state.topologies
    load = workload(running, profile_of(running, cpu=1.0, rate=lambda *_: 5.0))
    left = Usage(state).left({running.id})
    return situation((load,), left, (running.assignment,))


def test_where_all_would_have_to_leave_or_none_has_to_there_is_nothing_to_seek():
    running = dealt(topology("a", (2, 2), acker=False), [Slot("n0", 6700), Slot("n0", 6701)])
    for node, expected in (("n0", None), ("n1", running.assignment)):
        state = closed(ClusterState(supervisors(2), (running,)), node)
        assert relieved(running, situation_of(state), running.assignment) == expected


def test_a_node_above_several_limits_is_left_for_another_than_its_cpu():
    """A node whose CPU is full still serves."""
    running, state = crowded(7)
    full, *others = state.supervisors
    state = replace(state, supervisors=(replace(full, cpu_percent=20.0), *others))
    profiles = {"a": profile_of(running, rate=lambda *_: 5.0)}
    (decision,) = decide(Question(state, profiles, None, Settings())).decided
    assert decision.choice.reason.violation.constraint == "max_executors"
