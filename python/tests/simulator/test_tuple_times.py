"""Tuple times of `score` and `compare`: those of the events engine, or none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problem_strategies import problems

from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Topology
from stormcut.simulator.events import simulate
from stormcut.simulator.tuple_times import MAX_PER_S, slowest, tuple_times


def chain(rate: float, cpu: float) -> Problem:
    """Return a source and a bolt, each on a node of its own."""
    parts = (
        Component.uniform("source", 1, "spout", 1.0, 10.0),
        Component("work", "bolt", 1, np.array([cpu]), np.array([10.0])),
    )
    pairs = (MeasuredPair(("source", 0), ("work", 0), rate, 50.0),)
    nodes = tuple(Node(name, (1,), cpu_percent=200.0) for name in "ab")
    return Problem(nodes, (Topology("t", parts, (), pairs),))


APART = Placement(np.array([0, 1]))


@pytest.mark.slow
def test_they_are_those_of_a_longer_simulation():
    problem = chain(1000.0, 40.0)
    times = tuple_times(problem, APART)
    assert times is not None
    longer = simulate(problem, APART, seconds=1500.0, seed=7).latency["t"]
    assert times["t"].p50 == pytest.approx(longer.p50, rel=0.05)
    assert times["t"].p99 == pytest.approx(longer.p99, rel=0.1)
    assert slowest(times) == ("t", times["t"])


def test_what_is_full_cannot_run_or_is_too_much_has_none():
    assert tuple_times(chain(1000.0, 130.0), APART) is None
    assert tuple_times(chain(1000.0, 40.0), Placement(np.array([0, UNASSIGNED]))) is None
    assert tuple_times(chain(2 * MAX_PER_S, 40.0), APART) is None
    silent = chain(1000.0, 40.0)
    (topology,) = silent.topologies
    silent = replace(silent, topologies=(replace(topology, measured=()),))
    assert tuple_times(silent, APART) is None


@given(problems(), st.data())
def test_any_problem_has_times_or_none(problem, data):
    if not problem.slot_count or not problem.executor_count:
        return
    slot = st.integers(UNASSIGNED, problem.slot_count - 1)
    size = problem.executor_count
    placed = data.draw(st.lists(slot, min_size=size, max_size=size))
    for own in (tuple_times(problem, Placement(np.array(placed))) or {}).values():
        assert 0 <= own.p50 <= own.p95 <= own.p99
