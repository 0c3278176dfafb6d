import numpy as np
from hypothesis import given
from problem_strategies import placed_problems

from stormcut.model.placement import Placement
from stormcut.model.problem import Component, Node, Problem, Stream, Topology
from stormcut.objective.contention import contention, node_links
from stormcut.objective.cut import executor_nodes, inter_node_tuples_per_second


@given(placed_problems())
def test_every_crossing_tuple_uses_two_links(case):
    problem, placement = case
    placed = Placement(np.where(placement.slots < 0, 0, placement.slots))
    if not problem.slot_ids:
        return
    links = node_links(problem, placed)
    assert np.isclose(links.sum(), 2 * inter_node_tuples_per_second(problem, placed))
    assert contention(problem, placed).link_tuples_per_second == links.max()


@given(placed_problems())
def test_the_busiest_cpu_is_the_largest_sum_of_a_node(case):
    problem, placement = case
    nodes = executor_nodes(problem, placement)
    sums = [problem.executor_cpu[nodes == node].sum() for node in np.unique(nodes[nodes >= 0])]
    assert np.isclose(contention(problem, placement).cpu_percent, max(sums, default=0.0))


def test_shares_count_against_each_nodes_own_limit():
    nodes = (
        Node("a", (1,), cpu_percent=400.0),
        Node("b", (1,), cpu_percent=100.0),
        Node("c", (1,)),
    )
    topology = Topology(
        "t", (Component.uniform("x", 3, cpu_percent=40.0),), (Stream("x", "x", 9.0),)
    )
    busiest = contention(Problem(nodes, (topology,)), Placement(np.array([0, 0, 1])))
    assert busiest.cpu_percent == 80.0
    assert busiest.cpu_share == 0.4
    assert np.isclose(busiest.imbalance, 80 / 60)
    assert busiest.link_tuples_per_second == 4.0
