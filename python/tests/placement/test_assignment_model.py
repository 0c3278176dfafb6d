from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from stormcut.objective.verify import exceeds
from stormcut.placement.algorithms.i_scheduler.assignment_model import (
    AssignmentProblem,
    assign,
    integer_loads,
    interchangeable,
)


def local(graph, nodes):
    edges = graph.tocoo()
    return edges.data[nodes[edges.row] == nodes[edges.col]].sum() / 2


def allowed(problem, nodes):
    for node in range(len(problem.limits)):
        here = nodes == node
        if exceeds(problem.loads[here].sum(axis=0), problem.limits[node]).any():
            return False
        if problem.tenants[here].any(axis=0).sum() > problem.slots[node]:
            return False
    return True


@st.composite
def assignment_problems(draw):
    count, nodes = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    rates = draw(
        st.lists(st.integers(0, 3), min_size=count * count, max_size=count * count).map(np.array)
    ).reshape(count, count)
    rates = np.triu(rates, 1).astype(float)
    load = st.sampled_from((0.1, 0.2, 0.3, 1.0, 1 / 3))
    loads = np.array(draw(st.lists(load, min_size=count, max_size=count)))
    limit = st.sampled_from((0.6, 1.0, 1.3, np.inf))
    limits = np.array(draw(st.lists(limit, min_size=nodes, max_size=nodes)))
    topology = draw(st.lists(st.integers(0, 1), min_size=count, max_size=count))
    slots = np.array(draw(st.lists(st.integers(1, 2), min_size=nodes, max_size=nodes)))
    return AssignmentProblem(
        csr_array(rates + rates.T), loads[:, None], np.eye(2, dtype=bool)[topology],
        limits[:, None], slots,
    )  # fmt: skip


@given(assignment_problems())
def test_the_best_assignment_is_found_and_proven(problem):
    count, nodes = len(problem.loads), len(problem.limits)
    everything = (np.array(each) for each in product(range(nodes), repeat=count))
    best = max((local(problem.graph, a) for a in everything if allowed(problem, a)), default=None)
    found = assign(problem, 5.0, seed=1)
    if best is None:
        assert found is None
        return
    # Loads such as 1/3 are rounded up, three of them no longer fit in 1: then nothing is claimed.
    exact = not np.isin(problem.loads, 1 / 3).any()
    if found is None:
        assert not exact
        return
    assert found.proven
    assert allowed(problem, found.nodes)
    if exact:
        assert local(problem.graph, found.nodes) == best


def test_decimal_loads_stay_exact_and_others_are_rounded_up():
    loads, limits = integer_loads(np.array([[0.1], [0.2], [0.3]]), np.array([[0.3], [np.inf]]))
    assert loads.T.tolist() == [[1, 2, 3]]
    assert limits.T.tolist() == [[3, 6]]
    loads, limits = integer_loads(np.array([[np.pi], [np.e]]), np.array([[np.pi]]))
    assert loads[0, 0] >= limits[0, 0] * 0.999999


def test_vertices_with_equal_rates_are_interchangeable():
    graph = csr_array(np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]], dtype=float))
    problem = AssignmentProblem(
        graph, np.ones((3, 1)), np.ones((3, 1), dtype=bool), np.ones((1, 1)), np.ones(1)
    )
    assert interchangeable(problem) == [(0, 1)]
