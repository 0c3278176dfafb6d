"""Algorithms' own rules of when a running topology moves, at the papers' examples and beyond."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_problems import nodes
from test_bframework import w1
from test_stromax import reassignment_problem

from stormcut.model.errors import InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import Component, MeasuredPair, Problem, Topology
from stormcut.placement.acceptance import (
    Imbalance,
    MoveTiming,
    NoMove,
    Overuse,
    Pause,
    Saving,
    Skew,
    Unconfirmed,
    lessens,
)
from stormcut.placement.registry import ALGORITHMS, algorithm, parse_options
from stormcut.placement.solve import solve

OWN = sorted(name for name, each in ALGORITHMS.items() if each.acceptance)
#: The least seconds between two changes, and the option that says so.
PAUSES = {"bframework": (120.0, "t_cool"), "ols": (180.0, "reschedule_timeout")} | {
    "stromax": (60.0, "rest")
}

seconds = st.one_of(st.none(), st.floats(0, 1000))


def judged(name, problem, present, proposed, moment=None, **options):
    """Return (condition, verdict) of an algorithm's rule; without a moment any time will do."""
    chosen = algorithm(name)
    values = parse_options(chosen, {key: str(value) for key, value in options.items()})
    both = problem, present, proposed
    verdict = partial(chosen.acceptance.verdict, *both, moment or MoveTiming(None, 1000), values)
    return chosen.acceptance.condition(*both, values), verdict()


def on(*at):
    """Return a placement by nodes with four slots each."""
    return Placement(4 * np.array(at))


#: 100 of 110 tuples/s travel, 10 once the pairs meet.
PAIRS = Problem(
    nodes(2),
    (
        Topology(
            "t",
            tuple(Component.uniform(n, 1, cpu_percent=1.0) for n in "abcd"),
            (),
            tuple(
                MeasuredPair((a, 0), (b, 0), rate)
                for a, b, rate in (("a", "b", 50.0), ("c", "d", 50.0), ("b", "d", 10.0))
            ),
        ),
    ),
)
APART, TOGETHER = on(0, 1, 0, 1), on(0, 0, 1, 1)


def test_those_that_have_a_rule_of_their_own():
    assert OWN == ["bframework", "ols", "stromax"]


@pytest.mark.parametrize("name", OWN)
@given(since=seconds)
def test_a_pause_counts_from_an_applied_change(name, since):
    least, option = PAUSES[name]
    problem, present, proposed = {
        "bframework": (PAIRS, on(0, 0, 0, 0), on(0, 0, 1, 1)),
        "ols": (PAIRS, APART, TOGETHER),
        "stromax": (PAIRS, on(0, 0, 0, 1), TOGETHER),
    }[name]
    found, verdict = judged(name, problem, present, proposed, MoveTiming(since, 3))
    if since is None or since >= least:
        assert (verdict.accepts, verdict.reason) == (True, found)
    else:
        assert (verdict.accepts, verdict.reason) == (False, Pause(since, least))
    assert judged(name, problem, present, proposed, MoveTiming(since, 3), **{option: 0})[1].accepts
    with pytest.raises(InvalidInput, match=option):
        judged(name, problem, present, proposed, **{option: -1})


@pytest.mark.parametrize("name", OWN)
def test_who_stays_does_not_move(name):
    crowded = on(0, 0, 0, 0)
    _, verdict = judged(name, PAIRS, crowded, crowded)
    assert (verdict.accepts, verdict.reason) == (False, NoMove.STAYS)


#: From the most severe to none.
SEVERITIES = (
    Skew("a", 2.0, 1.12),
    Skew("b", 1.5, 1.12),
    Imbalance("a", "b", 0.5, 0.3),
    Imbalance("b", "a", 0.4, 0.3),
    Saving(10.0, 5.0, 0.05),
    None,
)


@pytest.mark.parametrize("at", range(len(SEVERITIES) - 1))
def test_a_move_lessens_what_called_for_it(at):
    now = SEVERITIES[at]
    assert [lessens(now, then) for then in SEVERITIES] == [n > at for n in range(len(SEVERITIES))]


def test_an_overuse_is_as_severe_as_it_is_above_what_is_right():
    now = Overuse("a", 0.95, 0.9)
    assert lessens(now, Overuse("b", 0.84, 0.8))
    assert not lessens(now, Overuse("b", 0.94, 0.8))


# ---------------------------------------------------------------- StroMAX


