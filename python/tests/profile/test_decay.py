from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormcut.profile.decay import FORGOTTEN, DecayedTotals, Slice
from stormcut.profile.totals import ChildTotals, PairTotals, TaskTotals

HALF_LIFE = 60.0


def slice_at(end, rates, seconds=10):
    """Return a slice of `seconds`: tuples/s that each task executes and sends to task 99."""
    tasks = tuple(
        TaskTotals(
            task,
            "c",
            (task, task),
            ms=1000 * seconds,
            sent=rate * seconds,
            executed=rate * seconds,
            thread_ms=1000 * seconds,
            thread_cpu_ms=rate * seconds,
        )
        for task, rate in rates.items()
    )
    pairs = tuple(
        PairTotals(task, 99, rate * seconds, rate, 40 * rate)
        for task, rate in rates.items()
        if rate
    )
    return Slice(end - seconds, end, tasks, pairs)


def rates_of(totals):
    profile, _ = totals.summary()
    return {pair.source_task: pair.tuples_per_second for pair in profile.traffic}


@given(st.dictionaries(st.integers(1, 9), st.floats(1, 1e4), min_size=1), st.integers(1, 40))
def test_a_steady_rate_is_that_rate_however_long(rates, slices):
    totals = DecayedTotals(HALF_LIFE)
    for number in range(slices):
        totals.add(slice_at(1000 + 10 * number, rates))
    assert rates_of(totals) == pytest.approx(rates)
    profile, measured = totals.summary()
    assert profile.cpu_percent == pytest.approx(sum(rates.values()) / 10)
    assert not measured.missing_executors


@given(st.floats(1, 1e3), st.floats(1, 1e3))
def test_after_one_half_life_old_and_new_count_as_their_weights_say(old, new):
    totals = DecayedTotals(HALF_LIFE)
    totals.add(slice_at(1000, {1: old}))
    totals.add(slice_at(1000 + int(HALF_LIFE), {1: new}))
    assert rates_of(totals)[1] == pytest.approx((old / 2 + new) / 1.5)


def test_silence_is_not_zero_and_what_is_silent_for_long_is_forgotten():
    totals = DecayedTotals(HALF_LIFE)
    totals.add(slice_at(1000, {1: 5.0, 2: 7.0}))
    for end in range(1010, 1100, 10):
        totals.add(slice_at(end, {1: 5.0}))
    assert rates_of(totals)[2] == pytest.approx(7.0)
    last = 1000 + int(FORGOTTEN * HALF_LIFE) + 10
    totals.add(slice_at(last, {1: 5.0}))
    assert [task.task for task in totals.tasks] == [1]
    assert set(rates_of(totals)) == {1}


def test_a_pair_that_sends_no_more_goes_and_its_task_stays():
    totals = DecayedTotals(HALF_LIFE)
    totals.add(slice_at(1000, {1: 5.0}))
    for number in range(1, 200):
        totals.add(slice_at(1000 + 10 * number, {1: 0.0}))
    assert rates_of(totals) == {}
    assert [task.task for task in totals.tasks] == [1]


@pytest.mark.slow
def test_memory_is_bounded_by_what_talks_now():
    totals = DecayedTotals(HALF_LIFE)
    for number in range(2000):
        totals.add(slice_at(1000 + 10 * number, {number + 1: 1.0}))
    assert len(totals.tasks) <= FORGOTTEN * HALF_LIFE / 10 + 2


def test_children_add_up_and_one_that_is_missing_makes_the_executor_missing():
    child = ChildTotals(1000.0, 500.0, 2.0)
    first = TaskTotals(1, "c", (1, 1), ms=1000, thread_ms=1000, thread_cpu_ms=100, child=child)
    both = first.plus(first)
    assert both.child == ChildTotals(2000.0, 1000.0, 4.0)
    assert both.cpu_percent == pytest.approx(60.0)
    totals = DecayedTotals(HALF_LIFE)
    other = TaskTotals(2, "c", (2, 2), ms=1000, thread_ms=1000)
    totals.add(Slice(0, 10, (first, other), ()))
    assert totals.summary()[1].missing_executors == ("c[2-2]",)


def test_nothing_measured_is_no_summary():
    totals = DecayedTotals(HALF_LIFE)
    assert totals.summary() is None
    totals.add(Slice(0, 10, (TaskTotals(1, "c"),), ()))
    assert totals.summary() is None


def placed_at(end, hosts, rate=100.0):
    """Return a slice in which task 1 sends to task 2, and each runs on its host."""
    apart = hosts[0] != hosts[1]
    source = TaskTotals(
        1,
        "c",
        (1, 1),
        ms=10_000,
        sent=10 * rate,
        between_nodes=10 * rate * apart,
        between_workers=10 * rate * apart,
        thread_ms=10_000,
        workers=((hosts[0], 6700),),
    )
    target = TaskTotals(2, "d", (2, 2), ms=10_000, thread_ms=10_000, workers=((hosts[1], 6700),))
    return Slice(end - 10, end, (source, target), (PairTotals(1, 2, 10 * rate, 0, 0),))


@pytest.mark.parametrize(("before", "after"), [("ab", "aa"), ("aa", "ab")])
def test_what_travels_is_of_where_tasks_are_now(before, after):
    """For three minutes after a move 923 tuples/s between nodes were shown, and none travelled."""
    totals = DecayedTotals(HALF_LIFE)
    for number in range(20):
        totals.add(placed_at(1000 + 10 * number, before))
    then = totals.summary()[1].between_nodes_per_s
    assert then == pytest.approx(100.0 if before[0] != before[1] else 0.0)
    totals.add(placed_at(1200, after))
    measured = totals.summary()[1]
    assert measured.between_nodes_per_s == pytest.approx(100.0 - then)
    assert measured.between_workers_per_s == pytest.approx(100.0 - then)
    assert measured.unplaced_per_s == 0.0
