"""Topologies that share a cluster are one problem, where the algorithm can place them together."""

from dataclasses import replace

import pytest
from brain_clusters import (
    applied,
    assert_worth_is_shown,
    closed,
    dealt,
    profile_of,
    supervisors,
    topology,
)
from hypothesis import event, given
from hypothesis import strategies as st

from stormcut.adapters.files.decision_files import DecisionFiles
from stormcut.adapters.files.placement_file import read_placement
from stormcut.adapters.files.problem_file import read_problem
from stormcut.control.decide import adviser
from stormcut.control.decide.adviser import Settings
from stormcut.control.decide.decide import decide
from stormcut.control.decide.decision import (
    Action,
    BreaksLimit,
    LessHeadroom,
    LessTraffic,
    LittleSaved,
    Together,
)
from stormcut.control.decide.memory import Memory
from stormcut.control.decide.question import Question
from stormcut.control.decide.wording import sentence
from stormcut.control.history import plan_parts
from stormcut.model.cluster import ClusterState, Slot, Supervisor, Worker
from stormcut.model.network import SHIPPED
from stormcut.model.plan import Plan
from stormcut.objective.headroom import headroom
from stormcut.objective.verify import violations
from stormcut.placement.registry import FILLED
from stormcut.placement.solve import solve
from stormcut.running.situation import running_problem

FAST = Settings(options={"effort": "0.1"})
PACKING = replace(FAST, packs_unmeasured=True)
IN_TURN = Settings("r-storm-distance")


def on(running, where):
    """The topology with its executors, by index, in these slots."""
    tasks = [e.start_task for e in running.executors]
    workers = (Worker(slot, tuple(tasks[i] for i in its)) for slot, its in where.items())
    return replace(running, assignment=tuple(workers))


def halves(name, port, sizes=(2, 2)):
    """A topology with half of each component on n0, the other half on n1."""
    running = topology(name, sizes, acker=False)
    first = [i for i in range(len(running.executors)) if i % 2 == 0]
    rest = [i for i in range(len(running.executors)) if i % 2]
    return on(running, {Slot("n0", port): first, Slot("n1", port): rest})


def measured(*topologies, cpu=10.0):
    return {t.id: profile_of(t, cpu, memory=1.0) for t in topologies}


def of(decisions):
    return {d.topology: d for d in (*decisions.decided, *decisions.declined)}


def nodes_of(decision):
    return {worker.slot.node for worker in decision.workers}


def plan_of(decisions):
    return Plan("p", "", 0, *plan_parts(decisions))


ROOM_FOR_FOUR = supervisors(2, cpu=None, meta={"stormcut.max.executors": "4"})
FULL = ClusterState(ROOM_FOR_FOUR, (halves("a", 6700), halves("b", 6701)))


def test_two_that_are_in_each_others_way_change_places():
    """Both nodes are full: neither can move alone."""
    found = of(decide(Question(FULL, measured(*FULL.topologies), None, Settings())))
    assert {len(nodes_of(d)) for d in found.values()} == {1}
    assert [d.after.metrics.inter_node_tuples_per_second for d in found.values()] == [0, 0]
    assert sentence(found["a"]).startswith("moved with b by measured traffic: 20.0 -> 0.0 ")
    assert isinstance(found["b"].choice.reason, Together)
    assert found["a"].former and found["a"].evidence.measured


def apart(cpu, rates, node_cpu=400.0):
    """Two topologies of two executors that run apart on two nodes, and their profiles."""
    running = [
        on(
            topology(name, (1, 1), acker=False),
            {Slot(node, port): [at] for at, node in enumerate(("n0", "n1"))},
        )
        for name, port in (("a", 6700), ("b", 6701))
    ]
    profiles = {
        t.id: profile_of(t, cpu[t.id], lambda *_, rate=rates[t.id]: rate, 1.0) for t in running
    }
    return ClusterState(supervisors(2, cpu=node_cpu), tuple(running)), profiles


