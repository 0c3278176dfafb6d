import logging
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from brain_clusters import applied, closed, clusters, dealt, profile_of, supervisors, topology
from hypothesis import given

from stormcut.control.decide.adviser import Settings
from stormcut.control.decide.attempts import node_sets
from stormcut.control.decide.decide import decide
from stormcut.control.decide.decision import (
    Action,
    Circumstance,
    Evidence,
    Ground,
    LessTraffic,
)
from stormcut.control.decide.question import Question
from stormcut.control.decide.wording import sentence
from stormcut.control.history import plan_parts
from stormcut.control.orders import Undo
from stormcut.model.cluster import ClusterState, Slot, Supervisor
from stormcut.model.plan import Plan, TopologyPlan
from stormcut.running.situation import running_problem

DEFAULT = Settings()
PACKING = Settings(packs_unmeasured=True)
FAST = Settings(options={"effort": "0"})


def plan_of(state, decisions):
    return Plan("p", state.fingerprint(), 0, *plan_parts(decisions))


def slots(count, node="n{}", port=6700):
    return [Slot(node.format(i), port) for i in range(count)]


@given(clusters())
def test_every_plan_is_whole_and_takes_nobodys_slot(cluster):
    state, profiles = cluster
    decisions = decide(Question(state, profiles, None, DEFAULT))
    parts = {decision.topology: decision for decision in decisions.decided}
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


@pytest.mark.slow
@given(clusters())
def test_an_applied_plan_changes_nothing_more(cluster):
    state, profiles = cluster
    first = decide(Question(state, profiles, None, DEFAULT))
    plan = plan_of(state, first)
    assert plan_of(state, decide(Question(state, profiles, None, DEFAULT))) == plan
    after = applied(state, plan.topologies)
    second = plan_of(after, decide(Question(after, profiles, plan, DEFAULT)))
    if any(each.choice.reason is Circumstance.LOST for each in first.decided):
        # A better place for what was lost is a decision of its own.
        plan, after = second, applied(after, second.topologies)
        second = plan_of(after, decide(Question(after, profiles, plan, DEFAULT)))
    assert second.places_like(plan)


def test_a_new_topology_keeps_its_number_of_workers_spread_as_storm_would():
    """28 executors that ask for 8 workers once got one JVM."""
    state = ClusterState(
        supervisors(4, meta={}), (topology("t", (7, 10, 10), workers=8, policy=None),)
    )
    (decision,) = decide(Question(state, {}, None, DEFAULT)).decided
    assert len(decision.workers) == 8
    assert {len(w.executors) for w in decision.workers} == {3, 4}
    assert Counter(w.slot.node for w in decision.workers) == {"n0": 2, "n1": 2, "n2": 2, "n3": 2}
    assert sentence(decision).startswith("placed as Storm would (even), until it is measured")


def test_what_declares_resources_is_spread_as_r_storm_would():
    new = topology("t", (4, 4), workers=3, policy="keep")
    declared = replace(new, executors=tuple(replace(e, cpu_percent=60.0) for e in new.executors))
    state = ClusterState(supervisors(4), (declared,))
    (decision,) = decide(Question(state, {}, None, DEFAULT)).decided
    assert sentence(decision).startswith("placed as Storm would (r-storm)")


def test_what_is_new_is_not_spread_onto_drained_nodes():
    first, *others = supervisors(4)
    drained = replace(first, meta={"stormcut.max.executors": "0"})
    state = ClusterState((drained, *others), (topology("t", (4, 4), workers=4, policy=None),))
    (decision,) = decide(Question(state, {}, None, DEFAULT)).decided
    assert {w.slot.node for w in decision.workers} == {"n1", "n2", "n3"}


def test_where_storms_way_breaks_a_limit_the_algorithm_is_asked():
    limits = ("2", "9")
    nodes = tuple(
        replace(s, meta={"stormcut.max.executors": most})
        for s, most in zip(supervisors(2), limits, strict=True)
    )
    state = ClusterState(nodes, (topology("t", (4, 4), acker=False, workers=2),))
    (decision,) = decide(Question(state, {}, None, DEFAULT)).decided
    assert sentence(decision).startswith("placed by declared structure")


