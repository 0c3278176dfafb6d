import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from small_problems import chain, nodes

from stormcut.model.problem import Problem
from stormcut.placement.graph.partition import integer_weights, partition, traffic_graph
from stormcut.placement.packing.repair import repair
from stormcut.placement.packing.tenancy import limit_topologies


@st.composite
def graphs(draw):
    size = draw(st.integers(1, 14))
    dense = np.zeros((size, size))
    for _ in range(draw(st.integers(0, 30))):
        a, b = draw(st.integers(0, size - 1)), draw(st.integers(0, size - 1))
        if a != b:
            dense[a, b] = dense[b, a] = draw(st.integers(1, 9))
    return csr_array(dense)


@given(graphs(), st.integers(1, 8), st.sampled_from(("recursive", "kway")), st.data())
def test_parts_are_numbered_without_gaps(graph, parts, method, data):
    size = graph.shape[0]
    weights = data.draw(st.lists(st.integers(0, 5).map(float), min_size=size, max_size=size))
    result = partition(graph, parts, np.array(weights), 1, method)
    assert result[0] == 0
    assert set(result.tolist()) == set(range(int(result.max()) + 1))
    assert result.max() < parts


@given(graphs(), st.integers(1, 6), st.data())
def test_repair_keeps_its_promise(graph, limit, data):
    size = graph.shape[0]
    loads = np.array(
        data.draw(st.lists(st.integers(0, 4).map(float), min_size=size, max_size=size))
    )
    start = partition(graph, 2, np.ones(size), 1)
    most = data.draw(st.integers(int(start.max()) + 1, size + 1))
    result = repair(graph, start, loads[:, None], np.array([float(limit)]), most)
    if result is None:
        assert most < size  # with a part for each vertex there is always a way
        return
    assert result.max() < most
    for part in range(int(result.max()) + 1):
        assert loads[result == part].sum() <= limit or (result == part).sum() == 1


def test_repair_swaps_where_no_move_fits():
    # Loads 3+3 | 2+2 under limit 5: only an exchange helps.
    graph = csr_array(np.zeros((4, 4)))
    loads = np.array([[3.0], [3.0], [2.0], [2.0]])
    parts = repair(graph, np.array([0, 0, 1, 1]), loads, np.array([5.0]), 2)
    assert parts is not None
    assert [loads[parts == part].sum() for part in (0, 1)] == [5.0, 5.0]


def test_repair_takes_the_cheapest_move():
    dense = np.zeros((4, 4))
    dense[0, 1] = dense[1, 0] = 5
    dense[2, 3] = dense[3, 2] = 1
    parts = repair(csr_array(dense), np.array([0, 0, 0, 1]), np.ones((4, 1)), np.array([2.0]), 2)
    assert parts is not None
    assert parts.tolist() == [0, 0, 1, 1]


def test_topologies_of_a_part_are_limited_to_slots():
    graph = csr_array(np.zeros((3, 3)))
    parts, loads = np.array([0, 0, 0]), np.ones((3, 1))
    topology, limits = np.array([0, 1, 1]), np.array([2.0])
    assert limit_topologies(graph, parts, topology, loads, limits, 1, 2).tolist() == [1, 0, 0]
    assert limit_topologies(graph, parts, topology, loads, limits, 1, 1) is None


def test_weights_keep_their_ratio_in_any_unit():
    assert integer_weights(np.array([250.0, 500.0, 0.0])).tolist() == [1, 2, 0]
    assert integer_weights(np.array([0.1, 0.3])).tolist() == [1, 3]
    wild = integer_weights(np.array([1e-9, 1e9, 3.3]))
    assert wild.min() >= 1
    assert wild.sum() < 2**31


def test_graph_adds_both_directions():
    problem = Problem(nodes(1), (chain([1, 1, 1], rate=10.0),))
    graph = traffic_graph(problem.traffic, 3).toarray()
    assert graph == pytest.approx(np.array([[0, 10, 0], [10, 0, 10], [0, 10, 0]]))