def test_the_only_one_that_a_joint_decision_moves_is_moved_for_what_it_saves_itself():
    state, profiles = apart({"a": 20.0, "b": 250.0}, {"a": 5e4, "b": 6e4})
    found = of(decide(Question(state, profiles, None, Settings())))
    assert found["b"].choice.action is Action.KEEP
    reason = found["a"].choice.reason
    assert isinstance(reason, LessTraffic)
    assert (reason.now.travels, reason.then.travels) == (5e4, 0.0)


@pytest.mark.parametrize(
    ("cpu", "rates", "node_cpu", "moves"),
    [
        # Of nodes at 80 points of 100, one would be at 83.
        ({"a": 5.0, "b": 60.0}, {"a": 1e3, "b": 1e4}, 100.0, False),
        # A thread is full first, wherever a runs.
        ({"a": 20.0, "b": 250.0}, {"a": 5e4, "b": 1e6}, 400.0, True),
    ],
)
def test_one_moves_alone_only_where_those_placed_with_it_keep_their_headroom(
    cpu, rates, node_cpu, moves
):
    state, profiles = apart(cpu, rates, node_cpu)
    found = of(decide(Question(state, profiles, None, Settings())))
    assert found["b"].choice.action is Action.KEEP
    assert found["a"].choice.action is (Action.MOVE if moves else Action.KEEP)
    if not moves:
        reason = found["a"].choice.reason
        assert isinstance(reason, LessHeadroom)
        # Of both: a alone has none to lose.
        assert 1.2 < reason.then.headroom < reason.now.headroom < 1.26


def test_what_is_sure_only_of_both_moves_both():
    """Six tuples of each were counted: that alone may be chance."""
    state, profiles = apart({"a": 20.0, "b": 20.0}, {"a": 0.1, "b": 0.1})
    found = of(decide(Question(state, profiles, None, Settings())))
    for name, other in (("a", "b"), ("b", "a")):
        assert found[name].choice.action is Action.MOVE
        assert found[name].choice.reason.others == (other,)
        assert_worth_is_shown(found[name])
        assert isinstance(found[name].choice.reason.whole, LessTraffic)
        alone = replace(state, topologies=tuple(t for t in state.topologies if t.id == name))
        (decision,) = decide(Question(alone, profiles, None, Settings())).decided
        assert isinstance(decision.choice.reason, LittleSaved)


def test_where_nothing_fits_together_nor_alone_all_stay_and_say_why():
    state = closed(FULL, "n0")
    found = of(decide(Question(state, measured(*FULL.topologies), None, Settings())))
    for decision in found.values():
        assert decision.choice.action is Action.KEEP
        assert "4 executors are needed, nodes have 2" in decision.choice.reason.error


def test_what_is_best_already_stays_though_something_travels():
    """Nodes of three executors for topologies of two and four."""
    nodes = supervisors(2, cpu=None, meta={"stormcut.max.executors": "3"})
    state = ClusterState(nodes, (halves("a", 6700), halves("b", 6701, (1, 1))))
    profiles = measured(*state.topologies)
    first = decide(Question(state, profiles, None, Settings()))
    state = applied(state, first.decided)
    found = of(decide(Question(state, profiles, None, Settings())))
    assert {d.choice.action for d in found.values()} == {Action.KEEP}
    assert sum(d.after.metrics.inter_node_tuples_per_second for d in found.values()) > 0


def test_each_alone_would_have_stayed(monkeypatch):
    monkeypatch.setattr(adviser, "MAX_TOGETHER", 0)
    found = of(decide(Question(FULL, measured(*FULL.topologies), None, Settings())))
    assert {d.choice.action for d in found.values()} == {Action.KEEP}


def test_a_small_one_gives_way_to_a_large_one_on_the_larger_node():
    nodes = (*supervisors(1, cpu=400.0), supervisors(2, cpu=200.0)[1])
    large = on(
        topology("a", (3, 3), acker=False),
        {Slot("n0", 6700): (0, 1, 3), Slot("n1", 6700): (2, 4, 5)},
    )
    small = on(topology("b", (1, 1), acker=False), {Slot("n0", 6701): (0, 1)})
    profiles = {**measured(large, cpu=40.0), **measured(small, cpu=60.0)}
    found = of(decide(Question(ClusterState(nodes, (large, small)), profiles, None, Settings())))
    assert {name: nodes_of(d) for name, d in found.items()} == {"a": {"n0"}, "b": {"n1"}}