def test_a_new_topology_is_packed_by_its_structure_where_that_is_asked_for():
    state = ClusterState(supervisors(3), (topology("t"),))
    (decision,) = decide(Question(state, {}, None, PACKING)).decided
    assert decision.evidence.ground.value == "declared"
    assert decision.before is None
    assert sentence(decision).startswith("placed by declared structure")


@pytest.mark.parametrize(
    ("algorithm", "basis"),
    [
        ("ols", "measured traffic"),
        ("even", "even, blind to traffic"),
        ("stromax", "stromax, blind to traffic"),
    ],
)
def test_measured_traffic_is_named_only_where_the_algorithm_uses_it(algorithm, basis):
    new = topology("t")
    state = ClusterState(supervisors(3), (new,))
    (decision,) = decide(
        Question(state, {"t": profile_of(new, memory=None)}, None, Settings(algorithm))
    ).decided
    assert sentence(decision).startswith(f"placed by {basis}: ")


def test_a_move_by_a_blind_algorithm_says_so():
    running = dealt(topology("t", (2, 2), acker=False), slots(3))
    state = ClusterState(supervisors(3), (running,))
    (decision,) = decide(
        Question(state, {"t": profile_of(running)}, None, Settings("r-storm-distance"))
    ).decided
    assert sentence(decision).startswith("moved by r-storm-distance, blind to traffic: ")


def test_a_running_topology_without_measurements_is_left_alone():
    state = ClusterState(supervisors(3), (dealt(topology("t"), slots(3)),))
    decisions = decide(Question(state, {}, None, DEFAULT))
    assert not decisions.decided
    assert sentence(decisions.declined[0]) == "runs already, nothing measured"


def test_a_measured_topology_moves_for_less_traffic_and_then_stays():
    running = dealt(topology("t", (2, 2)), slots(3))
    state = ClusterState(supervisors(3), (running,))
    profiles = {"t": profile_of(running)}
    first = decide(Question(state, profiles, None, DEFAULT))
    (decision,) = first.decided
    assert sentence(decision).startswith("moved by measured traffic")
    assert decision.after.metrics.inter_node_tuples_per_second == 0
    assert decision.before.metrics.inter_node_tuples_per_second > 0
    after = applied(state, [decision])
    (kept,) = decide(Question(after, profiles, plan_of(state, first), DEFAULT)).decided
    assert kept.workers == decision.workers
    assert kept.choice.algorithm == "cut"
    assert sentence(kept).startswith("kept")


def test_a_decision_is_a_value_with_its_numbers():
    running = dealt(topology("t", (2, 2)), slots(3))
    state, profile = ClusterState(supervisors(3), (running,)), profile_of(running)
    (decision,) = decide(Question(state, {"t": profile}, None, DEFAULT)).decided
    choice = decision.choice
    assert (choice.action, choice.algorithm) == (Action.MOVE, "cut")
    assert decision.evidence == Evidence(Ground.MEASURED, profile.to_epoch_s, uses_traffic=True)
    assert choice.reason == LessTraffic(decision.before.worth, decision.after.worth)
    assert choice.now.travels == decision.before.metrics.inter_node_tuples_per_second > 0
    assert choice.then.travels == 0
    (declined,) = decide(Question(state, {}, None, DEFAULT)).declined
    assert declined.choice.action is Action.DECLINE
    assert declined.choice.reason is Circumstance.UNMEASURED
    assert (declined.workers, declined.evidence) == ((), Evidence(Ground.KEPT))


def test_a_gain_below_the_threshold_moves_nothing():
    """Two pairs that must be apart; the one on the wrong side carries 1 % of the traffic."""
    running = topology("t", (2, 2), acker=False)
    halves = dealt(running, slots(2))
    rates = {(1, 3): 100.0, (2, 4): 100.0, (1, 4): 2.0, (2, 3): 2.0}
    profile = profile_of(running, rate=lambda s, t: rates[s, t])
    nodes = supervisors(2, meta={"stormcut.max.executors": "2"})
    state = ClusterState(nodes, (halves,))
    (decision,) = decide(Question(state, {"t": profile}, None, DEFAULT)).decided
    assert decision.workers == tuple(sorted(halves.assignment))
    assert "saves 0.0%" in sentence(decision)
    assert decision.choice.algorithm == "kept"


