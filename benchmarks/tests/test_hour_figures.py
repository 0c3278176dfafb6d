"""The hour's load and its figures, where the truth is known."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest
from benchmarks.cluster.hour_figures import (
    COST_S,
    acked_share,
    answers,
    cost,
    moves_in,
    planned,
    restarted,
    served_share,
)
from benchmarks.cluster.hour_load import FULL, LOADS, START_STEPS, STEP_S, Offered
from hypothesis import given
from hypothesis import strategies as st

from stormcut.lab.experiment.recorder import STEP_S as POINT_S
from stormcut.lab.experiment.timeline import Point

minutes = st.integers(1, 130)
loads = st.sampled_from(list(LOADS.values()))


def points(*acked: float) -> list[Point]:
    return [Point((n + 1) * POINT_S, 100.0, each, 10.0, 20.0) for n, each in enumerate(acked)]


@given(loads, minutes)
def test_phases_cover_every_minute_once_and_shifts_lie_in_them(load: Any, count: int) -> None:
    phases = load.phases(count)
    assert phases[0].begin_s == 0
    assert phases[-1].end_s == 60 * count
    for before, after in pairwise(phases):
        assert before.end_s == after.begin_s
        assert before.name != after.name
    begins = {phase.begin_s for phase in phases if phase.name == "shifted"}
    assert set(load.shifts(count)) == begins


@given(loads, minutes)
def test_sources_are_told_the_shifts_that_the_page_tells(load: Any, count: int) -> None:
    options = load.options("linear", count)
    rates = [float(rate) for rate in str(options["rate"]).split(",")]
    assert len(rates) == START_STEPS + count
    assert max(rates) <= 2 * FULL["linear"]
    if shifts := load.shifts(count):
        first = options["shift.seconds"] - START_STEPS * STEP_S
        told = [first + n * options["shift.period"] for n in range(len(shifts))]
        assert told == shifts
    assert "shift.seconds" not in load.options("diamond", count)


@given(loads, st.integers(1, 60), st.floats(0, 50))
def test_what_is_offered_in_a_minute_is_the_load_of_that_step(
    load: Any, minute: int, apart: float
) -> None:
    launched = {"linear": 1000.0, "diamond": 1000.0 + apart}
    alone = {name: Offered(load, 60, {name: at}) for name, at in launched.items()}
    share = load.shares(60)[START_STEPS + minute - 1]
    for name, at in launched.items():
        begin = at + (START_STEPS + minute - 1) * STEP_S
        rate = alone[name].between(begin, begin + STEP_S)
        assert rate == pytest.approx(share * FULL[name])
    both = Offered(load, 60, launched)
    assert both.between(2000, 2003) == pytest.approx(
        sum(each.between(2000, 2003) for each in alone.values())
    )


def test_a_noisy_load_differs_from_second_to_second_and_a_changing_one_does_not() -> None:
    for load, differs in ((LOADS["steady"], True), (LOADS["changing"], False)):
        offered = Offered(load, 60, {"linear": 0.0})
        rates = {round(offered.between(at, at + 1), 3) for at in range(185, 235)}
        assert (len(rates) > 10) == differs


def test_shares_of_tuples_and_of_time() -> None:
    assert acked_share(points(100, 50)) == pytest.approx(0.75)
    # Two windows of five points: one is served but for a point, the other is not.
    assert served_share(points(100, 100, 100, 100, 80, 100, 100, 100, 100, 50)) == 0.5
    assert served_share(points(100)) == 0


@given(st.floats(0, 100), st.integers(1, 3))
def test_a_move_costs_what_is_missing_within_a_minute_of_it(acked: float, moves: int) -> None:
    seen = points(*([acked] * 100))
    at = [30.0] * moves
    # Moves at once cost once.
    assert cost(seen, at) == pytest.approx(COST_S * (100 - acked))
    assert cost(seen, []) == 0
    assert cost(points(*([100] * 100)), at) == 0


def test_a_change_is_answered_by_the_first_plan_before_the_next_change() -> None:
    assert answers([100, 200, 300], [50, 130, 150, 290], 400) == [(100, 30), (200, 90), (300, None)]
    assert answers([], [1.0], 10) == []


def test_workers_that_are_as_they_were_have_not_restarted() -> None:
    before = {("a", 1): frozenset({1, 2}), ("b", 1): frozenset({3})}
    assert restarted(before, before) == 0
    assert restarted(before, {("a", 1): frozenset({1, 2, 3})}) == 1
    assert restarted(before, {("a", 1): frozenset({1, 2}), ("c", 1): frozenset({3})}) == 1


def part(**changed: Any) -> dict[str, Any]:
    whole = {"topology": "linear-1-1700000000", "reason": "moved", "evidence": "measured"}
    return {**whole, "former": [["n", 6700, [1]]], "workers_restarted": 2, **changed}


def test_moves_are_plans_that_restart_workers_of_what_ran() -> None:
    history = [
        {"plan": "c", "created_ms": 29_000, "topologies": [part(evidence="undone")]},
        {"plan": "a", "created_ms": 9_000, "topologies": [part(former=[])]},
        {
            "plan": "b",
            "created_ms": 12_000,
            "topologies": [part(former=[], workers_restarted=0), part(reason="why")],
        },
    ]
    found = moves_in(history, {"a": 10.0, "b": 20.0}, 5.0)
    assert [(move["plan"], move["at_s"], move["undone"]) for move in found] == [
        ("b", 15.0, False),
        ("c", 24.0, True),
    ]
    assert found[0]["reasons"] == ["why"]
    assert found[0]["topologies"] == ["linear"]


def test_a_plan_is_made_when_the_log_says_so() -> None:
    log = (
        "26/11/23 19:00:00 WARN Utils: Spark says plan b in 1 s\n"
        "2026-11-23 19:27:50,250 INFO    plan abc in 10.40 s: linear-1-1 kept: paused\n"
        "2026-11-23 19:27:56,183 INFO    profile of linear-1-1 published: plan c in 2\n"
    )
    assert planned(log) == {"abc": datetime(2026, 11, 23, 19, 27, 50, 250_000).timestamp()}
