import pytest
from hypothesis import given
from problem_strategies import placed_problems
from small_problems import chain, nodes

from stormcut.model.errors import Infeasible
from stormcut.model.problem import Node, Problem
from stormcut.objective.necessary import require_possible
from stormcut.objective.verify import violations

PAIR = (chain([1, 1]), chain([1, 1], name="other"))


@pytest.mark.parametrize(
    ("problem", "constraint"),
    [
        (Problem((), PAIR), "slots"),
        (Problem(nodes(3, slots=0), PAIR), "slots"),
        (Problem(nodes(1, slots=1), PAIR), "slots"),
        (Problem(nodes(2, cpu_percent=19.0), PAIR), "cpu"),
        (Problem(nodes(9, cpu_percent=9.0), PAIR), "cpu"),
        (Problem(nodes(2, memory_mb=200.0), PAIR), "memory"),
        (Problem(nodes(3, max_executors=1), PAIR), "max_executors"),
        (Problem((*nodes(1, max_executors=2), Node("portless", ())), PAIR), "max_executors"),
    ],
)
def test_impossible_problems(problem, constraint):
    with pytest.raises(Infeasible, match="no feasible placement exists") as caught:
        require_possible(problem)
    assert caught.value.constraint == constraint


@given(placed_problems())
def test_what_has_a_feasible_placement_is_possible(given_):
    problem, placement = given_
    if not violations(problem, placement):
        require_possible(problem)
