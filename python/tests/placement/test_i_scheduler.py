from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from problem_strategies import problems
from scipy.sparse import csr_array
from small_problems import SIZES, chain, microbenchmark, nodes

from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Stream, Topology
from stormcut.objective.cut import executor_nodes
from stormcut.placement.algorithms.i_scheduler.fusion import Fusion, node_classes
from stormcut.placement.algorithms.i_scheduler.place import contract
from stormcut.placement.algorithms.i_scheduler.threshold import THRESHOLDS, find_threshold
from stormcut.placement.graph.partition import traffic_graph
from stormcut.placement.packing.capacity import hosts, loads
from stormcut.placement.solve import solve

HOMOGENEOUS = (4,) * 10
HETEROGENEOUS = (6,) * 3 + (4,) * 3 + (2,) * 4

#: With theta = 0, section 4.4 of the reading of the thesis: homogeneous as P-Scheduler.
FUSED = {
    ("linear", HOMOGENEOUS): (8, 16, 20, 24, 24, 28, 28),
    ("diamond", HOMOGENEOUS): (11, 64, 94, 125, 138, 154, 168),
    ("star", HOMOGENEOUS): (16, 46, 60, 76, 84, 92, 100),
    ("linear", HETEROGENEOUS): (4, 8, 15),
    ("diamond", HETEROGENEOUS): (8, 54, 87),
    ("star", HETEROGENEOUS): (12, 38, 56, 72, 78, 86, 95),
}
#: With an optimiser: the proven optimum, as far as section 7.2 gives it.
OPTIMUM = {
    ("linear", HOMOGENEOUS): (8, 16, 20, 24, 24, 28, 28),
    ("diamond", HOMOGENEOUS): (10, 64, 94, 124, 138, 154, 168),
    ("star", HOMOGENEOUS): (16, 44, 60, 76, 84, 92, 100),
    ("linear", HETEROGENEOUS): (4, 8, 12),
    ("diamond", HETEROGENEOUS): (8, 54, 84),
    ("star", HETEROGENEOUS): (12, 38, 54, 70, 78, 86, 94),
}
#: METIS's ties decide three linear and one diamond instance; with this seed they fall as the
#: thesis's results say.
SEED = 2
#: Of the thesis, which does not print it: its results come out with 18 or 19 only.
PHI = "18"


def cut(layout, tasks, capacities, seed=SEED, **options):
    problem = microbenchmark(layout, tasks, capacities)
    return solve(problem, "i-scheduler", seed, options).metrics.inter_node_tuples_per_second


@pytest.mark.slow
@pytest.mark.parametrize(("layout", "capacities"), FUSED)
def test_cuts_without_an_optimiser(layout, capacities):
    for tasks, value in zip(SIZES, FUSED[layout, capacities], strict=False):
        for seed in (1, 2, 3):
            assert cut(layout, tasks, capacities, seed, theta="0") == value, (layout, tasks)


def reduced_graphs():
    """Return each case with its optimum; those that fusing solves by itself are in `full` only."""
    return [
        pytest.param(*case, tasks, value, marks=pytest.mark.full if value == fused else ())
        for case, values in OPTIMUM.items()
        for tasks, value, fused in zip(SIZES, values, FUSED[case], strict=False)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("layout", "capacities", "tasks", "value"), reduced_graphs())
@pytest.mark.parametrize("phi", [PHI, pytest.param("none", marks=pytest.mark.full)])
def test_cuts_of_the_reduced_graphs(layout, capacities, tasks, value, phi):
    assert cut(layout, tasks, capacities, phi=phi) == value


@pytest.mark.slow
def test_raw_parts_miss_where_the_thesis_misses():
    for tasks, value in zip(SIZES, OPTIMUM["star", HETEROGENEOUS], strict=True):
        wanted = 90 if tasks == 30 else value
        assert cut("star", tasks, HETEROGENEOUS, parts="raw", phi=PHI) == wanted
    raw, repaired = (
        cut("diamond", 30, HETEROGENEOUS, parts=p, phi=PHI) for p in ("raw", "repaired")
    )
    assert raw == repaired + 2


def test_fewer_vertices_miss_where_the_thesis_does_not():
    assert cut("star", 18, HOMOGENEOUS, phi="17") == 46
    assert cut("star", 30, HETEROGENEOUS, parts="raw", phi="20") == 88


def test_more_time_lets_the_optimiser_have_more():
    times, sizes = zip(*THRESHOLDS, strict=True)
    assert list(times) == sorted(set(times))
    assert list(sizes) == sorted(set(sizes))
    assert [find_threshold(theta) for theta in times] == list(sizes)
    assert find_threshold(times[0] / 2) == find_threshold(0.0) == 0
    assert find_threshold(1e6) == sizes[-1]


@pytest.mark.slow
def test_theta_determines_phi():
    problem = microbenchmark("star", 18)
    cuts = []
    for theta in (0.001, 0.1, 1.0):
        given = {"theta": str(theta)}
        phi = find_threshold(theta)
        wanted = given | {"phi": str(phi)} if phi else {"theta": "0"}
        found = solve(problem, "i-scheduler", SEED, given)
        alike = solve(problem, "i-scheduler", SEED, wanted)
        assert found.placement == alike.placement, theta
        cuts.append(found.metrics.inter_node_tuples_per_second)
    # 18 vertices are solved in a second, not in a tenth.
    assert cuts == [46, 46, 44]


