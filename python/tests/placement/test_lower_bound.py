from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_problems import LAYOUTS, chain, microbenchmark, nodes

from stormcut.model.placement import Placement
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Stream, Topology
from stormcut.objective.cut import inter_node_tuples_per_second
from stormcut.objective.verify import TOLERANCE, violations
from stormcut.placement.bounds.lower_bound import lower_bound
from stormcut.placement.graph.partition import traffic_graph

HETEROGENEOUS = (6,) * 3 + (4,) * 3 + (2,) * 4
#: Optima of the thesis's instances (section 7.2) of 10, 18, 22, 26, 28, 30 and 32 tasks.
OPTIMA = {
    ("star", (4,) * 10): (16, 44, 60, 76, 84, 92, 100),
    ("star", HETEROGENEOUS): (12, 38, 54, 70, 78, 86, 94),
    ("diamond", (4,) * 10): (10, 64, 94, 124, 138, 154, 168),
    ("diamond", HETEROGENEOUS): (8, 54, 84, 114, 130, 146, 162),
    ("linear", (4,) * 10): (8, 16, 20, 24, 24, 28, 28),
}


def bound(problem, effort=1.0):
    return lower_bound(problem, effort).tuples_per_second


def optimum(problem):
    """Return the least tuples/s between nodes of all assignments, infinite if none is feasible."""
    count, homes = problem.executor_count, len(problem.nodes)
    every = np.array(list(product(range(homes), repeat=count)))
    fits = np.ones(len(every), dtype=bool)
    for ordinal, node in enumerate(problem.nodes):
        here = every == ordinal
        tenants = sum(here[:, problem.executor_topology == t].any(axis=1) for t in range(2))
        fits &= tenants <= len(node.ports)
        for load, limit in (
            (problem.executor_cpu, node.cpu_percent),
            (problem.executor_memory, node.memory_mb),
            (np.ones(count), node.max_executors),
        ):
            if limit is not None:
                fits &= here @ load <= limit + TOLERANCE * max(1.0, limit)
    pairs = traffic_graph(problem.traffic, count).tocoo()
    away = every[fits][:, pairs.row] != every[fits][:, pairs.col]
    return (away @ pairs.data).min(initial=np.inf) / 2


@st.composite
def small_problems(draw):
    """Problems of up to two topologies and six executors on up to three unequal nodes."""
    limits = st.tuples(
        st.sampled_from((None, 40.0, 70.0, 100.0)),
        st.sampled_from((None, 512.0, 1024.0)),
        st.sampled_from((None, 1, 2, 3, 4)),
    )
    homes = tuple(
        Node(f"n{i}", (6700, 6701), draw(st.sampled_from((None, "r0"))), *draw(limits))
        for i in range(draw(st.integers(1, 3)))
    )
    topologies, left = [], 6
    for number in range(draw(st.integers(1, 2))):
        sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
        sizes = sizes[: next((i for i in range(len(sizes)) if sum(sizes[: i + 1]) > left), 9)]
        left -= sum(sizes)
        loads = st.sampled_from((0.0, 10.0, 20.0, 35.0))
        parts = tuple(
            Component.uniform(f"c{i}", size, "bolt", draw(loads), draw(loads) * 10)
            for i, size in enumerate(sizes)
        )
        rates = st.sampled_from((0.5, 1.0, 7.0, 100.0))
        ends = st.integers(0, max(0, len(sizes) - 1))
        kinds = st.sampled_from(("shuffle", "fields", "all", "global"))
        chosen = draw(st.lists(st.tuples(ends, ends, rates, kinds), max_size=4)) if sizes else []
        streams = tuple(Stream(f"c{a}", f"c{b}", rate, kind) for a, b, rate, kind in chosen)
        tasks = [(f"c{i}", index) for i, size in enumerate(sizes) for index in range(size)]
        task = st.sampled_from(tasks) if tasks else st.nothing()
        measured = st.lists(st.tuples(task, task, rates), max_size=4 if tasks else 0)
        pairs = tuple(MeasuredPair(*each) for each in draw(measured))
        topologies.append(Topology(f"t{number}", parts, streams, pairs))
    return Problem(homes, tuple(topologies))


