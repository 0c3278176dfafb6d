"""`cut` with ``workers=keep``: the number asked for, where nodes have room for them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from problem_strategies import problems

from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Stream, Topology
from stormcut.objective.headroom import headroom
from stormcut.objective.metrics import measure
from stormcut.placement.solve import solve

FAST = {"effort": "0"}


def solved(problem, **options):
    try:
        return solve(problem, "cut", options={**FAST, **options}).placement.slots
    except Infeasible:
        assume(False)


@given(problems())
def test_for_least_traffic_nodes_are_the_same(problem):
    anyway, kept = (solved(problem, objective="cut", workers=given) for given in ("any", "keep"))
    assert (problem.slot_node[anyway] == problem.slot_node[kept]).all()


@given(problems())
def test_workers_are_as_many_as_asked_where_slots_allow(problem):
    kept = solved(problem, workers="keep")
    ports = np.array([len(node.ports) for node in problem.nodes])
    for at, topology in enumerate(problem.topologies):
        own = problem.executor_topology == at
        nodes, counts = np.unique(problem.slot_node[kept[own]], return_counts=True)
        wanted = max(topology.workers or 0, len(nodes))
        possible = int(np.minimum(counts, ports[nodes]).sum())
        got = len(np.unique(kept[own]))
        assert got <= min(wanted, possible)
        assert got == min(wanted, possible) or len(problem.topologies) > 1


def chain(workers):
    parts = (Component.uniform("a", 4, "spout"), Component.uniform("b", 4))
    return Topology("t", parts, (Stream("a", "b", 400.0),), workers=workers)


@given(st.integers(1, 8))
def test_what_it_placed_restarts_nothing_when_asked_again(workers):
    problem = Problem(tuple(Node(f"n{i}", tuple(range(8))) for i in range(3)), (chain(workers),))
    slots = solved(problem, workers="keep")
    assert len(np.unique(slots)) == workers
    again = solved(replace(problem, current=Placement(slots)), workers="keep")
    assert (again == slots).all()


def test_traffic_between_the_workers_of_a_node_is_kept_low():
    parts = (Component.uniform("a", 6, "spout"), Component.uniform("b", 6))
    pairs = tuple(MeasuredPair(("a", i), ("b", (i + 1) % 6), 10.0) for i in range(6))
    problem = Problem((Node("n", (1, 2, 3)),), (Topology("t", parts, (), pairs, workers=3),))
    metrics = measure(problem, Placement(solved(problem, workers="keep")))
    assert metrics.workers_used == 3
    assert metrics.inter_worker_tuples_per_second == 0


@pytest.mark.parametrize("objective", ["headroom", "congestion"])
def test_a_worker_that_is_kept_anyway_may_have_a_node_of_its_own(objective):
    """A fifth worker's idle CPU filled one of four nodes, while the fifth was empty."""
    parts = tuple(
        Component.uniform(name, 4, kind, cpu_percent=9.0)
        for name, kind in (("a", "spout"), ("b", "bolt"))
    )
    pairs = tuple(MeasuredPair(("a", i), ("b", i), 10.0, 100.0) for i in range(4))
    nodes = tuple(Node(f"n{i}", (0, 1, 2, 3), cpu_percent=30.0) for i in range(5))
    problem = Problem(nodes, (Topology("t", parts, (), pairs, workers=5),))
    options = {"workers": "keep", "objective": objective}
    placed = solve(problem, "cut", 1, options).placement
    assert headroom(problem, placed).value > 1.2
    assert len(np.unique(placed.slots)) == 5


def test_a_worker_more_goes_where_cpu_is_left():
    """It went where executors are many, however much CPU they took."""
    parts = (
        Component.uniform("idle", 2, "spout", cpu_percent=1.0),
        Component.uniform("busy", 3, cpu_percent=30.0),
    )
    pins = "t/idle@n0,t/busy@n1"
    nodes = tuple(Node(f"n{i}", (0, 1, 2), cpu_percent=100.0) for i in range(2))
    problem = Problem(nodes, (Topology("t", parts, workers=3),))
    slots = solved(problem, workers="keep", pin=pins)
    assert len(np.unique(slots[:2])) == 2
    assert len(np.unique(slots[2:])) == 1


def test_no_worker_is_added_where_no_slot_is_left():
    """Nodes without any CPU all count as full, those that have no room among them."""
    parts = (
        Component.uniform("a", 3, "spout", cpu_percent=0.0),
        Component.uniform("b", 2, cpu_percent=0.0),
    )
    nodes = (Node("n0", (0,), cpu_percent=0.0), Node("n1", (0, 1), cpu_percent=0.0))
    problem = Problem(nodes, (Topology("t", parts, workers=3),))
    slots = solved(problem, workers="keep", pin="t/a@n0,t/b@n1")
    assert len(np.unique(slots)) == 3
