"""Tuples on a pipelined schedule: as theory says where it says something, and none lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormcut.lab.papers.slot_clock import part_sizes, walk
from stormcut.lab.papers.workloads import PIPELINES
from stormcut.placement.algorithms.pipeline_linear.allocation import allocate
from stormcut.placement.algorithms.pipeline_linear.schedule import schedule


def planned(application, sized=True):
    tasks, edges, nodes = PIPELINES[application]
    parts = part_sizes(tasks, edges) if sized else [1] * len(edges)
    return schedule(allocate(tasks, edges, nodes), edges, parts), parts


def busiest(application):
    """Return the tuples of the sources in 1 h that the busiest component carries."""
    tasks, edges, _ = PIPELINES[application]
    volume = [1.0] + [0.0] * (len(tasks) - 1)
    for source, target in edges:
        volume[target] += volume[source]
    return min(size / each for size, each in zip(tasks[1:], volume[1:], strict=True))


@pytest.mark.parametrize(
    ("application", "sizes"),
    [
        ("random", [2, 3, 3, 3, 3]),
        ("linear", [1, 1, 1]),
        ("diamond", [1, 1, 1, 1]),
        ("linear-R", [1, 2, 8, 64]),
    ],
)
def test_parts_are_those_of_the_reading(application, sizes):
    """Section 4 of the reading: 1, 2, 8 and 64; on random 1 to 1.5."""
    tasks, edges, _ = PIPELINES[application]
    assert part_sizes(tasks, edges) == sizes


@pytest.mark.parametrize(
    ("application", "share"),
    [("random", 12 / 21), ("linear", 4 / 8), ("diamond", 20 / 24), ("linear-R", 256 / 288)],
)
def test_overloaded_it_carries_what_the_rounds_allow(application, share):
    """Section 4 of the reading: the bound of a round over its length."""
    plan, parts = planned(application)
    assert plan.shortest_round() / plan.round_lengths().sum() == pytest.approx(share)
    run = walk(plan, 1.5 * busiest(application), parts=parts, tuples=12_000)
    assert run.rate / busiest(application) == pytest.approx(share, rel=0.02)
    assert run.rate < run.offered


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [2, 4, 8])
@pytest.mark.parametrize("load", [0.3, 0.6])
def test_one_pair_is_a_server_that_comes_once_a_round(nodes, load):
    """M/D/1 with a round for its service: half a round, the queue, and the slot itself."""
    plan = schedule(allocate([1, 1], [(0, 1)], nodes), [(0, 1)])
    run = walk(plan, load / nodes, parts=[1], tuples=20_000)
    queue = load * nodes / (2 * (1 - load))
    assert run.latency == pytest.approx(nodes / 2 + queue + 1, rel=0.06)


@pytest.mark.slow
def test_it_takes_longer_the_more_comes():
    plan, parts = planned("diamond")
    rates = np.array([0.1, 0.3, 0.5, 0.7]) * busiest("diamond")
    times = [walk(plan, rate, parts=parts, tuples=4_000).latency for rate in rates.tolist()]
    assert times == sorted(times)


def test_parts_of_one_tuple_pile_up_where_tasks_get_fewer():
    plan, parts = planned("linear-R", sized=False)
    run = walk(plan, 0.5 * busiest("linear-R"), parts=parts, tuples=4_000)
    assert run.rate < 0.9 * run.offered


@pytest.mark.slow
@given(
    st.lists(st.integers(1, 5), min_size=2, max_size=4),
    st.integers(2, 6),
    st.integers(1, 20),
)
def test_no_tuple_is_lost_and_no_buffer_overflows(tasks, nodes, buffer):
    edges = [(at, at + 1) for at in range(len(tasks) - 1)]
    plan = schedule(allocate(tasks, edges, nodes), edges)
    parts = part_sizes(tasks, edges)
    room = buffer * sum(tasks[1:])
    light = walk(plan, 0.05, parts=parts, tuples=300)
    full = walk(plan, 50.0, parts=parts, buffer=buffer, tuples=3_000)
    assert light.rate == pytest.approx(light.offered, rel=0.1)
    assert full.held <= room
    assert full.rate <= full.offered