def test_a_node_above_the_mean_by_the_skew_is_reassigned():
    """Loads 10, 5 and 3: the mean is 6, the limit 6.72."""
    present, proposed = on(0, 0, 0, 1, 1, 2, 2), on(0, 2, 0, 1, 1, 2, 2)
    found, verdict = judged("stromax", reassignment_problem(), present, proposed)
    assert found == Skew("n00", pytest.approx(10 / 6), 1.12)
    assert verdict.accepts
    # 7 > 6.72 after the move, too; 1 + skew = 7 / 6 lets that be.
    after = judged("stromax", reassignment_problem(), proposed, present)
    assert after[0] == Skew("n00", pytest.approx(7 / 6), 1.12)
    calm = judged("stromax", reassignment_problem(), proposed, present, skew=1 / 6)
    assert calm[0] is None
    assert calm[1].reason == Skew("n00", pytest.approx(7 / 6), pytest.approx(7 / 6))


def test_the_printed_threshold_finds_everything_overloaded():
    assert judged("stromax", PAIRS, TOGETHER, APART)[0] is None
    literal = judged("stromax", PAIRS, TOGETHER, APART, threshold="literal")
    assert literal[0] == Skew("n00", 1.0, 0.12)
    assert literal[1].accepts


def test_nodes_of_unequal_capacity_share_load_by_it():
    cluster = tuple(
        replace(node, cpu_percent=cpu) for node, cpu in zip(nodes(2), (300.0, 100.0), strict=True)
    )
    problem = replace(PAIRS, nodes=cluster)
    assert judged("stromax", problem, on(0, 0, 0, 1), APART)[0] is None
    assert judged("stromax", problem, APART, on(0, 0, 0, 1))[0] == Skew("n01", 2.0, 1.12)


@given(
    st.lists(st.integers(0, 2), min_size=7, max_size=7),
    st.lists(st.integers(0, 2), min_size=7, max_size=7),
    st.floats(0, 2),
)
def test_reassignment_is_accepted_if_and_only_if_a_node_is_above_its_limit(present, then, skew):
    problem = reassignment_problem()
    used = np.bincount(present, weights=problem.executor_cpu, minlength=3)
    found, verdict = judged("stromax", problem, on(*present), on(*then), skew=skew)
    overloaded = bool(used.max() > (1 + skew) * 6 * (1 + 1e-9))
    assert (found is not None) is overloaded
    assert verdict.accepts is (overloaded and present != then)


# ---------------------------------------------------------------- OLS


@pytest.mark.parametrize(
    ("improvement", "accepts"), [("none", 1), ("0", 1), ("0.9", 1), ("0.91", 0)]
)
def test_the_least_improvement_is_a_share_of_what_travels(improvement, accepts):
    found, verdict = judged("ols", PAIRS, APART, TOGETHER, improvement=improvement)
    assert verdict.accepts is bool(accepts)
    assert (found is not None) is verdict.accepts
    assert verdict.reason.share == pytest.approx(0.9)


def test_what_saves_nothing_is_no_improvement():
    found, verdict = judged("ols", PAIRS, TOGETHER, APART)
    assert (found, verdict.accepts, verdict.reason) == (None, False, Saving(10.0, 100.0, 0.0))
    assert not judged("ols", PAIRS, APART, on(1, 0, 1, 0))[1].accepts


# ---------------------------------------------------------------- Bframework


def test_the_monitor_sees_an_overload():
    """W1 with all rates times 1.45: n1 is used at 0.8247."""
    placed = solve(w1(), "bframework").placement
    found, _ = judged("bframework", w1(local=True, scale=1.45), placed, placed)
    lighter = Placement(np.where(placed.slots == placed.slots[0], 11, placed.slots))
    now = judged("bframework", w1(local=True, scale=1.45), placed, lighter, MoveTiming(None, 1))
    assert (now[1].accepts, now[1].reason) == (True, found)
    assert found == Overuse("n1", pytest.approx(0.8247, abs=5e-5), 0.8)


def test_the_monitor_sees_an_idle_node():
    placed = solve(w1(), "bframework").placement
    more = w1(local=True, current=placed, cpu=(400.0, 400.0, 200.0, 400.0))
    found, _ = judged("bframework", more, placed, placed)
    assert found == Imbalance("n1", "n4", pytest.approx(0.56875), 0.3)
    assert judged("bframework", w1(local=True), placed, placed)[0] is None


def test_traffic_is_worth_a_move_from_the_gain_on():
    found, verdict = judged("bframework", PAIRS, APART, TOGETHER)
    assert (found, verdict.reason) == (Saving(100.0, 10.0, 0.05),) * 2
    found, verdict = judged("bframework", PAIRS, APART, TOGETHER, gain=0.91)
    assert (found, verdict.reason) == (None, Saving(100.0, 10.0, 0.91))


@given(held=st.integers(1, 9), needed=st.integers(0, 9), since=seconds)
def test_what_saves_traffic_must_do_so_in_so_many_measurements(held, needed, since):
    moment = MoveTiming(since, held)
    _, verdict = judged("bframework", PAIRS, APART, TOGETHER, moment, k_stable=needed)
    assert verdict.accepts is (held >= needed and (since is None or since >= 120))
    if held < needed:
        assert verdict.reason == Unconfirmed(held, needed)
