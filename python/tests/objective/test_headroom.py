"""Head-room against its definition written out executor by executor."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from flows_by_definition import flows_of, pairs_of
from hypothesis import given
from problem_strategies import placed_problems_with_resources

from stormcut.model.network import SHIPPED, Costs, Link
from stormcut.model.placement import Placement
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Stream, Topology
from stormcut.objective.headroom import headroom
from stormcut.objective.resources import DEFAULT_BYTES, rack_ordinals, uses


def nominal_mean(problem):
    """The mean known size, as if no target were local."""
    nowhere = np.arange(problem.executor_count)
    known = [(r, b) for _, _, r, b, _ in pairs_of(problem, nowhere) if b == b and r > 0]
    rates = sum(rate for rate, _ in known)
    return sum(r * b for r, b in known) / rates if known else DEFAULT_BYTES


def loads_of(problem, placement):
    """The same resources as `uses`, by definition: {(kind, ordinal): load}."""
    costs, slots = problem.costs or SHIPPED, placement.slots
    default, racks = nominal_mean(problem), rack_ordinals(problem)[0]
    loads = defaultdict(float)
    taken = defaultdict(float)
    together = defaultdict(float)
    for source, target, rate, content in flows_of(problem, slots):
        taken[target] += rate
        content = default if content != content else content
        if slots[source] < 0 or slots[target] < 0 or slots[source] == slots[target]:
            continue
        here, there = problem.slot_hosts[slots[source]], problem.slot_hosts[slots[target]]
        kib = content / 1024
        together[slots[source], slots[target]] += rate
        loads["cpu", here] += rate * costs.send_us_per_kib * kib / 1e4
        loads["cpu", there] += rate * costs.receive_us_per_kib * kib / 1e4
        carried = rate * (content + costs.link_bytes_per_tuple) * 8 / 1e6
        if here != there:
            loads["link_out", here] += carried
            loads["link_in", there] += carried
        if racks[here] != racks[there]:
            loads["uplink_out", racks[here]] += carried
            loads["uplink_in", racks[there]] += carried
    for (sender, taker), rate in together.items():
        batches = rate / (1 + rate / costs.batches_per_s)
        loads["cpu", problem.slot_hosts[sender]] += batches * costs.send_us_per_tuple / 1e4
        loads["cpu", problem.slot_hosts[taker]] += batches * costs.receive_us_per_tuple / 1e4
    components = [c for t in problem.topologies for c in t.components for _ in range(c.executors)]
    for executor, component in enumerate(components):
        load = problem.executor_cpu[executor]
        if component.cpu_us_per_tuple is not None and component.kind == "bolt":
            load = taken[executor] * component.cpu_us_per_tuple / 1e4
        if slots[executor] >= 0:
            loads["executor", executor] = load
            loads["cpu", problem.slot_hosts[slots[executor]]] += load
    return loads


@given(placed_problems_with_resources())
def test_loads_are_what_the_definition_says(case):
    problem, placement = case
    expected = loads_of(problem, placement)
    for use in uses(problem, placement):
        given_loads = [expected[use.kind, at] for at in range(len(use.load))]
        assert np.allclose(use.load, given_loads, rtol=1e-9, atol=1e-9), use.kind


@pytest.mark.slow
@given(placed_problems_with_resources())
def test_all_rates_times_the_head_room_just_fit(case):
    problem, placement = case
    found = headroom(problem, placement)
    shares = np.concatenate([use.share for use in uses(problem, placement)])
    if found.value is None:
        assert not (shares > 0).any()
        return
    most = shares.max()
    assert found.value == 0 if np.isinf(most) else np.isclose(most * found.value, 1.0)


def cluster(**changes):
    nodes = tuple(Node(f"n{k}", (1, 2), f"r{k % 2}", cpu_percent=400.0) for k in range(2))
    components = (
        replace(Component.uniform("s", 1, "spout"), cpu_us_per_tuple=100.0),
        replace(Component.uniform("b", 2), cpu_us_per_tuple=400.0),
    )
    stream = Stream("s", "b", 1000.0, bytes_per_tuple=92.0)
    costs = Costs(50.0, 0.0, 30.0, 0.0, 8.0, source="the problem")
    return replace(Problem(nodes, (Topology("t", components, (stream,)),), costs=costs), **changes)


APART = Placement(np.array([0, 2, 2]))


def test_a_thread_has_one_core():
    found = headroom(cluster(), APART)
    # 500 tuples/s of 400 us are 20 points of a core.
    assert found.value == pytest.approx(5.0)
    assert (found.bottleneck.kind, found.bottleneck.name) == ("executor", "b[0]")
    assert found.bottleneck.topology == "t"


def test_links_count_each_way_and_with_framing():
    # 1000 tuples/s of 92 + 8 bytes are 0.8 Mbit/s.
    problem = cluster()
    nodes = (replace(problem.nodes[0], link=Link(4.0, 0.1)), problem.nodes[1])
    found = headroom(replace(problem, nodes=nodes), APART)
    assert found.value == pytest.approx(5.0)
    slow = replace(problem.nodes[1], link=Link(0.1, 0.4))
    found = headroom(replace(problem, nodes=(problem.nodes[0], slow)), APART)
    assert found.value == pytest.approx(0.5)
    assert (found.bottleneck.kind, found.bottleneck.name) == ("link_in", "n1")


def test_uplinks_bind_between_racks():
    found = headroom(cluster(uplinks=(("r0", Link(0.08, None)),)), APART)
    assert found.value == pytest.approx(0.1)
    assert (found.bottleneck.kind, found.bottleneck.name) == ("uplink_out", "r0")


def test_transfer_costs_both_nodes():
    problem = cluster()
    nodes = (replace(problem.nodes[0], cpu_percent=15.0), problem.nodes[1])
    found = headroom(replace(problem, nodes=nodes), APART)
    # 10 points of its own, 5 for sending.
    assert (found.bottleneck.kind, found.value) == ("cpu", pytest.approx(1.0))


def test_nothing_limits_what_does_nothing():
    idle = Component.uniform("s", 1, "spout", cpu_percent=0.0)
    problem = Problem((Node("n0", (1,)),), (Topology("t", (idle,)),))
    found = headroom(problem, Placement(np.array([0])))
    assert (found.value, found.bottleneck, found.costs) == (None, None, "shipped")


def test_a_stream_for_two_components_is_emitted_once():
    spout = replace(Component.uniform("s", 2, "spout"), cpu_us_per_tuple=1000.0)
    bolts = (Component.uniform("a", 1, cpu_percent=0.0), Component.uniform("b", 3, cpu_percent=0.0))
    streams = (Stream("s", "a", 100.0), Stream("s", "b", 60.0), Stream("s", "b", 20.0, "all", "x"))
    declared = Topology("t", (spout, *bolts), streams)
    assert Problem((), (declared,)).executor_cpu[:2] == pytest.approx([6.0, 6.0])
    measured = tuple(MeasuredPair(("s", 0), ("a", 0), 30.0) for _ in range(1))
    partly = replace(declared, measured=measured)
    # 30 and 0 of the pair against 30 of the declared stream, and 10 of the other.
    assert Problem((), (partly,)).executor_cpu[:2] == pytest.approx([4.0, 4.0])
