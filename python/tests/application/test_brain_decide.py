import logging
from dataclasses import replace

import pytest
from brain_clusters import applied, clusters, dealt, profile_of, supervisors, topology
from hypothesis import given

from stormcut.application.decide import Settings, decide
from stormcut.model.cluster import ClusterState, Slot, Supervisor
from stormcut.model.plan import Plan

DEFAULT = Settings()


def plan_of(state, decisions):
    parts = tuple(decision.part for decision in decisions.decided)
    return Plan("p", state.fingerprint(), 0, parts, decisions.declined)


def slots(count, node="n{}", port=6700):
    return [Slot(node.format(i), port) for i in range(count)]


@given(clusters())
def test_every_plan_is_whole_and_takes_nobodys_slot(cluster):
    state, profiles = cluster
    decisions = decide(state, profiles, None, DEFAULT)
    parts = {decision.part.topology: decision.part for decision in decisions.decided}
    declined = {d.topology for d in decisions.declined}
    assert parts.keys() | declined == {t.id for t in state.topologies}
    assert not parts.keys() & declined
    used = []
    for running in state.topologies:
        if running.id in parts:
            workers = parts[running.id].workers
            tasks = [task for worker in workers for task in worker.executors]
            assert sorted(tasks) == sorted(e.start_task for e in running.executors)
            assert {w.slot for w in workers} <= state.slots
        else:
            workers = running.assignment
        used += [worker.slot for worker in workers]
    assert len(used) == len(set(used))


@given(clusters())
def test_an_applied_plan_changes_nothing_more(cluster):
    state, profiles = cluster
    first = decide(state, profiles, None, DEFAULT)
    plan = plan_of(state, first)
    after = applied(state, plan.topologies)
    second = plan_of(after, decide(after, profiles, plan, DEFAULT))
    assert second.places_like(plan)
    again = plan_of(state, decide(state, profiles, None, DEFAULT))
    assert again == plan


def test_a_new_topology_is_placed_by_its_structure():
    state = ClusterState(supervisors(3), (topology("t"),))
    (decision,) = decide(state, {}, None, DEFAULT).decided
    assert decision.evidence == "declared"
    assert decision.before is None
    assert decision.part.reason.startswith("placed by declared structure")


def test_a_running_topology_without_measurements_is_left_alone():
    state = ClusterState(supervisors(3), (dealt(topology("t"), slots(3)),))
    decisions = decide(state, {}, None, DEFAULT)
    assert not decisions.decided
    assert decisions.declined[0].reason == "runs already, nothing measured"


def test_a_measured_topology_moves_for_less_traffic_and_then_stays():
    running = dealt(topology("t", (2, 2)), slots(3))
    state = ClusterState(supervisors(3), (running,))
    profiles = {"t": profile_of(running)}
    first = decide(state, profiles, None, DEFAULT)
    (decision,) = first.decided
    assert decision.part.reason.startswith("moved by measured traffic")
    assert decision.after.inter_node_tuples_per_second == 0
    assert decision.before.inter_node_tuples_per_second > 0
    after = applied(state, [decision.part])
    (kept,) = decide(after, profiles, plan_of(state, first), DEFAULT).decided
    assert kept.part.workers == decision.part.workers
    assert kept.part.algorithm == "cut"
    assert kept.part.reason.startswith("kept")


def test_a_gain_below_the_threshold_moves_nothing():
    """Two pairs that must be apart; the one on the wrong side carries 1 % of the traffic."""
    running = topology("t", (2, 2), acker=False)
    halves = dealt(running, slots(2))
    rates = {(1, 3): 100.0, (2, 4): 100.0, (1, 4): 2.0, (2, 3): 2.0}
    profile = profile_of(running, rate=lambda s, t: rates[s, t])
    nodes = supervisors(2, meta={"stormcut.max.executors": "2"})
    state = ClusterState(nodes, (halves,))
    (decision,) = decide(state, {"t": profile}, None, DEFAULT).decided
    assert decision.part.workers == tuple(sorted(halves.assignment))
    assert "saves 0.0%" in decision.part.reason
    assert decision.part.algorithm == "kept"


@pytest.mark.parametrize(("min_gain", "moves"), [(0.05, True), (0.99, False)])
def test_the_threshold_is_a_share_of_the_present_cut(min_gain, moves):
    running = dealt(topology("t", (2, 2), acker=False), [*slots(1), Slot("n1", 6700)])
    rates = {(1, 3): 1.0, (2, 4): 1.0, (1, 4): 10.0, (2, 3): 10.0}
    profile = profile_of(running, rate=lambda s, t: rates[s, t])
    state = ClusterState(supervisors(2, meta={"stormcut.max.executors": "2"}), (running,))
    (decision,) = decide(state, {"t": profile}, None, Settings(min_gain=min_gain)).decided
    assert (decision.after.inter_node_tuples_per_second == 2) is moves


def test_a_broken_limit_is_left_even_for_more_traffic():
    running = dealt(topology("t", (2, 2), acker=False), slots(1))
    profile = profile_of(running, cpu=60.0)
    state = ClusterState(supervisors(2, cpu=200.0), (running,))
    (decision,) = decide(state, {"t": profile}, None, DEFAULT).decided
    assert decision.part.reason.startswith("moved, as node n0 holds 240 % CPU")
    assert decision.after.nodes_used == 2