def test_who_need_not_move_stays():
    """Two change places; the third has two nodes of its own, and loses 2 % of its traffic there."""
    third = topology("c", (2, 2), acker=False)
    tasks = [e.start_task for e in third.executors]
    apart = on(third, {Slot("n2", 6700): (0, 2), Slot("n3", 6700): (1, 3)})
    profile = profile_of(
        apart, rate=lambda s, t: 100.0 if tasks.index(s) + 2 == tasks.index(t) else 1.0, memory=1.0
    )
    small = supervisors(4, cpu=None, meta={"stormcut.max.executors": "2"})[2:]
    state = ClusterState((*ROOM_FOR_FOUR, *small), (*FULL.topologies, apart))
    found = of(
        decide(Question(state, {**measured(*FULL.topologies), "c": profile}, None, Settings()))
    )
    assert found["a"].choice.action is found["b"].choice.action is Action.MOVE
    assert found["c"].choice.action is Action.KEEP


def test_a_new_one_moves_others_only_for_what_they_gain():
    new = topology("c", (2, 2), acker=False)
    tight = ClusterState(ROOM_FOR_FOUR, (halves("a", 6700), new))
    packing = Settings(packs_unmeasured=True)
    found = of(decide(Question(tight, measured(tight.topologies[0]), None, packing)))
    assert {len(nodes_of(d)) for d in found.values()} == {1}
    assert sentence(found["a"]).startswith("moved ")
    assert sentence(found["c"]).startswith("placed by declared structure: 0.0 ")
    settled = dealt(topology("a", (2, 2), acker=False), [Slot("n0", 6700)])
    roomy = ClusterState(supervisors(2, cpu=None), (settled, new))
    found = of(decide(Question(roomy, measured(settled), None, packing)))
    assert found["a"].choice.action is Action.KEEP


def test_a_node_that_joins_takes_of_what_two_topologies_fill():
    large = on(
        topology("a", (4, 4), acker=False),
        {Slot("n0", 6700): (0, 1, 2, 4, 5, 6), Slot("n1", 6700): (3, 7)},
    )
    small = on(topology("b", (2, 2), acker=False), {Slot("n1", 6701): range(4)})
    profiles = {**measured(large, cpu=30.0), **measured(small, cpu=40.0)}
    state = ClusterState(supervisors(3, cpu=233.0), (large, small))
    found = of(decide(Question(state, profiles, None, FAST)))
    assert "for head-room, 0.99 -> " in sentence(found["a"])
    assert nodes_of(found["a"]) | nodes_of(found["b"]) == {"n0", "n1", "n2"}


def test_slow_links_are_left_by_both():
    meta = {"stormcut.max.executors": "2"}
    nodes = (
        Supervisor("n0", "h0", (1, 2), 400.0, 3072.0, {**meta, "stormcut.link.mbit": "out=0.5"}),
        Supervisor("n1", "h1", (1, 2), 400.0, 3072.0, {**meta, "stormcut.link.mbit": "100"}),
    )
    first = on(topology("a", (1, 1), acker=False), {Slot("n0", 1): (0,), Slot("n1", 1): (1,)})
    second = on(topology("b", (1, 1), acker=False), {Slot("n0", 2): (1,), Slot("n1", 2): (0,)})
    profiles = {
        t.id: replace(p, traffic=tuple(replace(x, bytes_per_tuple=1000.0) for x in p.traffic))
        for t in (first, second)
        for p in (profile_of(t, 1.0, lambda s, t: 100.0, memory=1.0),)
    }
    state = ClusterState(nodes, (first, second))
    found = of(decide(Question(state, profiles, None, Settings(options={"objective": "headroom"}))))
    assert {d.after.bytes_per_second for d in found.values()} == {0.0}
    assert "link out of node n0 was full first" in sentence(found["a"])


