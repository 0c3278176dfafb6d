from dataclasses import replace

import pytest
from hypothesis import assume, given
from problem_strategies import problems
from small_problems import SIZES, chain, microbenchmark, nodes

from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.model.problem import Component, Node, Problem, Stream, Topology
from stormcut.objective.cut import executor_nodes
from stormcut.placement.solve import solve

#: Cuts after repair, section 2.2 of the reading of the thesis.
CUTS = {
    "linear": (8, 16, 20, 24, 24, 28, 28),
    "diamond": (11, 64, 94, 125, 138, 154, 168),
    "star": (16, 46, 60, 76, 84, 92, 100),
}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("layout", CUTS)
def test_cuts_of_the_thesis(layout, seed):
    for tasks, cut in zip(SIZES, CUTS[layout], strict=True):
        metrics = solve(microbenchmark(layout, tasks), "p-scheduler", seed).metrics
        assert metrics.inter_node_tuples_per_second == cut, (layout, tasks)
        assert metrics.nodes_used == -(-tasks // 4)


def test_the_unit_of_rates_does_not_matter():
    problem = microbenchmark("diamond", 26)
    topology = problem.topologies[0]
    streams = tuple(replace(s, tuples_per_second=s.tuples_per_second / 7) for s in topology.streams)
    scaled = replace(problem, topologies=(replace(topology, streams=streams),))
    one, other = (solve(each, "p-scheduler").placement for each in (problem, scaled))
    assert one == other


def test_nodes_needed_follow_the_share_of_cpu():
    problem = Problem(nodes(5, cpu_percent=100.0), (chain([8, 8]),))  # 160 % of CPU
    assert solve(problem, "p-scheduler").metrics.nodes_used == 2
    assert solve(problem, "p-scheduler", options={"cpu_share": "0.4"}).metrics.nodes_used == 4


def test_executors_are_counted_without_a_share_and_both_limits_bind():
    counted = Problem(nodes(5, max_executors=4), (chain([4, 4]),))
    assert solve(counted, "p-scheduler").metrics.nodes_used == 2
    both = Problem(nodes(5, max_executors=4, cpu_percent=30.0), (chain([4, 4]),))
    assert solve(both, "p-scheduler").metrics.nodes_used == 4


def test_too_few_nodes_for_the_share_are_overcommitted_and_noted():
    problem = Problem(nodes(2, cpu_percent=100.0), (chain([9, 9]),))
    solution = solve(problem, "p-scheduler")
    assert solution.metrics.nodes_used == 2
    assert any(note.startswith("over-committed") for note in solution.notes)


def test_an_executor_above_the_share_gets_a_node_of_its_own():
    small = chain([3]).components
    stream = Stream("big", "c0", 100.0)
    big = Topology("t", (Component.uniform("big", 1, cpu_percent=90.0), *small), (stream,))
    problem = Problem(nodes(3, cpu_percent=100.0), (big,))
    solution = solve(problem, "p-scheduler")
    on = executor_nodes(problem, solution.placement)
    assert (on == on[0]).sum() == 1
    assert any(note.startswith("over-committed") for note in solution.notes)


def test_memory_takes_more_nodes():
    problem = Problem(nodes(4, cpu_percent=1000.0, memory_mb=300.0), (chain([3, 3]),))
    assert solve(problem, "p-scheduler").metrics.nodes_used == 3
    with pytest.raises(Infeasible, match=r"no feasible placement exists.*memory"):
        solve(Problem(nodes(2, memory_mb=300.0), (chain([3, 3]),)), "p-scheduler")


def test_nodes_of_different_capacity_are_refused_or_counted_as_the_smallest():
    cluster = (*nodes(2, max_executors=4), Node("z", (1,), max_executors=2))
    problem = Problem(cluster, (chain([3, 3]),))
    with pytest.raises(Infeasible, match="capacity=smallest"):
        solve(problem, "p-scheduler")
    smallest = solve(problem, "p-scheduler", options={"capacity": "smallest"})
    assert smallest.metrics.nodes_used == 3


def test_without_traffic_or_load_it_refuses():
    idle = tuple(Component.uniform(f"c{i}", 2, cpu_percent=0.0) for i in range(2))
    for topology, constraint in (
        (chain([2, 2], rate=0.0), "traffic"),
        (replace(chain([2, 2]), components=idle), "cpu"),
    ):
        with pytest.raises(Infeasible) as caught:
            solve(Problem(nodes(2, cpu_percent=100.0), (topology,)), "p-scheduler")
        assert caught.value.constraint == constraint


def test_want_of_slots_is_noted():
    solution = solve(Problem(nodes(1, slots=1), (chain([4, 4]),)), "p-scheduler")
    assert solution.metrics.workers_used == 1
    assert any(note.startswith("T exceeded") for note in solution.notes)


def test_topologies_share_nodes_but_not_workers():
    pair = (chain([2, 2], name="a"), chain([2, 2], name="b"))
    solution = solve(Problem(nodes(3, slots=2), pair), "p-scheduler")
    assert (solution.metrics.nodes_used, solution.metrics.workers_used) == (1, 2)
    apart = solve(Problem(nodes(3, slots=1), pair), "p-scheduler")
    assert (apart.metrics.nodes_used, apart.metrics.workers_used) == (2, 2)


def test_kway_keeps_the_better_result():
    for layout in CUTS:
        problem = microbenchmark(layout, 26)
        better = solve(problem, "p-scheduler", options={"partitioner": "kway"}).metrics
        plain = solve(problem, "p-scheduler").metrics
        assert better.inter_node_tuples_per_second <= plain.inter_node_tuples_per_second


@given(problems(homogeneous=True))
def test_solving_twice_changes_nothing(problem):
    try:
        first = solve(problem, "p-scheduler").placement
    except Infeasible:
        assume(False)
    again = solve(replace(problem, current=first), "p-scheduler")
    assert again.placement == first
    assert again.metrics.workers_restarted == 0


def test_parts_stay_on_the_nodes_that_run_most_of_them():
    problem = microbenchmark("linear", 18)
    placed = solve(problem, "p-scheduler").placement
    shifted = Placement((placed.slots + 4 * 3) % problem.slot_count)
    moved = solve(replace(problem, current=shifted), "p-scheduler")
    assert moved.placement == shifted
    assert moved.metrics.workers_restarted == 0
