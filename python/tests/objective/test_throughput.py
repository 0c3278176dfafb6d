"""Closed-loop rates against head-room, and against a general solver."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from stormcut.model.network import Costs, Link
from stormcut.model.placement import Placement
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Stream, Topology
from stormcut.objective.demands import demands_of
from stormcut.objective.headroom import headroom
from stormcut.objective.resources import uses
from stormcut.objective.throughput import predict_throughput, throughput

#: Of every rate, at worst: far below what is known of loads.
ACCURACY = 0.005


@st.composite
def chains(draw, spouts):
    """(problem, placement): spout tasks, two bolts, all traffic measured between executors."""
    sizes = [spouts, draw(st.integers(1, 3)), draw(st.integers(1, 3))]
    kinds = ("spout", "bolt", "bolt")
    names = ("s", "a", "b")
    rate = st.floats(1.0, 500.0)
    pairs = tuple(
        MeasuredPair((names[k], i), (names[k + 1], j), draw(rate), draw(st.floats(10.0, 2000.0)))
        for k in range(2)
        for i in range(sizes[k])
        for j in range(sizes[k + 1])
    )
    cpu = st.floats(1.0, 90.0)
    components = tuple(
        Component(
            name,
            kind,
            size,
            np.array([draw(cpu) for _ in range(size)]),
            np.zeros(size),
        )
        for name, kind, size in zip(names, kinds, sizes, strict=True)
    )
    link = st.one_of(st.none(), st.floats(0.1, 20.0))
    nodes = tuple(
        Node(
            f"n{k}",
            (1, 2),
            draw(st.sampled_from(("r0", "r1"))),
            draw(st.sampled_from((None, 100.0, 300.0))),
            link=Link(draw(link), draw(link)),
        )
        for k in range(3)
    )
    problem = Problem(
        nodes,
        (Topology("t", components, (), pairs),),
        uplinks=(("r0", Link(draw(link), None)),),
        costs=Costs(30.0, 10.0, 20.0, 5.0, 8.0, source="the problem"),
    )
    slots = [draw(st.integers(0, problem.slot_count - 1)) for _ in range(sum(sizes))]
    return problem, Placement(np.array(slots))


def factors_of(problem, placement, sources):
    demands = demands_of(problem, placement, sources)
    return demands.anchored + demands.loose, demands.capacity


def sped_up(problem, times):
    """Return a problem with all rates and loads multiplied."""
    (topology,) = problem.topologies
    components = tuple(
        replace(each, cpu_percent=each.cpu_percent * times) for each in topology.components
    )
    pairs = tuple(
        each._replace(tuples_per_second=each.tuples_per_second * times)
        for each in topology.measured
    )
    return replace(problem, topologies=(replace(topology, components=components, measured=pairs),))


@given(chains(2), st.floats(0.1, 10.0))
def test_loads_at_other_rates_are_those_of_a_problem_with_such_rates(case, times):
    problem, placement = case
    problem = replace(problem, costs=replace(problem.costs, batches_per_s=25.0))
    sources = np.flatnonzero(problem.executor_is_spout)
    rates = problem.executor_rate[sources] * times
    load = demands_of(problem, placement, sources).at(rates).busy @ rates
    used = uses(sped_up(problem, times), placement)
    share = np.concatenate([use.load / np.maximum(use.capacity, 1e-300) for use in used])
    assert load == pytest.approx(share, rel=1e-6)


@given(chains(1))
def test_one_source_reaches_its_head_room(case):
    problem, placement = case
    room, found = headroom(problem, placement), throughput(problem, placement)
    assert found.total == pytest.approx(room.value * problem.executor_rate[0], rel=1e-6)


@given(chains(3))
def test_several_are_proportionally_fair(case):
    problem, placement = case
    found = throughput(problem, placement)
    factors, capacity = factors_of(problem, placement, found.sources)
    known = np.isfinite(capacity)
    use = factors[known] @ found.rates / capacity[known]
    assert use.max() == pytest.approx(1.0)
    solved = minimize(
        lambda x: -np.log(x).sum(),
        found.rates * 0.5,
        jac=lambda x: -1.0 / x,
        bounds=[(1e-6, None)] * 3,
        constraints={
            "type": "ineq",
            "fun": lambda x: 1.0 - factors[known] @ x / capacity[known],
            "jac": lambda x: -factors[known] / capacity[known][:, None],
        },
        method="SLSQP",
    )
    if solved.success:
        assert np.log(found.rates).sum() >= -solved.fun - 3 * ACCURACY


def test_a_slow_place_holds_back_only_those_who_need_it():
    pairs = (MeasuredPair(("s", 0), ("b", 0), 100.0), MeasuredPair(("s", 1), ("b", 1), 100.0))
    parts = (Component.uniform("s", 2, "spout", 0.0), Component.uniform("b", 2, cpu_percent=50.0))
    nodes = (Node("n0", (1,), cpu_percent=25.0), Node("n1", (1,)))
    problem = Problem(nodes, (Topology("t", parts, (), pairs),))
    found = throughput(problem, Placement(np.array([0, 1, 0, 1])))
    # Of 25 points a worker takes 7.5, and a tuple half a point.
    assert found.rates == pytest.approx([35.0, 200.0], rel=1e-3)
    # The thread of b[1] binds the other.
    assert {found.bottleneck.kind} <= {"cpu", "executor"}


def windowed(problem, window):
    topologies = tuple(replace(t, max_spout_pending=window) for t in problem.topologies)
    return replace(problem, topologies=topologies)


@given(chains(3))
def test_with_wide_windows_rates_are_proportionally_fair(case):
    """But on links, which serve in the order of arrival."""
    problem, placement = case
    nodes = tuple(replace(node, link=Link()) for node in problem.nodes)
    problem = replace(problem, nodes=nodes, uplinks=())
    fair = throughput(problem, placement)
    if fair.bottleneck is None:
        return
    wide = throughput(windowed(problem, 100_000), placement)
    assert np.log(wide.rates).sum() == pytest.approx(np.log(fair.rates).sum(), abs=0.05)


@given(chains(3), st.integers(1, 50), st.integers(2, 20))
def test_no_resource_takes_more_than_it_has_and_wider_windows_fill_it_more(case, window, times):
    problem, placement = case
    narrow, wide = (
        throughput(windowed(problem, size), placement) for size in (window, window * times)
    )
    factors, capacity = factors_of(problem, placement, narrow.sources)
    known = np.isfinite(capacity)
    if not (factors[known].sum(axis=1) > 0).any():
        return
    for found in (narrow, wide):
        assert (factors[known] @ found.rates <= capacity[known] * (1 + 1e-4)).all()
    fullest = [(factors[known] @ f.rates / capacity[known]).max() for f in (narrow, wide)]
    assert fullest[0] <= fullest[1] + 1e-4


@pytest.mark.parametrize(("stations", "window"), [(2, 1), (3, 10), (6, 4)])
def test_a_ring_of_equal_stations_is_as_theory_has_it(stations, window):
    """N customers on M equal stations of mean s: N / (s (M + N - 1)), exactly."""
    kinds = ["spout", *["bolt"] * (stations - 1)]
    parts = tuple(Component.uniform(f"c{at}", 1, kind, 10.0) for at, kind in enumerate(kinds))
    pairs = tuple(
        MeasuredPair((f"c{at}", 0), (f"c{at + 1}", 0), 50.0) for at in range(stations - 1)
    )
    # Each thread works 2 ms on a tuple; nodes and links have no limit, and hand-over costs nothing.
    problem = Problem(
        (Node("n0", (1,)),), (Topology("t", parts, (), pairs, max_spout_pending=window),)
    )
    found = throughput(problem, Placement(np.zeros(stations, dtype=np.int64)))
    assert found.total == pytest.approx(window / (0.002 * (stations + window - 1)), rel=1e-4)


def test_nothing_is_known_of_a_source_that_emits_nothing():
    parts = (Component.uniform("s", 1, "spout"), Component.uniform("b", 1))
    problem = Problem((Node("n0", (1,)),), (Topology("t", parts, (Stream("s", "b", 0.0),)),))
    with pytest.raises(ValueError, match="emits"):
        throughput(problem, Placement(np.array([0, 0])))


@pytest.mark.parametrize("window", [None, 10])
def test_nothing_is_known_of_a_source_whose_tuples_cost_nothing(window):
    """As drawn once: its rate overflowed, and so did the steps of all others."""
    parts = (
        Component.uniform("s", 1, "spout", cpu_percent=10.0),
        Component.uniform("free", 1, "spout", cpu_percent=0.0),
        Component.uniform("b", 1, cpu_percent=0.0),
    )
    streams = (Stream("s", "b", 10.0), Stream("free", "b", 10.0))
    topology = Topology("t", parts, streams, max_spout_pending=window)
    problem = Problem((Node("n", (0,), cpu_percent=100.0),), (topology,))
    placement = Placement(np.zeros(3, dtype=np.int64))
    assert np.isinf(throughput(problem, placement).rates).all()
    assert predict_throughput(problem, placement) is None


@given(chains(3), st.one_of(st.none(), st.integers(1, 50)))
def test_sources_that_are_held_to_their_rates_send_no_more_and_leave_the_rest_to_others(
    case, window
):
    problem, placement = case
    problem = windowed(problem, window)
    held = throughput(problem, placement, is_open=False)
    asked = problem.executor_rate[held.sources]
    assert (held.rates <= asked * (1 + 1e-6)).all()
    free = throughput(problem, placement)
    assert held.rates.sum() >= 0.5 * np.minimum(free.rates, asked).sum()


@pytest.mark.parametrize("window", [None, 1000])
def test_a_source_that_nothing_limits_sends_what_it_is_asked_to(window):
    """It outweighed those that wait for a thread that is full."""
    parts = (
        Component.uniform("slow", 1, "spout", 1.0),
        Component.uniform("free", 1, "spout", 1.0),
        Component.uniform("full", 1, cpu_percent=200.0),
        Component.uniform("idle", 1, cpu_percent=1.0),
    )
    streams = (Stream("slow", "full", 100.0), Stream("free", "idle", 10.0))
    topology = Topology("t", parts, streams, max_spout_pending=window)
    problem = Problem((Node("n", (0,)),), (topology,))
    held, free = (
        throughput(problem, Placement(np.zeros(4, dtype=np.int64)), is_open)
        for is_open in (False, True)
    )
    assert held.rates == pytest.approx([50.0, 10.0], rel=0.02)
    assert free.rates[1] > 900.0


def test_of_more_than_memory_holds_nothing_is_predicted():
    """900 executors, 202,500 pairs and 450 sources."""
    parts = (Component.uniform("s", 450, "spout", 1.0), Component.uniform("b", 450))
    topology = Topology("t", parts, (Stream("s", "b", 1000.0),))
    problem = Problem((Node("n0", (1,)),), (topology,))
    assert predict_throughput(problem, Placement(np.zeros(900, dtype=np.int64))) is None


def test_local_streams_load_no_link():
    """Counted as shuffle, half of the tuples filled links, and sources reached a hundredth."""
    parts = (
        Component("s", "spout", 2, np.full(2, 10.0), np.zeros(2)),
        Component("b", "bolt", 2, np.full(2, 10.0), np.zeros(2)),
    )
    stream = Stream("s", "b", 100.0, "local_or_shuffle", bytes_per_tuple=1000.0)
    link = Link(0.01, 0.01)
    nodes = tuple(Node(f"n{i}", (0,), cpu_percent=400.0, link=link) for i in range(2))
    problem = Problem(nodes, (Topology("t", parts, (stream,)),))
    near = throughput(problem, Placement(np.array([0, 1, 0, 1])))
    far = throughput(problem, Placement(np.array([0, 0, 1, 1])))
    assert near.bottleneck.kind == "executor"
    assert near.total == pytest.approx(1000.0, rel=0.01)
    assert far.bottleneck.kind.startswith("link")
    assert near.total > 100 * far.total
