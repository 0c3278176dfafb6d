"""`ols`: the online scheduler's two phases, worked by hand, and what its parameters promise."""

import numpy as np
import pytest
from hypothesis import given
from problem_strategies import problems
from small_problems import chain, microbenchmark, nodes

from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Topology
from stormcut.objective.cut import executor_nodes
from stormcut.placement.algorithms.ols.offline import most_executors, node_count
from stormcut.placement.algorithms.ols.place import Options
from stormcut.placement.solve import solve

NAME = "ols"


def pairs(rates, count, workers, cpu=10.0):
    """A topology of one component with measured pairs {(i, j): tuples/s}."""
    part = Component("c", "bolt", count, np.broadcast_to(cpu, count), np.full(count, 1.0))
    measured = tuple(MeasuredPair(("c", i), ("c", j), rate) for (i, j), rate in rates.items())
    return Topology("t", (part,), measured=measured, workers=workers)


def groups(problem, slots):
    """Return the executors of each worker, or node, as sets."""
    return {frozenset(np.flatnonzero(slots == slot).tolist()) for slot in np.unique(slots)}


def workers_of(topology, options=None, cluster=None):
    problem = Problem(cluster or nodes(2), (topology,))
    return groups(problem, solve(problem, NAME, options=options or {}).placement.slots)


def test_pairs_with_most_traffic_go_together_into_the_least_loaded_worker():
    topology = pairs({(0, 1): 10.0, (2, 3): 9.0, (1, 2): 5.0}, 4, 2)
    assert workers_of(topology) == {frozenset({0, 1}), frozenset({2, 3})}


def test_a_partner_follows_into_the_worker_of_the_one_placed():
    # alpha 1: a worker may hold 3 of 4. 0-1 go together, 2 follows 1; 3 has no room there, and 2
    # stays since its traffic with 1 is more than that with 3.
    topology = pairs({(0, 1): 10.0, (1, 2): 9.0, (2, 3): 1.0}, 4, 2)
    assert workers_of(topology, {"alpha": "1"}) == {frozenset({0, 1, 2}), frozenset({3})}


def test_both_of_a_pair_may_move_if_that_leaves_less_traffic_between_workers():
    # Dealt out as 0-1 and 2-3 (the heaviest pairs), 1-2 then 0-2, 0-3, 1-3 bind all four. Once a
    # worker may hold all but one, moving 2 to 0 and 1 saves 1-2 and costs 2-3, which is as much:
    # the first of equal ways is to stay. A little more traffic, and it moves.
    rates = {(0, 1): 10.0, (2, 3): 6.0, (1, 2): 5.0, (0, 2): 2.0}
    assert workers_of(pairs(rates, 5, 2), {"alpha": "1"}) >= {frozenset({0, 1, 2})}
    rates[0, 2] = 0.5
    assert frozenset({2, 3}) in {
        group & {2, 3} for group in workers_of(pairs(rates, 5, 2), {"alpha": "1"})
    }


def test_executors_without_traffic_go_to_the_least_loaded_worker():
    topology = pairs({(0, 1): 1.0}, 4, 2, cpu=np.array([10.0, 10.0, 30.0, 5.0]))
    assert workers_of(topology) == {frozenset({0, 1}), frozenset({2, 3})}


def test_no_worker_stays_empty():
    topology = pairs({(0, 1): 9.0, (1, 2): 5.0, (0, 2): 4.0}, 3, 2)
    # alpha 1 would let one worker hold two of three at most; the cheapest leaves it.
    assert workers_of(topology, {"alpha": "1"}) == {frozenset({0, 1}), frozenset({2})}


@pytest.mark.parametrize(("beta", "used"), [("0", 1), ("0.5", 3), ("1", 4)])
def test_beta_says_how_many_nodes_are_used(beta, used):
    problem = Problem(nodes(4), (chain([4, 4], workers=4),))
    # delta 1: no other limit on a topology's workers on a node.
    options = {"beta": beta, "delta": "1"}
    assert solve(problem, NAME, options=options).metrics.nodes_used == used


def test_all_nodes_are_used():
    """What the thesis's comparison relies on."""
    for layout in ("linear", "diamond", "star"):
        assert solve(microbenchmark(layout, 26), NAME).metrics.nodes_used == 10


def test_gamma_limits_the_load_of_a_worker():
    loads = np.array([30.0, 30.0, 10.0, 10.0])
    topology = pairs({(0, 1): 10.0, (2, 3): 1.0}, 4, 2, cpu=loads)
    assert workers_of(topology) == {frozenset({0, 1}), frozenset({2, 3})}
    # The mean is 40: 60 is too much, so that 0 and 1 part.
    apart = workers_of(topology, {"gamma": "1.2"})
    assert all(len(group & {0, 1}) == 1 for group in apart)


