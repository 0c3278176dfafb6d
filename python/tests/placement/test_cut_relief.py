"""Relief keeps every promise of the placement it starts from, and never makes a link busier."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from microbenchmarks import microbenchmark
from problem_strategies import problems

from stormcut.application.place import solve
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Stream, Topology
from stormcut.objective.cut import executor_nodes
from stormcut.objective.metrics import measure
from stormcut.objective.verify import violations
from stormcut.placement.algorithms.cut.instance import instance
from stormcut.placement.algorithms.cut.options import Options
from stormcut.placement.algorithms.cut.relief import links, relieved
from stormcut.placement.graph.weighing import weighed
from stormcut.placement.packing.capacity import node_limits


def relieved_placement(problem, placement, relief):
    """Return the nodes of a placement, and those with its busiest link relieved."""
    nodes = executor_nodes(problem, placement)
    rng = np.random.default_rng(1)
    return nodes, relieved(problem, instance(problem, Options()), nodes, relief, 0.05, rng)


def busiest(problem, nodes):
    return links(problem, nodes).max(initial=0.0)


def crossing(problem, nodes):
    return links(problem, nodes)[0].sum()


@given(problems(), st.sampled_from((0.0, 0.2)))
def test_traffic_stays_within_what_is_allowed_and_no_link_is_busier(problem, relief):
    try:
        start = solve(problem, "cut", 1, {"effort": "0.1"}).placement
    except Infeasible:
        assume(False)
    before, after = relieved_placement(problem, start, relief)
    allowed = crossing(problem, before) * (1 + relief)
    assert crossing(problem, after) <= allowed * (1 + 1e-6) + 1e-6
    assert busiest(problem, after) <= busiest(problem, before) * (1 + 1e-6) + 1e-6
    used = np.zeros((len(problem.nodes), 2))
    np.add.at(used, after, np.stack([problem.executor_cpu, np.ones(len(after))], axis=1))
    assert (used <= node_limits(problem)[:, :2] + 1e-6).all()
    for node, of in enumerate(problem.nodes):
        tenants = set(problem.executor_topology[after == node].tolist())
        assert len(tenants) <= len(of.ports)


def hubs():
    """Return two senders that fit on one node with nobody else, and four receivers."""
    pairs = tuple(MeasuredPair(("s", i), ("r", j), 10.0) for i in range(2) for j in range(4))
    parts = (Component.uniform("s", 2, "spout"), Component.uniform("r", 4))
    nodes = tuple(Node(f"n{i}", (0,), max_executors=2) for i in range(3))
    return Problem(nodes, (Topology("t", parts, (), pairs),))


def test_senders_part_where_traffic_may_rise():
    problem = hubs()
    together = np.array([0, 0, 1, 1, 2, 2])
    assert (busiest(problem, together), crossing(problem, together)) == (80.0, 80.0)
    _, parted = relieved_placement(problem, Placement(together), 0.0)
    assert (busiest(problem, parted), crossing(problem, parted)) == (40.0, 60.0)


def test_the_option_relieves_the_busiest_link_and_nothing_else_changes():
    problem = microbenchmark("star", 10)
    plain = solve(problem, "cut", 1)
    eased = solve(problem, "cut", 1, {"relief": "0.3"})
    assert violations(problem, eased.placement) == []
    nodes = [executor_nodes(problem, each.placement) for each in (plain, eased)]
    assert busiest(problem, nodes[1]) <= busiest(problem, nodes[0])
    allowed = 1.3 * plain.metrics.inter_node_tuples_per_second
    assert measure(problem, eased.placement).inter_node_tuples_per_second <= allowed + 1e-6


def test_what_runs_is_left_alone_where_nothing_has_less_traffic():
    problem = microbenchmark("star", 10)
    placed = solve(problem, "cut", 1).placement
    running = replace(problem, current=placed)
    again = solve(running, "cut", 2)
    assert (again.placement.slots == placed.slots).all()


def one_pair_fits(streams=(), pairs=()):
    """Return a sender and two receivers, of which one fits on its node."""
    parts = (Component.uniform("a", 1, "spout"), *(Component.uniform(n, 1) for n in "bc"))
    nodes = tuple(Node(f"n{i}", (0,), max_executors=2) for i in range(2))
    return Problem(nodes, (Topology("t", parts, streams, pairs),))


def test_bytes_count_where_sizes_are_known():
    # Many small tuples one way, few large ones the other; only one pair fits on a node.
    pairs = (
        MeasuredPair(("a", 0), ("b", 0), 100.0, 10.0),
        MeasuredPair(("a", 0), ("c", 0), 10.0, 1000.0),
    )
    problem = one_pair_fits(pairs=pairs)
    by_tuples = solve(problem, "cut", 1, {"traffic": "tuples"})
    at = executor_nodes(problem, by_tuples.placement).tolist()
    assert at[0] == at[1] != at[2]
    for options in ({}, {"traffic": "bytes"}):
        by_bytes = solve(problem, "cut", 1, options)
        at = executor_nodes(problem, by_bytes.placement).tolist()
        assert at[0] == at[2] != at[1]
        assert by_bytes.certificate is None


def busiest_cpu(problem, options):
    """Return the fair shares of CPU of the node with most of them."""
    nodes = executor_nodes(problem, solve(problem, "cut", 1, options).placement)
    cpu = np.bincount(nodes, weights=problem.executor_cpu, minlength=len(problem.nodes))
    return cpu.max() / cpu.sum() * len(problem.nodes)


def all_to_all(tasks, nodes):
    """Return two components that shuffle to each other, measured, on nodes with room for all."""
    pairs = tuple(
        MeasuredPair((one, i), (two, j), 10.0, 100.0)
        for one, two in ("ab", "ba")
        for i in range(tasks)
        for j in range(tasks)
    )
    parts = (Component.uniform("a", tasks, "spout"), Component.uniform("b", tasks))
    hosts = tuple(Node(f"n{i}", (0,), max_executors=2 * tasks) for i in range(nodes))
    return Problem(hosts, (Topology("t", parts, (), pairs),))


def test_where_sizes_are_measured_no_node_has_much_more_cpu_than_its_share():
    problem = all_to_all(5, 5)
    assert busiest_cpu(problem, {}) == pytest.approx(1.0)
    assert busiest_cpu(problem, {"traffic": "tuples"}) == pytest.approx(5.0)
    assert 1.2 < busiest_cpu(problem, {"balance": "2.5"}) <= 2.5


def test_nodes_with_cpu_to_spare_may_have_more_than_their_share():
    problem = all_to_all(5, 5)

    def with_cpu(points):
        return replace(problem, nodes=tuple(replace(n, cpu_percent=points) for n in problem.nodes))

    # 10 executors of 10 points: a fair share is 20.
    assert busiest_cpu(with_cpu(400.0), {}) == pytest.approx(5.0)
    assert busiest_cpu(with_cpu(120.0), {}) <= 3.0
    assert busiest_cpu(with_cpu(40.0), {}) == pytest.approx(1.0)


def test_where_executors_or_limits_leave_no_room_nodes_may_have_more():
    # 4 alike on 3 nodes: one has 2, which is 1.5 fair shares.
    assert busiest_cpu(all_to_all(2, 3), {}) == pytest.approx(1.5)
    problem = all_to_all(2, 3)
    closed = [replace(node, max_executors=0) for node in problem.nodes[1:]]
    assert busiest_cpu(replace(problem, nodes=(problem.nodes[0], *closed)), {}) == pytest.approx(
        3.0
    )


def test_what_a_problem_declares_of_sizes_counts_only_if_asked():
    """Declared rates and sizes of streams are guesses; the papers' measure is tuples."""
    streams = (
        Stream("a", "b", 100.0, bytes_per_tuple=10.0),
        Stream("a", "c", 10.0, bytes_per_tuple=1000.0),
    )
    problem = one_pair_fits(streams=streams)
    at = executor_nodes(problem, solve(problem, "cut", 1).placement).tolist()
    assert at[0] == at[1] != at[2]
    at = executor_nodes(problem, solve(problem, "cut", 1, {"traffic": "bytes"}).placement).tolist()
    assert at[0] == at[2] != at[1]


