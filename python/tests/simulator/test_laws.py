"""What holds of every simulation: conservation, Little's law, one model in both engines."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormcut.model.errors import InvalidInput
from stormcut.model.network import Costs, Link
from stormcut.model.placement import Placement
from stormcut.model.problem import Component, Node, Problem, Stream, Topology
from stormcut.simulator import events
from stormcut.simulator.events import running, simulate
from stormcut.simulator.fluid import fluid
from stormcut.simulator.system import system_of

COSTS = Costs(40.0, 5.0, 60.0, 5.0, 26.0, worker_percent=2.0)


def component(name, us, kind="bolt", count=1, service="deterministic", threads=1.0):
    zeros = np.zeros(count)
    return Component(name, kind, count, zeros, zeros + 1, us, threads, service, "uniform")


@st.composite
def systems(draw, window=None, service="deterministic"):
    """A chain or a fork on up to four nodes, loaded to half at most."""
    us = st.sampled_from((20.0, 100.0, 500.0))
    counts = st.integers(1, 3)
    fork = draw(st.booleans())
    bolts = [component(name, draw(us), count=draw(counts), service=service) for name in "abc"]
    rate = draw(st.sampled_from((50.0, 200.0)))
    ways = (("s", "a"), ("a", "b"), ("a" if fork else "b", "c"))
    part = draw(st.sampled_from((0.5, 1.0, 2.0)))
    rates = (rate, rate * part, rate * part)
    streams = tuple(
        Stream(a, b, each, stream=b, bytes_per_tuple=200.0)
        for (a, b), each in zip(ways, rates, strict=True)
    )
    topology = Topology(
        "t",
        (component("s", 10.0, "spout", 2, service), *bolts),
        streams,
        max_spout_pending=window,
    )
    count = draw(st.integers(1, 4))
    mbit = draw(st.sampled_from((None, 50.0)))
    nodes = tuple(
        Node(f"n{at}", (1, 2), cpu_percent=400.0, link=Link(mbit, mbit)) for at in range(count)
    )
    problem = Problem(nodes, (topology,), costs=COSTS)
    slots = st.integers(0, 2 * count - 1)
    size = problem.executor_count
    placed = draw(st.lists(slots, min_size=size, max_size=size))
    return problem, Placement(np.array(placed, dtype=np.int64))


def _chained(problem):
    """The same without copies: every component sends one tuple for one that it takes."""
    (topology,) = problem.topologies
    chain = tuple(
        replace(stream, source=a, target=b, tuples_per_second=100.0)
        for stream, (a, b) in zip(topology.streams, pairwise("sabc"), strict=True)
    )
    return replace(problem, topologies=(replace(topology, streams=chain),))


@given(systems())
def test_what_is_sent_is_executed_and_a_seed_gives_the_same_again(system):
    problem, placement = system
    first, again = (simulate(problem, placement, seconds=20.0, seed=3) for _ in range(2))
    assert first == again
    assert not first.saturated
    steady = fluid(problem, placement)
    for name, rate in steady.executed["t"].items():
        assert first.executed["t"][name] == pytest.approx(rate, rel=0.05, abs=1.0)
    by_resource = {use.resource: use.value for use in first.uses}
    for use in steady.uses[:5]:
        assert by_resource[use.resource] == pytest.approx(use.value, rel=0.1, abs=0.01)


@given(systems())
def test_a_tree_takes_as_long_as_its_tuples_are_there(system):
    """Little's law: of a chain without copies, tuples there = rate x time."""
    problem, placement = system
    problem = replace(problem, costs=Costs(0.0, 0.0, 0.0, 0.0, 0.0))
    nodes = tuple(replace(node, link=Link()) for node in problem.nodes)
    problem = replace(_chained(problem), nodes=nodes)
    found = simulate(problem, placement, seconds=200.0)
    there = sum(found.held["t"][name] for name in "abc")
    assert there == pytest.approx(found.sources["t"] * found.latency["t"].mean / 1e3, rel=0.02)
    stays = sum(found.stays["t"][name] for name in "abc")
    assert stays == pytest.approx(found.latency["t"].mean, rel=0.02)


@pytest.mark.slow
@given(systems(window=50, service="exponential"))
def test_in_closed_loop_both_engines_agree(system):
    """The cost model's closed loop is the events' steady state, within three percent.

    That is, of what it takes a tuple to do, one thing after the other: in a chain, on threads that
    need not share their CPU.
    """
    problem, placement = system
    nodes = tuple(replace(node, cpu_percent=None) for node in problem.nodes)
    problem = replace(_chained(problem), nodes=nodes)
    events = simulate(problem, placement, closed=True, seconds=10.0)
    steady = fluid(problem, placement, closed=True)
    assert events.sources["t"] == pytest.approx(steady.sources["t"], rel=0.03)


