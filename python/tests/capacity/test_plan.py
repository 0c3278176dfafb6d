"""Plans for measured topologies: enough, not more than enough, and proven where it can be."""

import math
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from capacity_problems import measured_problems
from hypothesis import given
from hypothesis import strategies as st

from stormcut.capacity.demand import demand, source_rate
from stormcut.capacity.plan import NodeShape, plan
from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Stream, Topology
from stormcut.objective.headroom import headroom
from stormcut.objective.verify import violations

SHAPE = NodeShape(
    "small", cpu_percent=150.0, memory_mb=4096.0, ports=2, price_per_hour=0.1, at_most=40
)


def counts(wanted):
    return {name: need.planned for name, need in wanted.needs["t"].items()}


@given(measured_problems(), st.floats(0.5, 4.0), st.floats(1.0, 3.0))
def test_more_rate_never_needs_fewer_executors(problem, growth, more):
    few, many = (counts(demand(problem, {"t": each}, 1.0)) for each in (growth, growth * more))
    assert all(few[name] <= many[name] for name in few)


@pytest.mark.slow
@given(measured_problems(), st.floats(0.5, 4.0), st.floats(0.3, 1.0))
def test_a_part_of_use_needs_what_as_much_more_rate_would(problem, growth, utilisation):
    part = demand(problem, {"t": growth}, utilisation)
    whole = demand(problem, {"t": growth / utilisation}, 1.0)
    assert counts(part) == counts(whole)
    assert part.problem.executor_cpu.sum() <= utilisation * whole.problem.executor_cpu.sum() + 1e-6
    with suppress(Infeasible):
        found = plan(part, [SHAPE])
        room = found.solution.headroom.value
        assert room is None or room >= 1 / utilisation - 1e-6


@given(measured_problems(), st.floats(0.5, 4.0))
def test_loads_and_traffic_grow_with_the_rate(problem, growth):
    grown = demand(problem, {"t": growth}, 1.0).problem
    assert grown.executor_cpu.sum() == pytest.approx(problem.executor_cpu.sum() * growth)
    assert grown.traffic.total == pytest.approx(problem.traffic.total * growth)
    assert source_rate(grown, "t") == pytest.approx(source_rate(problem, "t") * growth)
    # No thread is asked for more than it has.
    assert (grown.executor_cpu <= 100 * grown.executor_threads * (1 + 1e-9)).all()


@pytest.mark.slow
@given(measured_problems(), st.floats(0.5, 4.0))
def test_a_plan_carries_the_rates_and_no_fewer_nodes_are_proven_to(problem, growth):
    try:
        found = plan(demand(problem, {"t": growth}, 1.0), [SHAPE])
    except Infeasible:
        return
    assert violations(found.problem, found.solution.placement) == []
    room = headroom(found.problem, found.solution.placement).value
    assert room == found.solution.headroom.value
    assert room is None or room >= 1 - 1e-9
    assert found.least <= found.nodes
    assert found.cost_per_hour == pytest.approx(0.1 * found.nodes)


def one_by_one(rate, cpu, executors=1):
    """Return a source and a bolt that takes so much CPU for its tuples."""
    parts = (
        Component.uniform("source", 1, "spout", 1.0, 10.0),
        Component("work", "bolt", executors, np.full(executors, cpu), np.full(executors, 10.0)),
    )
    pairs = tuple(
        MeasuredPair(("source", 0), ("work", i), rate / executors, 50.0) for i in range(executors)
    )
    return Problem((Node("n", (1, 2)),), (Topology("t", parts, (), pairs),))


def test_executors_follow_the_true_rate_of_threads():
    # A thread of 40 % at 100 tuples/s does 250 tuples/s.
    wanted = demand(one_by_one(100.0, 40.0), {"t": 6.0}, 1.0)
    assert counts(wanted) == {"source": 1, "work": 3}
    uneven = one_by_one(100.0, 40.0, executors=2)
    (topology,) = uneven.topologies
    source, work = topology.components
    work = replace(work, cpu_percent=np.array([20.0, 60.0]))
    uneven = replace(uneven, topologies=(replace(topology, components=(source, work)),))
    need = demand(uneven, {"t": 3.0}, 1.0).needs["t"]["work"]
    assert (need.now, need.low, need.high, need.planned) == (2, 3, 4, 4)