@pytest.mark.slow
def test_what_was_relieved_stays_as_it_is():
    """Its traffic is more than the least, for which it would be planned anew again and again."""
    rng = np.random.default_rng(1)
    pairs = tuple(
        MeasuredPair(("s", i), ("r", j), float(rng.uniform(1, 50)), 100.0)
        for i in range(10)
        for j in range(14)
        if rng.random() < 0.5
    )
    parts = (Component.uniform("s", 10, "spout"), Component.uniform("r", 14))
    nodes = tuple(Node(f"n{i}", (0,), max_executors=6) for i in range(5))
    problem = Problem(nodes, (Topology("t", parts, (), pairs),))
    placed = solve(problem, "cut", 1).placement
    least = solve(problem, "cut", 1, {"traffic": "tuples"}).metrics.inter_node_tuples_per_second
    assert measure(problem, placed).inter_node_tuples_per_second > least
    again = solve(replace(problem, current=placed), "cut", 1)
    assert (again.placement.slots == placed.slots).all()


def test_a_pair_without_a_sample_has_the_size_of_its_components():
    pairs = (
        MeasuredPair(("a", 0), ("b", 0), 1.0, 300.0),
        MeasuredPair(("a", 0), ("b", 1), 3.0, 500.0),
        MeasuredPair(("a", 1), ("b", 0), 2.0),
        MeasuredPair(("a", 1), ("c", 0), 4.0, 50.0),
        MeasuredPair(("b", 0), ("c", 0), 5.0),
    )
    parts = (Component.uniform("a", 2), Component.uniform("b", 2), Component.uniform("c", 1))
    problem = Problem((Node("n", (0,)),), (Topology("t", parts, (), pairs),))
    found, mean = weighed(problem)
    assert mean == (300 + 1500 + 200) / 8
    rates = [pair.tuples_per_second * mean for pair in found.topologies[0].measured]
    assert rates == pytest.approx([450, 1350, 900, 200, 5 * mean])
    unknown = Problem((), (Topology("t", parts, (), pairs[2:3]),))
    assert weighed(unknown) == (unknown, 1.0)
