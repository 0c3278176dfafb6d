"""`metis-tasks`: a partitioner straight to workers, its parts and their sizes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from problem_strategies import problems
from small_problems import chain, nodes

from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Topology
from stormcut.objective.cut import executor_nodes
from stormcut.placement.algorithms.metis_tasks import Options
from stormcut.placement.solve import solve

NAME = "metis-tasks"


def cliques(count, size, workers=None, bridge=1.0):
    """Executors in groups that exchange much, each bound to the next by one pair."""
    part = Component.uniform("c", count * size, cpu_percent=10.0)
    pairs = [
        MeasuredPair(("c", g * size + i), ("c", g * size + j), 100.0)
        for g in range(count)
        for i in range(size)
        for j in range(i)
    ]
    pairs += [MeasuredPair(("c", g * size), ("c", g * size - 1), bridge) for g in range(1, count)]
    return Topology("t", (part,), measured=tuple(pairs), workers=workers)


@pytest.mark.parametrize("count", [2, 4, 10])
def test_groups_that_exchange_much_are_parts(count):
    solution = solve(Problem(nodes(count), (cliques(count, 6),)), NAME)
    assert solution.metrics.inter_node_tuples_per_second == count - 1
    assert solution.metrics.nodes_used == count


def test_the_number_of_parts_is_the_option_else_the_workers_asked_for_else_the_nodes():
    cluster = nodes(4)
    for workers, options, parts in (
        (None, {}, 4),
        (2, {}, 2),
        (8, {}, 8),
        (2, {"workers": "6"}, 6),
        (99, {}, 16),
    ):
        problem = Problem(cluster, (cliques(4, 8, workers),))
        assert solve(problem, NAME, options=options).metrics.workers_used == parts


def test_parts_are_as_large_as_their_nodes():
    sizes = (4, 4, 8, 16)
    cluster = tuple(Node(f"n{i}", (6700,), max_executors=size) for i, size in enumerate(sizes))
    problem = Problem(cluster, (cliques(8, 4),))
    solution = solve(problem, NAME)
    found = executor_nodes(problem, solution.placement)
    assert np.bincount(found, minlength=4).tolist() == list(sizes)
    assert solution.metrics.inter_node_tuples_per_second <= 7


def test_a_worker_holds_executors_of_one_topology():
    problem = Problem(nodes(2), tuple(chain([2, 2], name=f"t{i}") for i in range(3)))
    placement = solve(problem, NAME).placement
    for slot in np.unique(placement.slots):
        assert len(np.unique(problem.executor_topology[placement.slots == slot])) == 1


def test_without_traffic_executors_are_dealt_out_by_load():
    part = Component("c", "bolt", 6, np.array([50.0, 50, 10, 10, 10, 10]), np.full(6, 1.0))
    problem = Problem(nodes(2, cpu_percent=100.0), (Topology("t", (part,)),))
    found = executor_nodes(problem, solve(problem, NAME).placement)
    assert np.bincount(found, part.cpu_percent).tolist() == [70.0, 70.0]


def test_again_with_what_runs_nothing_restarts():
    problem = Problem(nodes(4), (cliques(4, 6),))
    first = solve(problem, NAME, seed=1).placement
    again = solve(replace(problem, current=first), NAME, seed=5)
    assert again.metrics.workers_restarted == 0


def test_parts_that_cannot_be_brought_within_limits_name_the_constraint():
    part = Component.uniform("c", 3, cpu_percent=60.0)
    problem = Problem(nodes(2, cpu_percent=100.0), (Topology("t", (part,)),))
    with pytest.raises(Infeasible, match="metis-tasks found none") as caught:
        solve(problem, NAME)
    assert caught.value.constraint == "cpu"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"workers": 0}, "workers"),
        ({"preset": "strong"}, "preset"),
        ({"partitioner": "kahip", "preset": "kway"}, "preset"),
        ({"imbalance": -0.1}, "imbalance"),
        ({"imbalance": 1.5}, "imbalance"),
    ],
)
def test_options_check_themselves(options, named):
    with pytest.raises(InvalidInput, match=f"option {named}"):
        Options(**options)


@given(problem=problems())
def test_no_more_workers_than_parts_and_topologies_allow(problem):
    try:
        solution = solve(problem, NAME, options={"workers": "2"})
    except Infeasible:
        return
    # Two parts are on two nodes; executors are moved to others only to keep within limits.
    limited = any(
        limit is not None
        for node in problem.nodes
        for limit in (node.cpu_percent, node.memory_mb, node.max_executors)
    )
    fits = all(len(node.ports) >= 2 * len(problem.topologies) for node in problem.nodes)
    if fits and not limited:
        assert solution.metrics.workers_used <= 2 * len(problem.topologies)