def test_drained_it_is_empty():
    topology = Topology(
        "t",
        (component("s", 0.0, "spout"), component("a", 1000.0, count=2)),
        (Stream("s", "a", 100.0),),
    )
    problem = Problem((Node("n", (1, 2)),), (topology,), costs=COSTS)
    system = system_of(problem, Placement(np.array([0, 1, 1])))
    with running(system, 1, 1) as engine:
        engine.run(5.0, lambda done, wanted: None)
        system.executors.rate[0] = 0.0
        engine.source_changed(0)
        engine.run(6.0, lambda done, wanted: None)
        assert engine.alive == 0
        emitted = engine.counts.executed[0]
        assert engine.counts.executed[1:].sum() == emitted
        assert engine.counts.latency.sum() == emitted


@pytest.mark.parametrize("service", ["deterministic", "exponential"])
@pytest.mark.parametrize("threads", [1.0, 1.25, 2.0, 2.5])
def test_an_executor_of_several_processes_is_full_when_its_busiest_is(threads, service):
    """It costs its node all its CPU, and carries what its busiest process does."""
    bolt = component("a", 1000.0, service=service, threads=threads)
    topology = Topology(
        "t", (component("s", 1.0, "spout"), bolt), (Stream("s", "a", 100.0),), max_spout_pending=50
    )
    problem = Problem((Node("n", (1,), cpu_percent=800.0),), (topology,))
    found = simulate(problem, Placement(np.zeros(2, dtype=np.int64)), closed=True, seconds=20.0)
    carried = threads * 1000.0
    assert found.sources["t"] == pytest.approx(carried, rel=0.02)
    used = {use.resource.kind: use.value for use in found.uses if use.resource.kind == "cpu"}
    assert used["cpu"] * 8.0 == pytest.approx(threads, rel=0.05)


@pytest.mark.slow
def test_what_has_no_end_is_refused(monkeypatch):
    monkeypatch.setattr(events, "STEP_EVENTS", 100_000)
    topology = Topology(
        "t",
        (component("s", 0.0, "spout"), component("a", 0.0)),
        (Stream("s", "a", 100.0),),
        max_spout_pending=5,
    )
    problem = Problem((Node("n", (1,)),), (topology,))
    with pytest.raises(InvalidInput, match="time stands still"):
        simulate(problem, Placement(np.zeros(2, dtype=np.int64)), closed=True)


@pytest.mark.slow
def test_an_overload_is_a_verdict_and_ends():
    topology = Topology(
        "t", (component("s", 0.0, "spout"), component("a", 1e6)), (Stream("s", "a", 1e5),)
    )
    problem = Problem((Node("n", (1,)),), (topology,))
    found = simulate(problem, Placement(np.zeros(2, dtype=np.int64)), seconds=1e6)
    assert found.saturated
    assert found.bottleneck is not None and found.bottleneck.name == "a[0]"
    assert found.executed["t"]["a"] == pytest.approx(1.0, rel=0.05)


def test_tuples_wait_for_storms_flushes():
    """Of a sparse tuple: half a tick in the executor's queue, a whole one in the next."""
    topology = Topology(
        "t", (component("s", 0.0, "spout"), component("a", 0.0)), (Stream("s", "a", 7.0),)
    )
    problem = Problem((Node("n", (1,)),), (topology,), costs=COSTS)
    placement = Placement(np.zeros(2, dtype=np.int64))
    assert simulate(problem, placement, seconds=100.0).latency["t"].mean == 0.0
    flushed = simulate(problem, placement, seconds=300.0, flush_ms=1.0)
    assert flushed.latency["t"].mean == pytest.approx(1.5, rel=0.05)


@pytest.mark.parametrize("grouping", ["shuffle", "local_or_shuffle", "all", "global"])
def test_groupings_lead_where_they_should(grouping):
    topology = Topology(
        "t",
        (component("s", 0.0, "spout"), component("a", 10.0, count=4)),
        (Stream("s", "a", 100.0, grouping),),
    )
    problem = Problem((Node("n", (1, 2)),), (topology,), costs=COSTS)
    placement = Placement(np.array([0, 0, 0, 1, 1]))
    with running(system_of(problem, placement), 1, 1) as engine:
        engine.run(20.0, lambda done, wanted: None)
        share = engine.counts.executed[1:] / engine.counts.executed[0]
    wanted = {
        "shuffle": [0.25, 0.25, 0.25, 0.25],
        "local_or_shuffle": [0.5, 0.5, 0.0, 0.0],
        "all": [1.0, 1.0, 1.0, 1.0],
        "global": [1.0, 0.0, 0.0, 0.0],
    }[grouping]
    assert share == pytest.approx(wanted, abs=0.04)
