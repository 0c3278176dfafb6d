"""What components send each other, against a count of every pair."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from problem_strategies import problems

from stormcut.model.placement import Placement
from stormcut.model.problem import Component, Node, Problem, Stream, Topology
from stormcut.objective.crossing import between_nodes, component_traffic
from stormcut.objective.metrics import measure


@given(problems())
def test_it_adds_up_to_the_metrics(problem):
    random = np.random.default_rng(problem.executor_count)
    slots = random.integers(-1, problem.slot_count, problem.executor_count)
    placement = Placement(slots.astype(np.int64))
    metrics, found = measure(problem, placement), component_traffic(problem, placement)
    sums = [
        sum(each.between_nodes for each in found),
        sum(each.between_workers for each in found),
        sum(each.tuples_per_second for each in found),
    ]
    expected = (
        metrics.inter_node_tuples_per_second,
        metrics.inter_worker_tuples_per_second,
        problem.traffic.total,
    )
    assert sums == pytest.approx(expected)


def test_chains_cross_nodes_as_they_flow():
    """Both sources send to the one middle task in their worker, which sends all of it away."""
    parts = (
        Component.uniform("a", 2, "spout"),
        Component.uniform("b", 2),
        Component.uniform("c", 2),
    )
    streams = tuple(Stream(*ends, 6.0, "local_or_shuffle") for ends in (("a", "b"), ("b", "c")))
    problem = Problem((Node("n1", (1,)), Node("n2", (1,))), (Topology("t", parts, streams),))
    placement = Placement(np.array([0, 0, 0, 1, 1, 1]))
    assert between_nodes(problem, placement) == pytest.approx(6.0)
    assert measure(problem, placement).inter_node_tuples_per_second == pytest.approx(3.0)
    assert between_nodes(problem, Placement(np.zeros(6, dtype=np.int64))) == 0.0


def test_a_stream_by_hand():
    """Two sources, three targets, 6 tuples/s: the source next to two targets sends a third away."""
    parts = (Component.uniform("a", 2, "spout"), Component.uniform("b", 3))
    nodes = (Node("n1", (1,)), Node("n2", (1,)))
    streams = (Stream("a", "b", 6.0, bytes_per_tuple=1000.0),)
    problem = Problem(nodes, (Topology("t", parts, streams),))
    (found,) = component_traffic(problem, Placement(np.array([0, 1, 0, 0, 1])))
    assert (found.topology, found.source, found.target) == ("t", "a", "b")
    assert found.tuples_per_second == pytest.approx(6.0)
    assert found.between_nodes == found.between_workers == pytest.approx(1.0 + 2.0)
    assert found.mbit_between_nodes == pytest.approx(3.0 * 8000 / 1e6)


def test_without_sizes_there_are_no_bits():
    parts = (Component.uniform("a", 1, "spout"), Component.uniform("b", 1))
    problem = Problem(
        (Node("n1", (1,)), Node("n2", (1,))), (Topology("t", parts, (Stream("a", "b", 6.0),)),)
    )
    (apart,) = component_traffic(problem, Placement(np.array([0, 1])))
    (together,) = component_traffic(problem, Placement(np.array([0, 0])))
    assert apart.mbit_between_nodes is None
    assert together.mbit_between_nodes == 0.0
    assert not math.isnan(apart.between_nodes)
