import pytest
from small_problems import chain, nodes

from stormcut.model.errors import Infeasible
from stormcut.model.problem import Component, Problem, Stream, Topology
from stormcut.objective.metrics import measure
from stormcut.placement import registry
from stormcut.placement import solve as solving
from stormcut.placement.solve import solve


def test_a_solution_says_how_it_was_found():
    problem = Problem(nodes(2), (chain([2, 2]),))
    solution = solve(problem, "p-scheduler", 7, {"cpu_share": "0.5"})
    assert solution.options == {
        "seed": 7,
        "cpu_share": 0.5,
        "max_tasks_per_worker": 5,
        "partitioner": "recursive",
        "capacity": "refuse",
    }
    assert solution.metrics == measure(problem, solution.placement)
    assert solution.certificate is None


def test_an_algorithm_blind_to_capacity_does_not_get_past_the_judge():
    problem = Problem(nodes(2, max_executors=3), (chain([5], workers=1),))
    with pytest.raises(Infeasible, match=r"even found none: node n0\d holds 5 executors"):
        solve(problem, "even")


@pytest.mark.parametrize(("cpu", "asked"), [(50.0, False), (500.0, True)])
def test_starts_that_may_take_seconds_are_asked_where_no_other_carries_the_rates(
    monkeypatch, cpu, asked
):
    # An executor has a thread of 100 points.
    seen = []
    monkeypatch.setattr(
        solving, "algorithm", lambda name: seen.append(name) or registry.algorithm(name)
    )
    parts = tuple(Component.uniform(name, 2, cpu_percent=cpu) for name in "ab")
    solve(Problem(nodes(2), (Topology("t", parts, (Stream("a", "b", 10.0),)),)), "cut")
    assert "even" in seen
    assert ("i-scheduler" in seen) == asked
