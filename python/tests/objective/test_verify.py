import numpy as np
import pytest
from hypothesis import given
from problem_strategies import placed_problems
from small_problems import chain, nodes

from stormcut.model.placement import Placement
from stormcut.model.problem import Component, Node, Problem, Topology
from stormcut.objective.verify import violations


def constraints(problem, slots):
    found = violations(problem, Placement(np.array(slots)))
    assert all(violation.message and "\n" not in violation.message for violation in found)
    return [violation.constraint for violation in found]


def test_a_feasible_placement_has_none():
    assert constraints(Problem(nodes(2), (chain([2]),)), [0, 5]) == []


def test_every_constraint_is_named():
    problem = Problem(nodes(1, slots=2), (chain([1, 1]), chain([1], name="other")))
    assert constraints(problem, [0, -1, 1]) == ["unassigned"]
    assert constraints(problem, [0, 1, 1]) == ["topologies"]
    lost = problem.with_lost_slots((("n00", 9), ("gone", 1)))
    assert constraints(lost, [2, 2, 3]) == ["slots", "slots"]


@pytest.mark.parametrize(
    ("limit", "constraint"),
    [
        ({"cpu_percent": 19.0}, "cpu"),
        ({"memory_mb": 255.0}, "memory"),
        ({"max_executors": 1}, "max_executors"),
    ],
)
def test_limits_of_a_node(limit, constraint):
    assert constraints(Problem(nodes(2, **limit), (chain([2]),)), [0, 1]) == [constraint]
    assert constraints(Problem(nodes(2, **limit), (chain([2]),)), [0, 4]) == []


def test_rounding_is_no_violation():
    tenths = Topology("t", (Component.uniform("a", 10, cpu_percent=0.1),))
    node = Node("n", (1,), cpu_percent=sum([0.1] * 9) + 0.1 - 1e-16)
    assert constraints(Problem((node,), (tenths,)), [0] * 10) == []


def test_the_number_of_workers_asked_for_is_no_constraint():
    assert constraints(Problem(nodes(1), (chain([4], workers=4),)), [0, 0, 0, 0]) == []


def test_a_placement_of_another_problem_is_refused():
    with pytest.raises(ValueError, match="problem of 3"):
        violations(Problem(nodes(1), (chain([3]),)), Placement(np.array([0])))


@given(placed_problems())
def test_node_sums_agree_with_a_plain_loop(given_):
    problem, placement = given_
    found = violations(problem, placement)
    for ordinal, node in enumerate(problem.nodes):
        here = [
            executor
            for executor, slot in enumerate(placement.slots.tolist())
            if 0 <= slot < problem.slot_count and problem.slot_node[slot] == ordinal
        ]
        over = node.max_executors is not None and len(here) > node.max_executors
        named = [
            v for v in found if v.constraint == "max_executors" and f"node {node.id} " in v.message
        ]
        assert bool(named) == over