@pytest.mark.parametrize(("min_gain", "moves"), [(0.05, True), (0.99, False)])
def test_the_threshold_is_a_share_of_the_present_cut(min_gain, moves):
    running = dealt(topology("t", (2, 2), acker=False), [*slots(1), Slot("n1", 6700)])
    rates = {(1, 3): 1.0, (2, 4): 1.0, (1, 4): 10.0, (2, 3): 10.0}
    profile = profile_of(running, rate=lambda s, t: rates[s, t])
    state = ClusterState(supervisors(2, meta={"stormcut.max.executors": "2"}), (running,))
    (decision,) = decide(Question(state, {"t": profile}, None, Settings(min_gain=min_gain))).decided
    assert (decision.after.metrics.inter_node_tuples_per_second == 2) is moves


def test_a_broken_limit_is_left_even_for_more_traffic():
    running = dealt(topology("t", (2, 2), acker=False), slots(1))
    profile = profile_of(running, cpu=60.0)
    state = ClusterState(supervisors(2, cpu=200.0), (running,))
    (decision,) = decide(Question(state, {"t": profile}, None, DEFAULT)).decided
    assert sentence(decision).startswith("moved, as node n0 holds 240 % CPU")
    assert decision.after.metrics.nodes_used == 2


def test_a_profile_of_other_executors_is_not_used_and_named():
    running = dealt(topology("t"), slots(3))
    other = profile_of(topology("t", (2, 4)))
    state = ClusterState(supervisors(3), (running,))
    (declined,) = decide(Question(state, {"t": other}, None, DEFAULT)).declined
    assert "the profile does not fit: it has executor [7 7] of c1" in sentence(declined)


def test_a_profile_may_lack_system_executors():
    running = dealt(topology("t"), slots(3))
    profile = profile_of(running)
    without = replace(
        profile, executors=tuple(e for e in profile.executors if e.component != "__acker")
    )
    state = ClusterState(supervisors(3), (running,))
    (decision,) = decide(Question(state, {"t": without}, None, DEFAULT)).decided
    assert decision.evidence.ground.value == "measured"


@pytest.mark.parametrize("workers", [0, -3])
def test_a_topology_that_asks_for_no_worker_costs_nobody_a_plan(workers):
    others = (topology("a", (2, 2), acker=False), topology("b", (2, 2), acker=False))
    state = ClusterState(supervisors(4), (others[0], replace(others[1], workers=workers)))
    decided = decide(Question(state, {}, None, DEFAULT)).decided
    assert {decision.topology for decision in decided} == {"a", "b"}


@pytest.mark.parametrize("digits", [20, 309, 5000])
def test_an_absurd_number_of_one_supervisor_costs_nobody_a_plan(digits):
    *others, last = supervisors(4)
    nodes = (*others, replace(last, meta={"stormcut.max.executors": "9" * digits}))
    running = dealt(topology("t"), slots(3))
    state = ClusterState(nodes, (running,))
    (decision,) = decide(Question(state, {"t": profile_of(running)}, None, DEFAULT)).decided
    assert decision.workers


def test_a_dead_worker_returns_to_where_the_plan_had_it():
    """Others of the topology live on that node: it is not the node that has died."""
    running = dealt(topology("t", (20, 20)), [Slot("n1", 6702), Slot("n1", 6703)])
    whole = ClusterState(supervisors(3), (running,))
    workers = tuple(sorted(running.assignment))
    plan = Plan("p", "", 0, (TopologyPlan("t", workers, "cut", ""),), ())
    hurt = replace(whole, topologies=(replace(running, assignment=workers[:1]),))
    (decision,) = decide(Question(hurt, {}, plan, DEFAULT)).decided
    assert decision.workers == workers
    assert sentence(decision) == "kept: as planned before"


