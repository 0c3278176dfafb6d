"""`t-storm`: by hand, and its two bounds."""

import numpy as np
import pytest
from hypothesis import given
from problem_strategies import problems

from stormcut.model.errors import Infeasible
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Topology
from stormcut.objective.cut import executor_nodes
from stormcut.placement.solve import solve


def chain(*rates, cpu=10.0, nodes=2, most=None):
    """Return executors a0 to aN, each sending so many tuples/s to the next."""
    count = len(rates) + 1
    parts = tuple(
        Component.uniform(f"a{at}", 1, "bolt" if at else "spout", cpu) for at in range(count)
    )
    pairs = tuple(
        MeasuredPair((f"a{at}", 0), (f"a{at + 1}", 0), rate) for at, rate in enumerate(rates)
    )
    hosts = tuple(Node(f"n{at}", (1,), cpu_percent=most) for at in range(nodes))
    return Problem(hosts, (Topology("t", parts, (), pairs),))


def nodes_of(problem, **options):
    texts = {name: str(value) for name, value in options.items()}
    placement = solve(problem, "t-storm", options=texts).placement
    return executor_nodes(problem, placement).tolist()


def test_the_busiest_executors_choose_first():
    """a1 (15 tuples/s), a2 (6), a0 (10), a3 (1) by what they exchange: a1, a0, a2, a3."""
    problem = chain(10.0, 5.0, 1.0)
    # Two a node: a1 and a0 together, then a2 finds no room beside them, and a3 follows it.
    assert nodes_of(problem, gamma=1) == [0, 0, 1, 1]
    # Three a node: a2 beside a1.
    assert nodes_of(problem, gamma=1.5) == [0, 0, 0, 1]
    assert nodes_of(problem, gamma=2) == [0, 0, 0, 0]


def test_no_node_is_filled_beyond_its_capacity():
    problem = chain(10.0, 5.0, 1.0, cpu=30.0, most=100.0)
    # 80 of 100 points: two executors, whatever gamma says.
    assert nodes_of(problem, gamma=2) == [0, 0, 1, 1]
    assert nodes_of(problem, gamma=2, cpu_share=0.9) == [0, 0, 0, 1]


def test_what_finds_no_room_within_the_bounds_goes_where_limits_allow():
    problem = chain(10.0, 5.0, 1.0, cpu=45.0, most=100.0)
    assert sorted(nodes_of(problem, gamma=1, cpu_share=0.5)) == [0, 0, 1, 1]


def test_executors_of_others_count_in_the_even_share():
    problem = chain(10.0, 5.0, 1.0)
    busy = Node("n0", (1,), others=4)
    problem = Problem((busy, problem.nodes[1]), problem.topologies)
    # Eight on two nodes are four each: n0 is full.
    assert nodes_of(problem, gamma=1) == [1, 1, 1, 1]


@given(problems())
def test_no_node_holds_more_than_its_share_if_nothing_else_binds(problem):
    """Without limits of nodes the consolidation factor alone decides how many are used."""
    free = tuple(Node(f"n{at}", tuple(range(8))) for at in range(4))
    problem = Problem(free, problem.topologies)
    try:
        nodes = nodes_of(problem, gamma=1.5)
    except Infeasible:
        pytest.fail("nothing limits")
    most = np.ceil(1.5 * problem.executor_count / 4)
    assert np.bincount(nodes).max(initial=0) <= most
