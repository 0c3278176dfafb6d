"""`ols-offline`: components along the streams, dealt to the workers of those that feed them."""

import numpy as np
import pytest
from hypothesis import given
from problem_strategies import problems
from small_problems import chain, nodes

from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.problem import Component, Node, Problem, Stream, Topology
from stormcut.placement.algorithms.ols.offline import Options, most_executors
from stormcut.placement.solve import solve

NAME = "ols-offline"


def workers_of(topology, options=None, cluster=None):
    """Return the executors of each worker as a set of texts such as ``c0[1]``."""
    problem = Problem(cluster or nodes(4), (topology,))
    slots = solve(problem, NAME, options=options or {}).placement.slots
    names = [f"{component}[{index}]" for _, component, index in problem.executor_names()]
    return {frozenset(np.array(names)[slots == slot].tolist()) for slot in np.unique(slots)}


def test_a_component_is_dealt_to_the_workers_that_feed_it():
    assert workers_of(chain([2, 2, 2], workers=2)) == {
        frozenset({"c0[0]", "c1[0]", "c2[0]"}),
        frozenset({"c0[1]", "c1[1]", "c2[1]"}),
    }


def test_full_workers_are_passed_over():
    # Two executors a worker; gamma 1: no worker is dealt to for being empty. c1 fills up the
    # workers of c0, so that c2 goes to the two others in turn.
    assert workers_of(chain([2, 2, 4], workers=4), {"gamma": "1"}) == {
        frozenset({"c0[0]", "c1[0]"}),
        frozenset({"c0[1]", "c1[1]"}),
        frozenset({"c2[0]", "c2[2]"}),
        frozenset({"c2[1]", "c2[3]"}),
    }


def test_after_a_part_of_the_components_empty_workers_come_first():
    # gamma 1/2: from the second of three components on; c1 takes the empty workers, c2 these first.
    assert workers_of(chain([2, 2, 4], workers=4), {"gamma": "0.5"}) == {
        frozenset({"c1[0]", "c2[0]"}),
        frozenset({"c1[1]", "c2[1]"}),
        frozenset({"c0[0]", "c2[2]"}),
        frozenset({"c0[1]", "c2[3]"}),
    }


def test_components_come_after_those_that_feed_them_whatever_the_order_given():
    forward = chain([2, 2, 2], workers=2)
    backward = Topology("t", forward.components[::-1], forward.streams, workers=2)
    assert workers_of(backward) == workers_of(forward)


def test_a_cycle_begins_with_the_spouts():
    parts = (Component.uniform("b", 2), Component.uniform("s", 2, "spout"))
    streams = (Stream("s", "b", 1.0), Stream("b", "s", 1.0))
    assert workers_of(Topology("t", parts, streams, workers=2)) == {
        frozenset({"s[0]", "b[0]"}),
        frozenset({"s[1]", "b[1]"}),
    }


@pytest.mark.parametrize("alpha", ["0", "0.5", "1"])
def test_every_worker_gets_something(alpha):
    for gamma in ("0", "0.5"):
        found = workers_of(chain([2, 4, 4], workers=5), {"gamma": gamma, "alpha": alpha})
        assert len(found) == 5


def test_alpha_lets_workers_differ_in_size():
    found = workers_of(chain([2, 4, 4], workers=5), {"gamma": "1", "alpha": "1"})
    assert sorted(map(len, found)) == [5, 5]


@pytest.mark.parametrize(("beta", "used"), [("0", 1), ("0.5", 3), ("1", 4)])
def test_beta_says_how_many_nodes_are_used(beta, used):
    problem = Problem(nodes(4), (chain([4, 4], workers=4),))
    assert solve(problem, NAME, options={"beta": beta}).metrics.nodes_used == used


def test_a_node_that_a_worker_does_not_fit_is_passed_over():
    cluster = (
        Node("a", (6700, 6701, 6702), cpu_percent=20.0),
        Node("b", (6700,), cpu_percent=100.0),
    )
    parts = (Component.uniform("a", 1, cpu_percent=60.0), Component.uniform("b", 1))
    problem = Problem(cluster, (Topology("t", parts, workers=2),))
    slots = solve(problem, NAME).placement.slots
    assert [problem.slot_ids[slot][0] for slot in slots] == ["b", "a"]


def test_what_fits_nowhere_names_the_constraint():
    heavy = Topology("t", (Component.uniform("a", 3, cpu_percent=60.0),), workers=3)
    with pytest.raises(Infeasible, match="ols-offline found none") as caught:
        solve(Problem(nodes(2, cpu_percent=100.0), (heavy,)), NAME)
    assert caught.value.constraint == "cpu"


@pytest.mark.parametrize("name", ["alpha", "beta", "gamma"])
@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_options_check_themselves(name, value):
    with pytest.raises(InvalidInput, match=f"option {name}"):
        Options(**{name: value})


@given(problem=problems())
def test_workers_hold_no_more_executors_than_alpha_allows(problem):
    try:
        slots = solve(problem, NAME).placement.slots
    except Infeasible:
        return
    for ordinal, topology in enumerate(problem.topologies):
        own = slots[problem.executor_topology == ordinal]
        used, sizes = np.unique(own, return_counts=True)
        if topology.workers is not None:
            assert len(used) <= topology.workers
            if len(used) == topology.workers:
                assert sizes.max() <= most_executors(len(own), len(used), 0.0)
