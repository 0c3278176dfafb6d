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


@pytest.mark.slow
@given(problems())
def test_who_asks_for_no_workers_is_placed_the_same(problem):
    topologies = tuple(replace(each, workers=None) for each in problem.topologies)
    problem = replace(problem, topologies=topologies)
    anyway, kept = (solved(problem, objective="cut", workers=given) for given in ("any", "keep"))
    assert (problem.slot_node[anyway] == problem.slot_node[kept]).all()


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["auto", "cut", "headroom", "congestion"])
@given(
    st.lists(st.integers(2, 7), min_size=1, max_size=3),
    st.lists(st.integers(1, 3), min_size=2, max_size=4),
    st.data(),
)
def test_topologies_stay_on_as_many_nodes_as_they_ask_for(objective, sizes, slots, data):
    """Each with half an even share at least: one node lost is not the topology."""
    assume(sum(slots) >= len(slots) * len(sizes))
    topologies = tuple(
        replace(chain(data.draw(st.integers(1, 5)), size), id=f"t{at}")
        for at, size in enumerate(sizes)
    )
    nodes = tuple(Node(f"n{at}", tuple(range(len(sizes) + n))) for at, n in enumerate(slots))
    problem = Problem(nodes, topologies)
    chosen = solve(problem, "cut", 1, {"objective": objective, "workers": "keep", "effort": "0.05"})
    homes = problem.slot_node[chosen.placement.slots]
    for at, topology in enumerate(topologies):
        counts = np.bincount(homes[problem.executor_topology == at], minlength=len(nodes))
        wanted = min(topology.workers, len(nodes))
        share = max(1, topology.executor_count // (2 * wanted)) if wanted > 1 else 1
        assert np.count_nonzero(counts >= share) >= wanted


@pytest.mark.parametrize(("asked", "got"), [(2, 2), (3, 3), (6, 6), (20, 6)])
def test_fewer_workers_than_asked_for_are_told(asked, got):
    problem = Problem(tuple(Node(f"n{i}", (0, 1)) for i in range(3)), (chain(asked, 6),))
    found = solve(problem, "cut", 1, {**FAST, "workers": "keep"})
    assert found.metrics.workers_used == got
    assert [note[:20] for note in found.notes] == ["t has 6 workers, not"] * (got < asked)


@pytest.mark.slow
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


def chain(workers, size=4):
    parts = (Component.uniform("a", size, "spout"), Component.uniform("b", size))
    return Topology("t", parts, (Stream("a", "b", 400.0),), workers=workers)


@pytest.mark.slow
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
