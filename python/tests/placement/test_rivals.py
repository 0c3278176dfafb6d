"""Problems on which other algorithms were ahead of `cut` (data/rivals/README.md)."""

from functools import cache
from pathlib import Path

import pytest

from stormcut.adapters.files.problem_file import read_problem
from stormcut.application.shortfall import shortfall
from stormcut.model.errors import Infeasible
from stormcut.objective.order import ENOUGH_ROOM, PlacementValue, is_ahead
from stormcut.placement.registry import ALGORITHMS
from stormcut.placement.solve import solve

RIVALS = Path(__file__).parents[1] / "data" / "rivals"
NAMES = sorted(path.stem for path in RIVALS.glob("*.json"))
#: These take from 10 s to minutes there.
SLOW = {"nine-hundred": {"exact", "ols"}, "lp_los": {"ols"}, "p4108": {"exact"}}


@cache
def problem_of(name):
    return read_problem(RIVALS / f"{name}.json")


@cache
def value_of(name, algorithm, **options):
    problem = problem_of(name)
    return PlacementValue(problem, solve(problem, algorithm, 1, options).placement)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_rival_is_ahead(name):
    found = value_of(name, "cut")
    for algorithm in set(ALGORITHMS) - {"cut"} - SLOW.get(name, set()):
        try:
            rival = value_of(name, algorithm)
        except Infeasible:
            continue
        assert not is_ahead(rival, found), algorithm


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("crawler", 1.73), ("fleet", 2.0)])
def test_what_storm_carries_is_carried(name, least):
    assert value_of(name, "cut").room > least


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["congestion", "headroom"])
def test_loads_are_not_weighed_by_sizes(objective):
    """The crawler's parsers weighed 1,117 points instead of 57.6, so that nothing fitted."""
    assert value_of("crawler", "cut", objective=objective).room > 1.7


@pytest.mark.slow
def test_local_streams_stay_local_and_are_spread_where_that_costs_nothing():
    found = value_of("etl", "cut")
    assert found.traffic == 0
    assert found.room > 4


@pytest.mark.parametrize("options", [{}, {"objective": "cut"}])
def test_nothing_travels_where_nothing_has_to(options):
    assert value_of("lp_los_small", "cut", **options).traffic == 0


def test_exact_counts_loads_that_local_streams_bring():
    """It left the streams out, and with them the loads: 451 points on a node of 400."""
    found = solve(problem_of("fleet"), "exact")
    assert found.certificate.gap == 0


@pytest.mark.slow
def test_a_placement_that_does_not_carry_its_rates_is_warned_of():
    problem = problem_of("p4101")
    found = shortfall(problem, solve(problem, "cut", 1, {"objective": "cut"}).placement)
    assert "thread of executor c1[0] of t1 is full at 0.79 times" in found
    assert "8 executors of c1 instead of 6" in found
    assert shortfall(problem_of("etl"), value_of("etl", "cut").placement) is None


def test_a_skew_that_the_placement_makes_asks_for_another_placement():
    problem = problem_of("fleet")
    found = shortfall(problem, solve(problem, "exact").placement)
    assert "geo" in found and "another placement" in found


@pytest.mark.slow
def test_room_is_enough_where_traffic_is_saved():
    assert value_of("ysb", "cut").room >= ENOUGH_ROOM * 0.99
    assert value_of("ysb", "cut").traffic < value_of("ysb", "even").traffic