@pytest.mark.slow
def test_fewer_nodes_are_disproved_where_cpu_in_all_is_short():
    # 12 threads of 75 % need 900 points; a node leaves 142.5 of 150 to them.
    problem = one_by_one(100.0, 75.0, executors=12)
    found = plan(demand(problem, {"t": 1.0}, 1.0), [SHAPE])
    assert found.least >= 7
    assert found.least <= found.nodes <= found.least + 2


@pytest.mark.slow
def test_the_cheapest_shape_wins():
    wanted = demand(one_by_one(100.0, 75.0, executors=4), {"t": 1.0}, 1.0)
    large = replace(SHAPE, name="large", cpu_percent=800.0, price_per_hour=0.15)
    dear = replace(large, name="dear", price_per_hour=9.0)
    found = plan(wanted, [SHAPE, dear, large])
    assert [(shape.name, count) for shape, count in found.shapes] == [("large", 1)]
    assert (found.nodes, found.least, found.cost_per_hour) == (1, 1, 0.15)
    assert [each.shapes[0][0].name for each in found.others] == ["small", "dear"]
    # A node more leaves more room, until an executor's own core is full.
    assert found.more.headroom.value >= found.solution.headroom.value
    alone = plan(wanted, [replace(large, at_most=1)])
    assert alone.more is None


@pytest.mark.slow
def test_a_node_of_another_shape_takes_what_is_left_where_that_is_cheaper():
    # Of ten threads of 75 % a large node holds seven, a small one three.
    wanted = demand(one_by_one(100.0, 75.0, executors=10), {"t": 1.0}, 1.0)
    large = replace(SHAPE, name="large", cpu_percent=600.0, price_per_hour=0.35)
    found = plan(wanted, [large, replace(SHAPE, cpu_percent=300.0, price_per_hour=0.15)])
    assert [(shape.name, count) for shape, count in found.shapes] == [("large", 1), ("small", 1)]
    assert found.cost_per_hour == pytest.approx(0.5)
    assert [node.id for node in found.problem.nodes] == ["large-1", "small-1"]
    assert found.least == 2
    assert found.solution.headroom.value >= 1 - 1e-9
    assert all(each.cost_per_hour > found.cost_per_hour for each in found.others)


@pytest.mark.slow
@given(measured_problems(), st.floats(0.5, 4.0), st.floats(0.05, 0.5))
def test_mixing_shapes_never_costs_more_than_one_alone(problem, growth, price):
    wanted = demand(problem, {"t": growth}, 1.0)
    large = replace(SHAPE, name="large", cpu_percent=400.0, price_per_hour=price)
    alone = []
    for shape in (SHAPE, large):
        with suppress(Infeasible):
            alone.append(plan(wanted, [shape]).cost_per_hour)
    try:
        found = plan(wanted, [SHAPE, large])
    except Infeasible:
        assert not alone
        return
    assert violations(found.problem, found.solution.placement) == []
    assert found.least <= found.nodes
    assert sum(count for _, count in found.shapes) == found.nodes
    assert not alone or found.cost_per_hour <= min(alone) + 1e-9


@pytest.mark.slow
@given(measured_problems(), st.floats(0.5, 4.0))
def test_no_more_nodes_of_a_shape_are_tried_than_there_are_executors(problem, growth):
    wanted = demand(problem, {"t": growth}, 1.0)
    limited = replace(SHAPE, at_most=wanted.problem.executor_count)
    plans = []
    for shape in (SHAPE, limited):
        try:
            plans.append(plan(wanted, [shape]).nodes)
        except Infeasible as refusal:
            assert f"on {shape.at_most} nodes of {shape.name}" in str(refusal)
            plans.append(None)
    assert plans[0] == plans[1]


def test_what_one_executor_fills_no_number_of_nodes_carries():
    """Up to 1,000 nodes were once placed on, one after the other, before that was said."""
    wanted = demand(one_by_one(100.0, 75.0, executors=2), {"t": 1.0}, 1.0)
    with pytest.raises(Infeasible, match=f"on {SHAPE.at_most} nodes"):
        plan(wanted, [replace(SHAPE, cpu_percent=10.0)])