@pytest.mark.parametrize(("limit", "returns"), [("7", True), ("6", False)])
def test_a_dead_worker_does_not_return_to_a_node_that_others_fill(limit, returns):
    running = dealt(topology("t", (2, 2), acker=False), [Slot("n1", 6702), Slot("n1", 6703)])
    other = dealt(topology("u", (3,), acker=False), [Slot("n1", 6700)])
    workers = tuple(sorted(running.assignment))
    plan = Plan("p", "", 0, (TopologyPlan("t", workers, "cut", ""),), ())
    nodes = supervisors(3, meta={"stormcut.max.executors": limit})
    hurt = ClusterState(nodes, (replace(running, assignment=workers[:1]), other))
    decided = decide(Question(hurt, {}, plan, DEFAULT)).decided
    (now,) = (each.workers for each in decided if each.topology == "t")
    assert (now == workers) is returns
    assert workers[0] in now
    assert sum(len(worker.executors) for worker in now) == 4


def test_the_roomiest_nodes_are_tried_first_and_those_above_the_share_of_cpu_last():
    sizes = (70.0, 60.0, 10.0)
    nodes = tuple(
        replace(each, cpu_percent=cpu) for each, cpu in zip(supervisors(3), sizes, strict=True)
    )
    problem = running_problem(ClusterState(nodes, (topology("t"),)), {})
    assert problem.executor_cpu.sum() == 60.0
    tried = [[node.id for node in each] for each in node_sets(problem, {})]
    assert tried == [["n0", "n1"], ["n0", "n1", "n2"], ["n0"]]


def test_a_worker_on_a_slot_that_is_not_offered_now_is_left_alone():
    running = dealt(topology("t"), [Slot("gone", 6700), Slot("n0", 6700)])
    state = ClusterState(supervisors(2), (running,))
    (declined,) = decide(Question(state, {"t": profile_of(running)}, None, DEFAULT)).declined
    assert sentence(declined) == "a supervisor is away, its workers run on; left alone"


@pytest.mark.parametrize("measured", [False, True])
def test_what_a_plan_put_stays_in_the_plan_while_a_supervisor_is_away(measured):
    """And is as planned when it is back: nobody has declined it meanwhile."""
    new = ClusterState(supervisors(3), (topology("t", (20, 20)),))
    plan = plan_of(new, decide(Question(new, {}, None, DEFAULT)))
    whole = applied(new, plan.topologies)
    profiles = {"t": profile_of(whole.topologies[0])} if measured else {}
    used = {worker.slot.node for worker in plan.topologies[0].workers}
    away = replace(whole, supervisors=tuple(s for s in whole.supervisors if s.id not in used))
    for _ in range(2):
        decisions = decide(Question(away, profiles, plan, DEFAULT))
        (decision,) = decisions.decided
        assert decision.workers == plan.topologies[0].workers
        assert "a supervisor is away" in sentence(decision)
        plan = plan_of(away, decisions)
    back = decide(Question(whole, {}, plan, DEFAULT)).decided
    assert [decision.workers for decision in back] == [plan.topologies[0].workers]


def test_a_plan_that_came_too_late_is_offered_again_for_a_while():
    new = ClusterState(supervisors(3), (topology("t", (20, 20)),))
    plan = plan_of(new, decide(Question(new, {}, None, DEFAULT)))
    elsewhere = [Slot("n1", 6702), Slot("n2", 6702)]
    stormed = ClusterState(supervisors(3), (dealt(topology("t", (20, 20)), elsewhere),))
    (decision,) = decide(Question(stormed, {}, plan, DEFAULT, is_recent=True)).decided
    assert decision.workers == plan.topologies[0].workers
    assert sentence(decision).startswith("as planned, too late at first: ")
    (declined,) = decide(Question(stormed, {}, plan, DEFAULT)).declined
    assert sentence(declined) == "runs already, nothing measured"
    # Not onto what another topology has taken meanwhile.
    (first, *_) = plan.topologies[0].workers
    other = dealt(topology("a", (1,), acker=False), [first.slot])
    taken = replace(stormed, topologies=(other, *stormed.topologies))
    assert decide(Question(taken, {}, plan, DEFAULT, is_recent=True)).decided == ()