def test_a_profile_of_other_executors_is_not_used_and_named():
    running = dealt(topology("t"), slots(3))
    other = profile_of(topology("t", (2, 4)))
    state = ClusterState(supervisors(3), (running,))
    (declined,) = decide(state, {"t": other}, None, DEFAULT).declined
    assert "the profile does not fit: it has executor [7 7] of c1" in declined.reason


def test_a_profile_may_lack_system_executors():
    running = dealt(topology("t"), slots(3))
    profile = profile_of(running)
    without = replace(
        profile, executors=tuple(e for e in profile.executors if e.component != "__acker")
    )
    state = ClusterState(supervisors(3), (running,))
    (decision,) = decide(state, {"t": without}, None, DEFAULT).decided
    assert decision.evidence == "measured"


def test_a_dead_worker_returns_to_where_the_plan_had_it():
    running = dealt(topology("t", (20, 20)), [Slot("n1", 6702), Slot("n2", 6703)])
    state = ClusterState(supervisors(3), (running,))
    placed = decide(ClusterState(supervisors(3), (topology("t", (20, 20)),)), {}, None, DEFAULT)
    plan = plan_of(state, placed)
    whole = applied(state, plan.topologies)
    half = replace(whole.topologies[0], assignment=whole.topologies[0].assignment[:1])
    hurt = replace(whole, topologies=(half,))
    (decision,) = decide(hurt, {}, plan, DEFAULT).decided
    assert decision.part.workers == plan.topologies[0].workers
    assert decision.part.reason == "kept: as planned before"


def test_a_worker_on_a_slot_that_is_not_offered_now_is_left_alone():
    running = dealt(topology("t"), [Slot("gone", 6700), Slot("n0", 6700)])
    state = ClusterState(supervisors(2), (running,))
    (declined,) = decide(state, {"t": profile_of(running)}, None, DEFAULT).declined
    assert "no supervisor offers" in declined.reason


def test_another_topologys_load_and_executors_are_not_there_twice():
    first = dealt(topology("a", (4,), acker=False), slots(1))
    new = topology("b", (2, 2), acker=False)
    nodes = supervisors(2, meta={"stormcut.max.executors": "4"})
    state = ClusterState(nodes, (first, new))
    (decision,) = decide(state, {}, None, DEFAULT).decided
    assert {worker.slot.node for worker in decision.part.workers} == {"n1"}


def test_what_does_not_fit_is_declined_with_the_constraint():
    state = ClusterState(supervisors(1, meta={"stormcut.max.executors": "2"}), (topology("t"),))
    (declined,) = decide(state, {}, None, DEFAULT).declined
    assert "max_executors" in declined.reason


def test_no_slots_no_plan():
    state = ClusterState((Supervisor("n", "h", ()),), (topology("t"),))
    (declined,) = decide(state, {}, None, DEFAULT).declined
    assert declined.reason.startswith("not placed: no node has a free slot")


def test_storms_default_heap_fills_no_supervisor():
    """40 executors of 128 MB are more than 3072 MB; Storm would place them all the same."""
    state = ClusterState(supervisors(1, cpu=None), (topology("t", (20, 20)),))
    assert decide(state, {}, None, DEFAULT).decided


def test_a_declared_heap_counts():
    running = topology("t", (2, 2))
    heavy = replace(
        running, executors=tuple(replace(e, memory_mb=1000.0) for e in running.executors)
    )
    state = ClusterState(supervisors(1), (heavy,))
    assert "memory" in decide(state, {}, None, DEFAULT).declined[0].reason


def test_one_full_node_does_not_make_the_cluster_small():
    blocker = dealt(topology("a", (30,), acker=False), slots(1))
    new = topology("b", (10, 10), acker=False)
    state = ClusterState(supervisors(3), (blocker, new))
    profiles = {"a": profile_of(blocker, cpu=13.0)}
    decisions = decide(state, profiles, None, DEFAULT)
    part = next(d.part for d in decisions.decided if d.part.topology == "b")
    assert "n0" not in {worker.slot.node for worker in part.workers}


@pytest.mark.parametrize("text", ["0", "-1", "many", "", "1.5", "٣"])
def test_an_unusable_limit_is_logged_once_and_ignored(caplog, text):
    nodes = tuple(
        replace(s, id=f"{s.id}-{text}")
        for s in supervisors(1, meta={"stormcut.max.executors": text})
    )
    state = ClusterState(nodes, (topology("t"),))
    with caplog.at_level(logging.WARNING):
        assert decide(state, {}, None, DEFAULT).decided
        assert decide(state, {}, None, DEFAULT).decided
    assert caplog.text.count("is not a whole number above 0") == 1


def test_another_algorithm_gets_no_options_that_it_does_not_have():
    state = ClusterState(supervisors(2), (topology("t"),))
    (decision,) = decide(state, {}, None, Settings("even")).decided
    assert decision.part.algorithm == "even"