@pytest.mark.slow
def test_where_no_shape_has_nodes_enough_all_are_taken_largest_first():
    wanted = demand(one_by_one(100.0, 75.0, executors=12), {"t": 1.0}, 1.0)
    large = replace(SHAPE, name="large", cpu_percent=600.0, at_most=1)
    found = plan(wanted, [replace(SHAPE, at_most=5), large])
    assert [(shape.name, count) for shape, count in found.shapes] == [("large", 1), ("small", 5)]
    with pytest.raises(Infeasible, match="nodes of all shapes"):
        plan(wanted, [replace(SHAPE, at_most=2), large])


@given(measured_problems(), st.floats(0.5, 4.0))
def test_a_plan_for_storm_s_own_scheduler_carries_the_rates_as_that_places(problem, growth):
    wanted = demand(problem, {"t": growth}, 1.0)
    try:
        found = plan(wanted, [SHAPE], algorithm="default")
    except Infeasible:
        return
    room = found.solution.headroom.value
    assert room is None or room >= 1 - 1e-9
    workers = len(set(found.solution.placement.slots.tolist()))
    assert workers == min(found.nodes, found.problem.executor_count)


def test_nodes_that_cannot_carry_it_are_refused():
    wanted = demand(one_by_one(100.0, 75.0, executors=12), {"t": 1.0}, 1.0)
    with pytest.raises(Infeasible, match="no placement on 3 nodes of small carries these rates"):
        plan(wanted, [replace(SHAPE, at_most=3)])


def test_without_shapes_the_problem_s_own_nodes_are_used_largest_first():
    problem = one_by_one(100.0, 75.0, executors=4)
    nodes = (Node("a", (1,), cpu_percent=100.0), Node("b", (1,), cpu_percent=800.0))
    found = plan(demand(replace(problem, nodes=nodes), {"t": 1.0}, 1.0))
    assert [node.id for node in found.problem.nodes] == ["b"]
    assert found.cost_per_hour is None


def test_storm_s_own_scheduler_may_take_the_smallest_of_the_nodes():
    """Four executors of 75 points: the large node would hold them, and Storm knows no sizes."""
    problem = one_by_one(100.0, 75.0, executors=4)
    small = tuple(Node(name, (1,), cpu_percent=160.0) for name in "abc")
    nodes = (Node("large", (1,), cpu_percent=800.0), *small)
    wanted = demand(replace(problem, nodes=nodes), {"t": 1.0}, 1.0)
    assert len(plan(wanted).problem.nodes) == 1
    found = plan(wanted, algorithm="default")
    assert {node.id for node in found.problem.nodes} <= set("abc") and found.nodes > 1
    assert found.least == 1
    pair = replace(problem, nodes=(nodes[0], Node("a", (1,), cpu_percent=80.0)))
    with pytest.raises(Infeasible, match="no placement found on 2 nodes"):
        plan(demand(pair, {"t": 1.0}, 1.0), algorithm="default")


@pytest.mark.parametrize("growth", [{"u": 1.0}, {"t": 0.0}, {"t": math.inf}])
def test_what_cannot_be_asked_is_refused(growth):
    with pytest.raises(InvalidInput):
        demand(one_by_one(1.0, 1.0), growth, 1.0)


def test_what_several_subscribe_to_is_still_emitted_once_and_groupings_stay():
    """A spout whose one stream two bolts take, one of them in its own worker where it can."""
    parts = (
        Component.uniform("s", 2, "spout"),
        Component.uniform("a", 2),
        Component.uniform("b", 2),
    )
    streams = (
        Stream("s", "a", 100.0, "local_or_shuffle"),
        Stream("s", "b", 100.0, "fields"),
        Stream("a", "b", 40.0, "shuffle", "out"),
        Stream("a", "b", 10.0, "shuffle", "late"),
    )
    problem = Problem((Node("n", (1, 2)),), (Topology("t", parts, streams),))
    assert source_rate(problem, "t") == 100.0
    (planned,) = demand(problem, {"t": 3.0}, 1.0).problem.topologies
    found = {(s.source, s.target): (s.stream, s.grouping) for s in planned.streams}
    assert found == {
        ("s", "a"): ("default", "local_or_shuffle"),
        ("s", "b"): ("default", "shuffle"),
        ("a", "b"): ("to-b", "shuffle"),
    }
    assert source_rate(demand(problem, {"t": 3.0}, 1.0).problem, "t") == pytest.approx(300.0)