def test_a_plan_that_came_too_late_is_not_offered_for_a_node_that_is_drained_since():
    new = ClusterState(supervisors(3), (topology("t", (20, 20)),))
    plan = plan_of(new, decide(Question(new, {}, None, DEFAULT)))
    used = plan.topologies[0].workers[0].slot.node
    (there, *_) = (each.id for each in new.supervisors if each.id != used)
    elsewhere = [Slot(there, 6702), Slot(there, 6703)]
    stormed = replace(new, topologies=(dealt(topology("t", (20, 20)), elsewhere),))
    stormed = closed(stormed, used)
    assert decide(Question(stormed, {}, plan, DEFAULT, is_recent=True)).decided == ()


def test_what_storm_would_put_on_a_full_node_is_placed_by_the_algorithm():
    """Storm's scheduler deals five executors to two nodes, of which one may hold but one."""
    small, large = supervisors(2)
    nodes = (replace(small, meta={"stormcut.max.executors": "1"}), large)
    running = topology("t", (2, 2), policy=None)
    (decision,) = decide(Question(ClusterState(nodes, (running,)), {}, None, DEFAULT)).decided
    assert decision.choice.reason is not Circumstance.SPREAD
    assert decision.choice.algorithm == "cut"
    count = Counter({w.slot.node: len(w.executors) for w in decision.workers})
    assert count["n0"] <= 1 and count.total() == 5
    # Where there is room it is Storm's.
    roomy = ClusterState(supervisors(2), (running,))
    (decision,) = decide(Question(roomy, {}, None, DEFAULT)).decided
    assert decision.choice.reason is Circumstance.SPREAD


def test_a_topology_without_executors_is_left_to_storm():
    state = ClusterState(supervisors(2), (replace(topology("a"), executors=()), topology("b")))
    decisions = decide(Question(state, {}, None, DEFAULT))
    assert [decision.topology for decision in decisions.decided] == ["b"]
    (declined,) = decisions.declined
    assert (declined.topology, declined.choice.reason) == ("a", Circumstance.NO_EXECUTORS)


def test_another_topologys_load_and_executors_are_not_there_twice():
    first = dealt(topology("a", (4,), acker=False), slots(1))
    new = topology("b", (2, 2), acker=False)
    nodes = supervisors(2, meta={"stormcut.max.executors": "4"})
    state = ClusterState(nodes, (first, new))
    (decision,) = decide(Question(state, {}, None, DEFAULT)).decided
    assert {worker.slot.node for worker in decision.workers} == {"n1"}


def test_what_does_not_fit_is_declined_with_the_constraint():
    state = ClusterState(supervisors(1, meta={"stormcut.max.executors": "2"}), (topology("t"),))
    (declined,) = decide(Question(state, {}, None, DEFAULT)).declined
    assert "max_executors" in sentence(declined)


def test_no_slots_no_plan():
    state = ClusterState((Supervisor("n", "h", ()),), (topology("t"),))
    (declined,) = decide(Question(state, {}, None, DEFAULT)).declined
    assert sentence(declined).startswith("not placed: no node has a free slot")


def test_storms_default_heap_fills_no_supervisor():
    """40 executors of 128 MB are more than 3072 MB; Storm would place them all the same."""
    state = ClusterState(supervisors(1, cpu=None), (topology("t", (20, 20)),))
    assert decide(Question(state, {}, None, DEFAULT)).decided


def test_a_declared_heap_counts():
    running = topology("t", (2, 2))
    heavy = replace(
        running, executors=tuple(replace(e, memory_mb=1000.0) for e in running.executors)
    )
    state = ClusterState(supervisors(1), (heavy,))
    assert "memory" in sentence(decide(Question(state, {}, None, DEFAULT)).declined[0])


