from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problem_strategies import problems
from small_problems import chain, microbenchmark, nodes

from stormcut.model.placement import Placement
from stormcut.model.problem import Component, Node, Problem, Topology
from stormcut.objective.cut import inter_node_tuples_per_second
from stormcut.objective.verify import violations
from stormcut.placement.packing.capacity import hosts
from stormcut.placement.packing.fit import fit
from stormcut.placement.slots.seating import seat


def seated(problem, on):
    return Placement(seat(problem, on, np.zeros(len(on), dtype=np.int64)))


def test_what_fits_is_left_alone():
    problem = Problem(nodes(3, max_executors=2), (chain([3, 3]),))
    on = np.array([2, 1, 0, 0, 1, 2])
    assert fit(problem, on).tolist() == on.tolist()


def test_the_cheapest_executors_leave_an_overfull_node():
    # c1 has most of its traffic with c2; c0 with nobody.
    parts = tuple(Component.uniform(f"c{i}", 1) for i in range(4))
    streams = chain([1, 1, 1, 1]).streams[1:]
    problem = Problem(nodes(2, max_executors=3), (Topology("t", parts, streams),))
    assert fit(problem, np.zeros(4, dtype=int)).tolist() == [1, 0, 0, 0]


def test_executors_that_are_nowhere_join_those_they_exchange_traffic_with():
    problem = Problem(nodes(3, max_executors=4), (chain([2, 2]),))
    assert fit(problem, np.array([2, -1, -1, 7])).tolist() == [2, 2, 2, 2]


def test_nodes_without_slots_are_left():
    problem = Problem((*nodes(1, slots=0), Node("z", (1,))), (chain([1, 1]),))
    assert fit(problem, np.array([0, 0])).tolist() == [1, 1]


def test_topologies_that_share_a_slot_part():
    topologies = tuple(chain([2, 2], name=f"t{i}") for i in range(4))
    problem = Problem(nodes(4, slots=1), topologies)
    on = fit(problem, np.tile(np.arange(4), 4))
    assert all(len(set(on[4 * t : 4 * t + 4].tolist())) == 1 for t in range(4))
    assert len(set(on.tolist())) == 4


def test_full_nodes_exchange_topologies():
    topologies = (chain([2, 2], name="a"), chain([2, 2], name="b"))
    problem = Problem(nodes(2, slots=1, max_executors=4), topologies)
    on = fit(problem, np.array([0, 1, 0, 1, 0, 1, 0, 1]))
    assert len(set(on[:4].tolist())) == len(set(on[4:].tolist())) == 1


def test_small_executors_make_way_for_large_ones():
    parts = (
        Component.uniform("small", 4, cpu_percent=25.0),
        Component.uniform("large", 1, cpu_percent=90.0),
    )
    problem = Problem(nodes(2, cpu_percent=100.0), (Topology("t", parts),))
    on = fit(problem, np.array([0, 0, 1, 1, 1]))
    assert on is not None
    assert violations(problem, seated(problem, on)) == []


def test_none_where_there_is_no_room():
    assert fit(Problem(nodes(2, max_executors=1), (chain([2, 2]),)), np.zeros(4, int)) is None
    assert fit(Problem((), (chain([1]),)), np.zeros(1, int)) is None


@pytest.mark.parametrize("capacities", [(4,) * 10, (6,) * 3 + (4,) * 3 + (2,) * 4])
def test_everything_on_one_node_is_spread_over_no_more_nodes_than_needed_by_much(capacities):
    problem = microbenchmark("linear", 32, capacities)
    on = fit(problem, np.zeros(32, dtype=int))
    assert (np.bincount(on, minlength=10) <= capacities).all()
    assert inter_node_tuples_per_second(problem, seated(problem, on)) < problem.traffic.total


@given(problems(), st.randoms(use_true_random=False))
def test_result_is_within_limits_the_same_each_time_and_stable(problem, random):
    count = len(problem.nodes)
    start = [random.randrange(-1, count) for _ in range(problem.executor_count)]
    start = np.array(start, dtype=np.int64)
    on = fit(problem, start)
    if on is None:
        return
    assert violations(problem, seated(problem, on)) == []
    assert fit(problem, start).tolist() == on.tolist()
    assert fit(problem, on).tolist() == on.tolist()


@given(problems(homogeneous=True))
def test_ties_follow_the_order_of_the_hosts_given(problem):
    problem = replace(problem, nodes=tuple(replace(n, ports=(1, 2, 3)) for n in problem.nodes))
    able = hosts(problem)
    turned = replace(
        able,
        ordinals=able.ordinals[::-1].copy(),
        slots=able.slots[::-1].copy(),
        limits=able.limits[::-1].copy(),
    )
    start = np.full(problem.executor_count, -1, dtype=np.int64)
    one, other = fit(problem, start, able), fit(problem, start, turned)
    assert (one is None) == (other is None)
    if one is not None:
        assert other.tolist() == (len(problem.nodes) - 1 - one).tolist()