def fours(capacities):
    """Return three cliques of four executors in a ring, on nodes of these capacities."""
    pairs = [
        MeasuredPair(("c", 4 * k + i), ("c", 4 * k + j), 5.0)
        for k in range(3)
        for i in range(4)
        for j in range(i)
    ]
    ring = [MeasuredPair(("c", i), ("c", (i + 4) % 12), 1.0) for i in (0, 4, 8)]
    topology = Topology("t", (Component.uniform("c", 12),), measured=(*pairs, *ring))
    cluster = tuple(
        Node(f"n{i}", (1, 2), max_executors=capacity) for i, capacity in enumerate(capacities)
    )
    return Problem(cluster, (topology,))


def test_the_example_of_section_9_3():
    problem = fours((3, 4, 2, 3))
    able = hosts(problem)
    classes = node_classes(able, loads(problem))
    assert [(kind.limits[1], len(kind.members)) for kind in classes] == [(4, 1), (3, 2), (2, 1)]
    graph = traffic_graph(problem.traffic, 12)
    fusion = Fusion(problem, graph, loads(problem), 8, "repaired", seed=1)
    fusion.iterate(0, classes[0])
    assert (len(fusion.unfused), len(fusion.fused), fusion.vertices) == (8, 1, 9)
    fusion.iterate(1, classes[1])
    assert len(fusion.fused) == 2
    assert fusion.vertices in (7, 8)
    assert fusion.optimising
    solution = solve(problem, "i-scheduler", options={"phi": "8"})
    assert solution.metrics.nodes_used == 4


def test_the_fallback_begins_where_phi_cannot_be_reached():
    problem = microbenchmark("linear", 32)
    classes = node_classes(hosts(problem), loads(problem))
    graph = traffic_graph(problem.traffic, 32)
    fusion = Fusion(problem, graph, loads(problem), 7, "repaired", seed=1)  # 8 parts at least
    fusion.iterate(0, classes[0])
    assert not fusion.optimising
    assert [len(members) for _, members in fusion.fused] == [4] * 8
    assert cut("linear", 32, HOMOGENEOUS, phi="7") == 28


def test_nodes_for_one_executor_each():
    problem = Problem(nodes(4, max_executors=1), (chain([2, 2]),))
    solution = solve(problem, "i-scheduler", options={"phi": "3"})
    assert solution.metrics.nodes_used == 4


def test_fused_vertices_keep_the_traffic_between_them():
    graph = csr_array(np.array([[0, 1, 2], [1, 0, 4], [2, 4, 0]], dtype=float))
    reduced = contract(graph, np.array([0, 0, 1]), 2).toarray()
    assert reduced.tolist() == [[0, 6], [6, 0]]


def test_larger_nodes_take_more_and_the_share_holds():
    cluster = (Node("a", (1, 2), cpu_percent=100.0), Node("b", (1, 2, 3, 4), cpu_percent=200.0))
    problem = Problem(cluster, (chain([8, 8]),))
    for theta in ("0", "1"):
        solution = solve(problem, "i-scheduler", options={"theta": theta})
        assert set(executor_nodes(problem, solution.placement)) == {1}
        assert solution.notes == ()


def test_an_executor_above_the_share_gets_a_node_without_others():
    large = Component.uniform("large", 1, cpu_percent=90.0)
    small = Component.uniform("small", 3, cpu_percent=5.0)
    topology = Topology("t", (large, small), (Stream("large", "small", 90.0),))
    problem = Problem(nodes(2, cpu_percent=100.0), (topology,))
    for theta in ("0", "1"):
        placed = solve(problem, "i-scheduler", options={"theta": theta}).placement
        where = executor_nodes(problem, placed)
        assert (where[0] != where[1:]).all()


def test_options_that_mean_nothing_are_refused():
    for key, value in (("theta", "-1"), ("theta", "inf"), ("phi", "0"), ("parts", "cooked")):
        with pytest.raises(InvalidInput, match=key):
            solve(fours((4, 4, 4)), "i-scheduler", options={key: value})


@pytest.mark.slow
def test_equal_nodes_are_exchanged_to_keep_executors_where_they_run():
    problem = microbenchmark("linear", 18)
    given = {"theta": "0"}
    placed = solve(problem, "i-scheduler", options=given).placement
    shifted = Placement((placed.slots + 4 * 3) % problem.slot_count)
    moved = solve(replace(problem, current=shifted), "i-scheduler", options=given)
    assert moved.placement == shifted
    assert moved.metrics.workers_restarted == 0


@pytest.mark.slow
@given(problems(homogeneous=True))
def test_solving_twice_changes_nothing(problem):
    try:
        first = solve(problem, "i-scheduler").placement
    except Infeasible:
        assume(False)
    again = solve(replace(problem, current=first), "i-scheduler")
    assert again.metrics.inter_node_tuples_per_second == pytest.approx(
        solve(problem, "i-scheduler").metrics.inter_node_tuples_per_second
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layout", "capacities", "size", "optimum"),
    [
        ("linear", HETEROGENEOUS, 22, 12.0),
        ("linear", HETEROGENEOUS, 26, 16.0),
        ("star", HOMOGENEOUS, 18, 44.0),
    ],
)
def test_of_three_seeds_one_finds_the_optimum(layout, capacities, size, optimum):
    """With one, METIS's ties decided: each of these missed it for one seed of three."""
    for seed in (1, 2, 3):
        found = solve(microbenchmark(layout, size, capacities), "i-scheduler", seed)
        assert found.metrics.inter_node_tuples_per_second == optimum