@given(small_problems(), st.sampled_from((0.0, 0.2, 1.0)))
def test_never_above_the_optimum(problem, effort):
    assert 0.0 <= bound(problem, effort) <= optimum(problem) * (1 + 1e-9) + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("layout", "capacities"), OPTIMA)
def test_never_above_the_optima_of_the_thesis(layout, capacities):
    for tasks, value in zip((10, 18, 22, 26, 28, 30, 32), OPTIMA[layout, capacities], strict=True):
        found = bound(microbenchmark(layout, tasks, capacities))
        assert 0.5 * value <= found <= value + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_more_effort_proves_no_less(layout):
    problem = microbenchmark(layout, 22, HETEROGENEOUS)
    bounds = [bound(problem, effort) for effort in (0.0, 0.2, 1.0, 2.0)]
    assert bounds == sorted(bounds)


def test_what_fits_on_one_node_need_not_leave_it():
    assert bound(Problem(nodes(2), (chain([3, 3]),))) == 0.0


def test_no_traffic_and_no_nodes():
    assert bound(Problem(nodes(2, max_executors=1), (chain([2]),))) == 0.0
    assert bound(Problem((), ())) == 0.0


def test_two_that_fit_nowhere_together_are_apart():
    assert bound(Problem(nodes(2, max_executors=1), (chain([1, 1]),))) == pytest.approx(100.0)


def test_pieces_add_up():
    alone = bound(Problem(nodes(9, max_executors=4), (chain([4, 4]),)))
    twice = (chain([4, 4]), chain([4, 4], name="other"))
    assert bound(Problem(nodes(9, max_executors=4), twice)) == pytest.approx(2 * alone)
    # Of 16 pairs a node of four has four, and there are two such nodes.
    assert alone == pytest.approx(50.0)


def test_names_and_order_do_not_matter():
    problem = microbenchmark("diamond", 18, HETEROGENEOUS)
    turned = replace(problem, nodes=problem.nodes[::-1])
    assert bound(turned) == pytest.approx(bound(problem))


def test_whole_executors_count_and_not_shares():
    """A node of 35 cores holds one executor of 18: of the pairs none can be local."""
    topology = Topology(
        "t",
        (Component.uniform("a", 2, "spout", 1800.0), Component.uniform("b", 2, "bolt", 1800.0)),
        (Stream("a", "b", 2.0, "shuffle"),),
    )
    assert bound(Problem(nodes(4, cpu_percent=3500.0), (topology,))) == pytest.approx(2.0)


def test_more_kinds_of_nodes_than_are_told_apart():
    homes = tuple(Node(f"n{i:02d}", (6700,), None, 10.0 + i) for i in range(12))
    parts = (Component.uniform("a", 3, "spout", 10.0), Component.uniform("b", 3, "bolt", 10.0))
    problem = Problem(homes, (Topology("t", parts, (Stream("a", "b", 9.0, "shuffle"),)),))
    # Two fit on none but the last two nodes, where they fit with room to spare.
    assert bound(problem) == pytest.approx(9.0 - 2.0, abs=2.0)
    assert bound(problem) <= 9.0 - 2.0


def test_streams_that_may_stay_local_prove_nothing():
    topology = Topology(
        "t",
        (Component.uniform("a", 1, "spout"), Component.uniform("b", 2)),
        (Stream("a", "b", 10.0, "local_or_shuffle"),),
    )
    problem = Problem(nodes(2, max_executors=2), (topology,))
    placement = Placement(np.array([0, 0, 4]))
    assert not violations(problem, placement)
    assert inter_node_tuples_per_second(problem, placement) == 0.0
    assert bound(problem) == 0.0


@pytest.mark.slow
def test_hundreds_of_measured_executors():
    random = np.random.default_rng(3)
    count = 270
    ends = random.integers(0, count, (2500, 2))
    pairs = tuple(
        MeasuredPair(("t", int(a)), ("t", int(b)), float(rate))
        for (a, b), rate in zip(ends, random.exponential(10.0, len(ends)), strict=True)
    )
    topology = Topology("t", (Component.uniform("t", count),), (), pairs)
    problem = Problem(nodes(10, max_executors=28), (topology,))
    quick, found = bound(problem, 0.0), bound(problem, 0.1)
    assert 0.0 < quick <= found < problem.traffic.total