def test_what_asks_for_other_options_is_a_problem_of_its_own(monkeypatch):
    sought = noted(monkeypatch)
    keeps = replace(topology("c", (2, 2)), workers_policy="keep")
    state = ClusterState(supervisors(4), (topology("a"), topology("b"), keeps))
    assert len(decide(Question(state, {}, None, PACKING)).decided) == 3
    assert sought == [("a", "b"), ("c",)]


def noted(monkeypatch):
    """The ids of the topologies of every problem that is solved from now on."""
    sought, solves = [], adviser.solve

    def noting(problem, *rest):
        sought.append(tuple(t.id for t in problem.topologies))
        return solves(problem, *rest)

    monkeypatch.setattr(adviser, "solve", noting)
    return sought


@pytest.mark.parametrize("why", ["algorithm", "size"])
def test_those_that_cannot_be_placed_together_are_taken_in_turn(monkeypatch, why):
    if why == "size":
        monkeypatch.setattr(adviser, "MAX_TOGETHER", 7)
    sought = noted(monkeypatch)
    decide(
        Question(FULL, measured(*FULL.topologies), None, Settings() if why == "size" else IN_TURN)
    )
    assert set(sought) == {("a",), ("b",)}


def test_problems_are_as_many_as_topologies_and_one_in_a_round(monkeypatch):
    sought = noted(monkeypatch)
    running = [
        dealt(topology(f"t{i}", (2, 2), acker=False), [Slot("n0", 6700 + i), Slot("n1", 6700 + i)])
        for i in range(6)
    ]
    nodes = supervisors(2, slots=8, cpu=None, meta={"stormcut.max.executors": "12"})
    decide(Question(ClusterState(nodes, tuple(running)), measured(*running), None, FAST))
    assert 0 < len(sought) <= 2 * (1 + len(running))


def test_what_is_settled_for_all_is_sought_anew_when_one_is_measured_anew(monkeypatch):
    memory, profiles = Memory(), measured(*FULL.topologies)
    first = decide(Question(FULL, profiles, None, FAST), memory)
    state, plan = applied(FULL, plan_of(first).topologies), plan_of(first)
    sought = noted(monkeypatch)
    decide(Question(state, profiles, plan, FAST), memory)
    assert sought == []
    again = profile_of(state.topologies[0], 90.0, lambda s, t: 5.0, memory=1.0)
    halved = (halves("a", 6700), halves("b", 6701))
    apart = replace(state, topologies=halved)
    decide(Question(apart, {**profiles, "a": again}, plan, FAST), memory)
    assert ("a", "b") in sought


def test_a_recorded_answer_for_several_is_found_again(tmp_path):
    costs = replace(SHIPPED, send_us_per_tuple=1.0, source="ours")
    decide(
        Question(
            FULL,
            measured(*FULL.topologies),
            None,
            replace(FAST, costs=costs),
            recorder=DecisionFiles(tmp_path),
        )
    )
    (path, *_) = sorted(tmp_path.glob("*-a+b.json"))
    problem = read_problem(path)
    assert replace(problem.costs, source="ours") == costs
    answer = read_placement(path.with_name(f"{path.stem}.placement.json"), problem).placement
    again = solve(problem, "cut", options={"effort": "0.1", "cpu_share": "0.8"})
    assert again.placement == answer


def test_a_record_of_many_topologies_has_a_name_that_can_be_one(tmp_path):
    many = tuple(topology(f"a-topology-of-the-company-{i}", (1,), acker=False) for i in range(12))
    state = ClusterState(supervisors(3), many)
    assert (
        len(decide(Question(state, {}, None, PACKING, recorder=DecisionFiles(tmp_path))).decided)
        == 12
    )
    (path,) = tmp_path.glob("*.placement.json")
    assert "a-topology-of-the-company-0+" in path.name and "-more.placement.json" in path.name