def test_delta_limits_a_topology_s_workers_on_a_node():
    rates = {(0, 1): 10.0, (1, 2): 9.0, (2, 3): 8.0, (0, 3): 7.0}
    problem = Problem(nodes(2), (pairs(rates, 4, 4),))
    alike = executor_nodes(problem, solve(problem, NAME).placement)
    assert sorted(np.bincount(alike)) == [2, 2]
    options = {"delta": "1", "beta": "1"}
    free = executor_nodes(problem, solve(problem, NAME, options=options).placement)
    assert max(np.bincount(free)) == 3


def test_a_pair_of_workers_parts_before_delta_is_given_up():
    rates = {(0, 1): 10.0, (1, 2): 9.0, (2, 3): 8.0}
    problem = Problem(nodes(4), (pairs(rates, 4, 4),))
    options = {"beta": "1", "delta": "0"}
    assert solve(problem, NAME, options=options).metrics.nodes_used == 4


@pytest.mark.parametrize(("improvement", "stays"), [("none", 0), ("0", 0), ("0.9", 0), ("0.91", 1)])
def test_a_placement_that_improves_too_little_leaves_the_current_one(improvement, stays):
    # On two nodes, 0 with 2 and 1 with 3 now: 100 of 110 tuples/s travel, 10 once the pairs meet.
    topology = pairs({(0, 1): 50.0, (2, 3): 50.0, (1, 3): 10.0}, 4, 2)
    current = Placement(np.array([0, 4, 0, 4]))
    problem = Problem(nodes(2), (topology,), current)
    found = solve(problem, NAME, options={"improvement": improvement})
    assert (found.placement == current) is bool(stays)
    assert found.metrics.inter_node_tuples_per_second == (100.0 if stays else 10.0)


@pytest.mark.parametrize("slots", [[0, 4, 0, -1], [0, 0, 0, 4]])
def test_a_current_placement_that_cannot_stay_is_replaced_whatever_the_improvement(slots):
    topology = pairs({(0, 1): 50.0, (2, 3): 50.0, (1, 3): 10.0}, 4, 2)
    problem = Problem(nodes(2, max_executors=2), (topology,), Placement(np.array(slots)))
    found = solve(problem, NAME, options={"improvement": "1"})
    assert found.metrics.inter_node_tuples_per_second == 10.0


def test_numbers_of_executors_and_nodes():
    assert [most_executors(10, 4, alpha) for alpha in (0.0, 0.5, 1.0)] == [3, 5, 7]
    slots = np.array([2, 4, 1])
    assert [node_count(w, slots, 0.0) for w in (1, 4, 5, 7)] == [1, 1, 2, 3]
    assert [node_count(w, slots, 1.0) for w in (1, 2, 7)] == [1, 2, 3]


def test_without_traffic_it_refuses():
    with pytest.raises(Infeasible, match="measure it") as caught:
        solve(Problem(nodes(2), (chain([2, 2], rate=0.0),)), NAME)
    assert caught.value.constraint == "traffic"


def test_workers_that_fit_no_node_name_the_constraint():
    tight = tuple(Node(f"n{i}", (6700, 6701), cpu_percent=100.0) for i in range(2))
    topology = pairs({(0, 1): 5.0, (1, 2): 1.0}, 3, 3, cpu=60.0)
    with pytest.raises(Infeasible) as caught:
        solve(Problem(tight, (topology,)), NAME)
    assert caught.value.constraint == "cpu"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": float("nan")}, "alpha"),
        ({"beta": 2.0}, "beta"),
        ({"gamma": 0.9}, "gamma"),
        ({"delta": 1.1}, "delta"),
        ({"improvement": 1.1}, "improvement"),
    ],
)
def test_options_check_themselves(options, named):
    with pytest.raises(InvalidInput, match=f"option {named}"):
        Options(**options)


@given(problem=problems())
def test_workers_hold_no_more_executors_than_alpha_allows(problem):
    try:
        slots = solve(problem, NAME).placement.slots
    except Infeasible:
        return
    for ordinal, topology in enumerate(problem.topologies):
        own = slots[problem.executor_topology == ordinal]
        used, sizes = np.unique(own, return_counts=True)
        assert sizes.max() <= most_executors(len(own), len(used), 0.0)
        if topology.workers is not None:
            assert len(used) <= topology.workers
