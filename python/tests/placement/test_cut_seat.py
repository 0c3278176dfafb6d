"""`cut` with ``workers=keep``: the number asked for, on the nodes that it would choose anyway."""

from dataclasses import replace

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from problem_strategies import problems

from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Stream, Topology
from stormcut.objective.metrics import measure
from stormcut.placement.solve import solve

FAST = {"effort": "0"}


def solved(problem, **options):
    try:
        return solve(problem, "cut", options={**FAST, **options}).placement.slots
    except Infeasible:
        assume(False)


@given(problems())
def test_nodes_are_the_same_and_workers_as_many_as_asked_where_slots_allow(problem):
    anyway, kept = solved(problem), solved(problem, workers="keep")
    assert (problem.slot_node[anyway] == problem.slot_node[kept]).all()
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