@st.composite
def shared_clusters(draw, least=2):
    """(state, profiles): two or three measured topologies that run whole on few, full nodes."""
    count = draw(st.integers(2, 3))
    limit = draw(st.integers(6, 9))
    meta = {"stormcut.max.executors": str(limit)}
    nodes = supervisors(count, cpu=draw(st.sampled_from([None, 150.0, 400.0])), meta=meta)
    running = []
    for index in range(draw(st.integers(least, 3))):
        sizes = draw(st.lists(st.integers(1, 3), min_size=2, max_size=2))
        new = topology(f"t{index}", sizes, acker=False)
        homes = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=2, unique=True))
        running.append(dealt(new, [Slot(f"n{home}", 6700 + index) for home in homes]))
    profiles = {
        t.id: profile_of(
            t, draw(st.sampled_from([5.0, 20.0])), lambda s, t: float(s * t % 5 + 1), memory=1.0
        )
        for t in running
    }
    return ClusterState(nodes, tuple(running)), profiles


def is_relief(reason):
    return isinstance(getattr(reason, "whole", reason), BreaksLimit)


@given(shared_clusters())
def test_a_cluster_that_did_as_the_plan_says_gets_it_again_and_holds_no_less(cluster):
    state, profiles = cluster
    first = decide(Question(state, profiles, None, FAST))
    plan = plan_of(first)
    event(f"together: {any(isinstance(d.choice.reason, Together) for d in first.decided)}")
    after = applied(state, plan.topologies)
    if any(is_relief(d.choice.reason) for d in first.decided):
        # What is better still is another move, which the gate is asked for.
        plan = plan_of(decide(Question(after, profiles, plan, FAST)))
        after = applied(after, plan.topologies)
    assert plan_of(decide(Question(after, profiles, plan, FAST))).places_like(plan)
    before, then = (running_problem(each, profiles) for each in (state, after))
    if not violations(before, before.current):
        assert not violations(then, then.current)
        rooms = [headroom(p, p.current).value or FILLED for p in (before, then)]
        assert min(rooms[1], FILLED) >= min(rooms[0], FILLED) * (1 - 1e-9)


def one_by_one(algorithm, count, *parts):
    """Return executors by node of topologies that were submitted one after the other."""
    state = ClusterState(supervisors(count, slots=10), ())
    for running in parts:
        state = replace(state, topologies=(*state.topologies, running))
        settings = Settings(algorithm, packs_unmeasured=True)
        state = applied(state, decide(Question(state, {}, None, settings)).decided)
    return {
        running.id: {worker.slot.node: len(worker.executors) for worker in running.assignment}
        for running in state.topologies
    }


def test_stromax_counts_executors_that_run_already():
    """Three topologies of the paper on 40 nodes: 28 executors were on one, 20 nodes empty."""
    parts = [
        topology(name, (5, 20, 20, 20)[: 3 + (name == "twtt")], acker=False, workers=40)
        for name in ("wc", "tt", "twtt")
    ]
    held = one_by_one("stromax", 40, *parts)
    nodes = [set(its) for its in held.values()]
    assert [len(its) for its in nodes[:2]] == [5, 5]
    assert nodes[0].isdisjoint(nodes[1])
    executors = {node: sum(its.get(node, 0) for its in held.values()) for node in set.union(*nodes)}
    assert max(executors.values()) <= 10


def test_pipeline_linear_begins_where_nothing_runs():
    a, b = (topology(name, (3, 4, 3, 4), acker=False, workers=8) for name in "ab")
    held = one_by_one("pipeline-linear", 8, a, b)
    assert set(held["a"]) == {"n0", "n1", "n2", "n3"}
    assert set(held["b"]) == {"n4", "n5", "n6", "n7"}


def test_bframework_isolates_queries_that_come_later():
    """The second one's ackers went to the first one's node, with five nodes empty."""
    a, b = (topology(name, (3, 4, 3, 4), workers=8) for name in "ab")
    held = one_by_one("bframework", 8, a, b)
    assert set(held["a"]).isdisjoint(held["b"])
