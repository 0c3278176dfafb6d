"""What every algorithm of the registry must do."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from microbenchmarks import chain, nodes
from problem_strategies import problems

from stormcut.application.place import solve
from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import Node, Problem
from stormcut.objective.verify import violations
from stormcut.placement.registry import ALGORITHMS, algorithm, parse_options

pytestmark = pytest.mark.parametrize("name", ALGORITHMS)

CASES = {
    "one node": Problem(nodes(1), (chain([2, 2]),)),
    "no executor": Problem(nodes(1), ()),
    "one executor": Problem(nodes(2), (chain([1]),)),
    "no traffic": Problem(nodes(2), (chain([2, 2], rate=0.0),)),
    "disconnected": Problem(nodes(2, max_executors=4), (chain([2, 2]), chain([2, 2], name="b"))),
    "several topologies": Problem(nodes(3), tuple(chain([1, 2], name=f"t{i}") for i in range(5))),
    "more workers than executors": Problem(nodes(2), (chain([1, 1], workers=7),)),
    "current": Problem(
        nodes(2), (chain([2, 2], workers=4),), Placement(np.array([0, 1, -1, 8])), (("gone", 1),)
    ),
    "tight": Problem(nodes(3, max_executors=2, cpu_percent=25.0), (chain([3, 3], workers=3),)),
}
HOPELESS = {
    "no node": Problem((), (chain([2]),)),
    "zero slots": Problem((Node("n", ()),), (chain([2, 2]),)),
    "fewer slots than topologies": Problem(
        nodes(1, slots=1), (chain([1, 1], workers=1), chain([1, 1], name="b", workers=1))
    ),
    "not enough CPU": Problem(nodes(2, cpu_percent=15.0), (chain([2, 2]),)),
    "not enough memory": Problem(nodes(2, memory_mb=200.0), (chain([2, 2]),)),
    "not enough room": Problem(nodes(2, max_executors=1), (chain([2, 2]),)),
}


def outcome(problem, name, seed=1):
    """Return the placement, or the constraint for which there is none."""
    try:
        solution = solve(problem, name, seed)
    except Infeasible as error:
        assert "\n" not in str(error)
        return error.constraint
    assert violations(problem, solution.placement) == []
    return solution.placement


@pytest.mark.parametrize("case", CASES)
def test_feasible_cases(name, case):
    result = outcome(CASES[case], name)
    if isinstance(result, str):
        assert algorithm(name).needs_traffic
        assert result == "traffic"


@pytest.mark.parametrize("case", HOPELESS)
def test_hopeless_cases(name, case):
    assert isinstance(outcome(HOPELESS[case], name), str)


@settings(max_examples=200)
@given(problem=problems())
def test_random_problems_are_placed_feasibly_or_refused_and_alike_each_time(name, problem):
    before = problem.current_slots().copy()
    assert outcome(problem, name) == outcome(problem, name)
    assert np.array_equal(problem.current_slots(), before)


@given(problem=problems(homogeneous=True))
def test_names_of_nodes_do_not_change_the_worth(name, problem):
    if name == "even":
        pytest.skip("Storm's order of nodes is the hash order of their names")
    problem = replace(problem, current=None, lost_slots=())
    ports = tuple(6700 + i for i in range(3))
    equal = tuple(replace(node, ports=ports) for node in problem.nodes)
    problem = replace(problem, nodes=equal)
    renamed = tuple(replace(node, id=f"x{-i % 7}") for i, node in enumerate(equal))
    one, other = outcome(problem, name), outcome(replace(problem, nodes=renamed), name)
    if isinstance(one, str):
        assert one == other
        return
    first, second = (
        solve(problem, name).metrics,
        solve(replace(problem, nodes=renamed), name).metrics,
    )
    assert first == second


def test_unknown_options_are_refused(name):
    with pytest.raises(InvalidInput, match="no such option"):
        parse_options(algorithm(name), {"nonsense": "1"})


def test_a_negative_seed_is_refused(name):
    with pytest.raises(InvalidInput, match="seed"):
        solve(CASES["one node"], name, seed=-1)
