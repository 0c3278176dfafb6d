"""`r-storm-distance`: the order of executors, the distance by hand, workers by memory."""

import pytest
from small_problems import chain, nodes

from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.problem import Component, Node, Problem, Stream, Topology
from stormcut.placement.algorithms.r_storm_distance import Options, breadth_first, task_order
from stormcut.placement.solve import solve

NAME = "r-storm-distance"


def part(name, executors, cpu=10.0, memory=100.0, kind="bolt"):
    return Component.uniform(name, executors, kind, cpu, memory)


def links(*ends):
    return tuple(Stream(source, target, 1.0) for source, target in ends)


def where(problem, options=None):
    """Return the node of each executor."""
    slots = solve(problem, NAME, options=options or {}).placement.slots
    return [problem.slot_ids[slot][0] for slot in slots]


def test_components_go_breadth_first_from_the_spouts():
    parts = (*(part(name, 1) for name in "abcde"), part("s", 1, kind="spout"))
    # s -> b -> d, s -> c; e -> c against the stream; a is reached by nothing.
    streams = links(("s", "b"), ("b", "d"), ("s", "c"), ("e", "c"))
    topology = Topology("t", parts, streams)
    assert [parts[at].name for at in breadth_first(topology)] == ["s", "b", "c", "d", "e", "a"]


def test_executors_are_taken_one_of_each_component_in_turn():
    topology = chain([3, 1, 2])
    # c0[0] c1[0] c2[0], c0[1] c2[1], c0[2]
    assert list(task_order(topology)) == [0, 3, 4, 1, 5, 2]


def test_an_executor_goes_to_the_node_that_it_fits_most_closely():
    # 50 % on a: (50 - 100) / 101 = -0.495; on b: 0. Memory is the same on both. Then b is full.
    cluster = (Node("a", (1,), None, 100.0, 1000.0), Node("b", (1,), None, 50.0, 1000.0))
    topology = Topology("t", (part("x", 1, cpu=50.0, kind="spout"), part("y", 1)))
    assert where(Problem(cluster, (topology,))) == ["b", "a"]


def test_weights_decide_between_resources():
    # On a: CPU term (50 - 60) / 61 = -0.164, memory (100 - 1000) / 1001 = -0.899;
    # on b: (50 - 400) / 401 = -0.873, (100 - 110) / 111 = -0.090.
    cluster = (Node("a", (1,), None, 60.0, 1000.0), Node("b", (1,), None, 400.0, 110.0))
    problem = Problem(cluster, (Topology("t", (part("x", 1, cpu=50.0),)),))
    assert where(problem, {"memory_weight": "0"}) == ["a"]
    assert where(problem, {"cpu_weight": "0"}) == ["b"]


def test_the_next_executor_stays_near_the_one_before():
    names = (("a", "r0"), ("b", "r1"), ("c", "r0"), ("d", "r1"))
    cluster = tuple(Node(name, (1, 2), rack, 100.0, 1000.0) for name, rack in names)
    problem = Problem(cluster, (Topology("t", (part("x", 5, cpu=50.0, kind="spout"),)),))
    # Two fill a node; the next node is in the same rack, then the other rack.
    assert where(problem) == ["a", "a", "c", "c", "b"]


def test_what_exceeds_soft_cpu_moves_at_the_least_cost_and_it_is_said():
    # Order s, m, k, 40 of 100 % each. Hard: no room for k beside m. Soft, where distance weighs
    # much: all on one node; then the executor with least traffic leaves.
    parts = (part("s", 1, cpu=40.0, kind="spout"), part("m", 1, cpu=40.0), part("k", 1, cpu=40.0))
    topology = Topology("t", parts, (Stream("s", "m", 1.0), Stream("m", "k", 100.0)))
    problem = Problem(nodes(2, cpu_percent=100.0, memory_mb=1000.0), (topology,))
    far = {"network_weight": "9"}
    hard, soft = (solve(problem, NAME, options={**far, "cpu": cpu}) for cpu in ("hard", "soft"))
    assert hard.placement == solve(problem, NAME, options=far).placement
    assert hard.metrics.inter_node_tuples_per_second == 100.0
    assert soft.metrics.inter_node_tuples_per_second == 1.0
    assert soft.placement.notes == ("1 executors moved to keep within the nodes' limits",)
    enough = Problem(nodes(2, cpu_percent=120.0, memory_mb=1000.0), (topology,))
    assert solve(enough, NAME, options={**far, "cpu": "soft"}).placement.notes == ()


def test_memory_is_hard_even_where_cpu_is_soft():
    topology = Topology("t", (part("x", 3, memory=600.0),))
    problem = Problem(nodes(2, memory_mb=1000.0, cpu_percent=100.0), (topology,))
    with pytest.raises(Infeasible, match="fits no node") as caught:
        solve(problem, NAME, options={"cpu": "soft"})
    assert caught.value.constraint == "memory"


def test_the_first_executor_goes_to_the_rack_with_most_left():
    cluster = (
        Node("a", (1,), "small", 400.0, 1000.0),
        Node("b", (1,), "large", 300.0, 1000.0),
        Node("c", (1,), "large", 300.0, 1000.0),
    )
    problem = Problem(cluster, (Topology("t", (part("x", 1, cpu=300.0),)),))
    assert where(problem) == ["b"]


def test_a_rack_that_cannot_take_the_first_executor_is_passed_over():
    cluster = (
        Node("a", (1,), "small", 400.0, 1000.0),
        Node("b", (1,), "large", 300.0, 1000.0),
        Node("c", (1,), "large", 300.0, 1000.0),
    )
    problem = Problem(cluster, (Topology("t", (part("x", 1, cpu=350.0),)),))
    assert where(problem) == ["a"]


def test_a_worker_is_filled_up_to_its_memory():
    problem = Problem(nodes(1), (Topology("t", (part("x", 6, memory=300.0),)),))
    slots = solve(problem, NAME).placement.slots
    assert slots.tolist() == [0, 0, 1, 1, 2, 2]
    wide = solve(problem, NAME, options={"worker_memory_mb": "1800"})
    assert wide.metrics.workers_used == 1
    # When slots run out, the worker with least memory takes more.
    narrow = Problem(nodes(1, slots=2), problem.topologies)
    assert solve(narrow, NAME).placement.slots.tolist() == [0, 0, 1, 1, 0, 1]


def test_topologies_take_turns_and_share_no_worker():
    problem = Problem(nodes(2), (chain([1, 1], name="one"), chain([1, 1], name="two")))
    one, other = solve(problem, NAME).placement.slots.reshape(2, 2).tolist()
    assert not set(one) & set(other)


@pytest.mark.parametrize(
    ("limits", "loads", "constraint"),
    [
        ({"cpu_percent": 100.0}, {"cpu": 60.0}, "cpu"),
        ({"memory_mb": 1000.0}, {"memory": 600.0}, "memory"),
    ],
)
def test_what_fits_nowhere_names_the_constraint(limits, loads, constraint):
    topology = Topology("t", (part("x", 3, **loads),))
    with pytest.raises(Infeasible, match="an executor of t fits no node") as caught:
        solve(Problem(nodes(2, **limits), (topology,)), NAME)
    assert caught.value.constraint == constraint


@pytest.mark.parametrize("name", ["cpu_weight", "memory_weight", "network_weight"])
@pytest.mark.parametrize("value", [-1.0, float("nan")])
def test_options_check_themselves(name, value):
    with pytest.raises(InvalidInput, match=f"option {name}"):
        Options(**{name: value})