@pytest.mark.slow
def test_one_full_node_does_not_make_the_cluster_small():
    blocker = dealt(topology("a", (30,), acker=False), slots(1))
    new = topology("b", (10, 10), acker=False)
    state = ClusterState(supervisors(3), (blocker, new))
    profiles = {"a": profile_of(blocker, cpu=13.0)}
    decisions = decide(Question(state, profiles, None, DEFAULT))
    part = next(d for d in decisions.decided if d.topology == "b")
    assert "n0" not in {worker.slot.node for worker in part.workers}


@pytest.mark.slow
@pytest.mark.parametrize("text", ["-1", "many", "", "1.5", "٣"])
def test_an_unusable_limit_is_logged_once_and_ignored(caplog, text):
    nodes = tuple(
        replace(s, id=f"{s.id}-{text}")
        for s in supervisors(1, meta={"stormcut.max.executors": text})
    )
    state = ClusterState(nodes, (topology("t"),))
    with caplog.at_level(logging.WARNING):
        assert decide(Question(state, {}, None, DEFAULT)).decided
        assert decide(Question(state, {}, None, DEFAULT)).decided
    assert caplog.text.count("is not a whole number") == 1


def test_another_algorithm_gets_no_options_that_it_does_not_have():
    state = ClusterState(supervisors(2), (topology("t"),))
    (decision,) = decide(Question(state, {}, None, Settings("even"))).decided
    assert decision.choice.algorithm == "even"


def placed_with(state, profiles=None, **how):
    (decision,) = decide(
        Question(state, profiles or {}, None, **{"settings": PACKING, **how})
    ).decided
    return decision


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "policy", "workers"),
    [
        ({}, None, 3),
        ({}, "keep", 3),
        ({}, "pack", 1),
        ({}, "any", 1),
        ({"workers": "any"}, None, 1),
        ({"workers": "any"}, "keep", 3),
        ({"workers": "keep"}, "pack", 1),
    ],
)
def test_the_number_of_workers_is_kept_unless_the_topology_or_else_the_brain_says_otherwise(
    option, policy, workers
):
    new = replace(topology("t", (4, 4), workers=3), workers_policy=policy)
    state = ClusterState(supervisors(3, cpu=None), (new,))
    decision = placed_with(state, settings=replace(PACKING, options=option))
    assert decision.after.metrics.workers_used == workers
    assert decision.workers_asked == 3
    assert decision.workers_policy == ("any" if workers == 1 else "keep")


@pytest.mark.parametrize("name", ["p-scheduler", "metis-tasks"])
def test_algorithms_that_cannot_keep_workers_get_no_word_of_it(name):
    """METIS's own option of that name is a number."""
    new = replace(topology("t", (4, 4), workers=3), workers_policy="keep")
    state = ClusterState(supervisors(3), (new,))
    assert placed_with(state, settings=replace(PACKING, algorithm=name)).workers_policy is None


def test_a_word_on_workers_that_is_none_is_logged_once_and_ignored(caplog):
    new = replace(topology("t", workers=2), workers_policy="many")
    state = ClusterState(supervisors(3, cpu=None), (new,))
    with caplog.at_level(logging.WARNING):
        assert placed_with(state).after.metrics.workers_used == 2
        placed_with(state)
    (record,) = caplog.records
    assert "topology t: stormcut.workers: 'many' is not keep or pack" in record.getMessage()


def test_another_algorithm_chooses_the_number_of_workers_itself():
    new = replace(topology("t"), workers_policy="keep")
    state = ClusterState(supervisors(3), (new,))
    assert (
        placed_with(state, settings=replace(PACKING, algorithm="p-scheduler")).choice.algorithm
        == "p-scheduler"
    )


def test_an_undone_topology_goes_back_and_stays_there():
    running = dealt(topology("t", (2, 2)), slots(3))
    state = ClusterState(supervisors(3), (running,))
    profiles = {"t": profile_of(running)}
    moved = placed_with(state, profiles)
    assert moved.former == tuple(sorted(running.assignment))
    after = applied(state, [moved])
    back = placed_with(after, profiles, undos={"t": Undo(moved.former)})
    assert back.evidence.ground.value == "undone"
    assert back.workers == moved.former
    assert sentence(back).startswith("undone: back to where it ran before: 0.0 -> ")
    assert "tuples/s between nodes" in sentence(back)
    assert back.former == moved.workers
    again = placed_with(applied(after, [back]), profiles, undos={"t": Undo(moved.former)})
    assert (again.workers, sentence(again)) == (moved.former, "kept: undone")
    assert again.former == ()


@given(clusters())
def test_what_was_moved_can_be_undone_and_then_nothing_changes(cluster):
    state, profiles = cluster
    first = decide(Question(state, profiles, None, FAST))
    plan = plan_of(state, first)
    former = {d.topology: Undo(d.former) for d in first.decided if d.former}
    after = applied(state, plan.topologies)
    undone = plan_of(after, decide(Question(after, profiles, plan, FAST, former)))
    back = applied(after, undone.topologies)
    for name in former:
        # Another topology that has gone to one of its slots meanwhile may be in the way.
        part = undone.of(name)
        assert part and (part.workers == former[name].workers or "cannot go back" in part.reason)
    again = plan_of(back, decide(Question(back, profiles, undone, FAST, former)))
    assert {p.topology: p.workers for p in again.topologies if p.topology in former} == {
        name: undone.of(name).workers for name in former
    }


@pytest.mark.parametrize("what", ["slot gone", "slot taken", "other executors"])
def test_a_topology_that_cannot_go_back_stays_and_says_why(what):
    running = dealt(topology("t", (2, 2)), slots(2))
    former = {"t": Undo(dealt(running, [Slot("n2", 6700)]).assignment)}
    others, nodes = (), supervisors(3)
    says = {
        "slot gone": "no supervisor offers slot n2:6700 now",
        "slot taken": "slot h2:6700 is another topology's now",
        "other executors": "its executors are others now",
    }[what]
    if what == "slot gone":
        nodes = nodes[:2]
    elif what == "slot taken":
        others = (dealt(topology("u"), [Slot("n2", 6700)]),)
    else:
        former = {"t": Undo(dealt(topology("t", (3, 3)), [Slot("n2", 6700)]).assignment)}
    state = ClusterState(nodes, (running, *others))
    reasons = {
        d.topology: sentence(d) for d in decide(Question(state, {}, None, DEFAULT, former)).declined
    }
    assert "it cannot go back to where it ran before" in reasons["t"]
    assert says in reasons["t"]


def test_bytes_between_nodes_are_told_where_sizes_were_measured():
    running = dealt(topology("t", (2, 2), acker=False), slots(2))
    state = ClusterState(supervisors(2), (running,))
    profile = profile_of(running)
    assert placed_with(state, {"t": profile}).before.bytes_per_second is None
    sized = replace(
        profile, traffic=tuple(replace(pair, bytes_per_tuple=50.0) for pair in profile.traffic)
    )
    decision = placed_with(state, {"t": sized})
    assert decision.before.bytes_per_second == pytest.approx(
        50 * decision.before.metrics.inter_node_tuples_per_second
    )
    assert decision.after.bytes_per_second == pytest.approx(
        50 * decision.after.metrics.inter_node_tuples_per_second
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("tuples_a_pair", "moves"), [(1, False), (6_000, True)])
def test_what_is_uneven_by_chance_moves_nothing(seed, tuples_a_pair, moves):
    """Half of the pairs have three tenths more tuples; few are counted, or many."""
    running = dealt(topology("t", (6, 6), acker=False), slots(2))
    state = ClusterState(supervisors(2, meta={"stormcut.max.executors": "6"}), (running,))
    random = np.random.default_rng(seed)
    window_s = 60

    def rate(source, target):
        is_pair = (source <= 3) == (target <= 9)
        return random.poisson(tuples_a_pair * (1.3 if is_pair else 0.7)) / window_s

    decision = placed_with(state, {"t": profile_of(running, rate=rate)})
    assert (decision.choice.action is Action.MOVE) == moves
