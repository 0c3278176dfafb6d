from __future__ import annotations

import numpy as np
import pytest

from stormcut.profile.decay import Slice
from stormcut.profile.drift import DriftWatch, MeanInterval, Quantity, interval
from stormcut.profile.totals import TaskTotals

SECONDS = 10


def slice_of(number, counts, selectivity=1.0, cpu_ms=1.0):
    """Return slice ``number`` in which each task of a bolt executed so many tuples."""
    tasks = tuple(
        TaskTotals(
            task,
            "count",
            (task, task),
            ms=1000.0 * SECONDS,
            executed=count,
            sent=selectivity * count,
            thread_ms=1000.0 * SECONDS,
            thread_cpu_ms=cpu_ms * count,
        )
        for task, count in enumerate(counts, 1)
    )
    return Slice(SECONDS * number, SECONDS * (number + 1), tasks, ())


def noisy(random, mean, spread=0.05, tasks=4):
    return np.maximum(random.normal(mean, spread * mean, tasks), 0.0)


def settled(random, mean=1000.0, slices=12):
    watch = DriftWatch()
    for number in range(slices):
        watch.add(slice_of(number, noisy(random, mean)))
    return watch


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_noisy_but_steady_load_never_drifts(seed):
    random = np.random.default_rng(seed)
    watch = settled(random)
    for number in range(12, 12 + 360):  # an hour
        watch.add(slice_of(number, noisy(random, 1000.0)))
        assert watch.drift() is None


@pytest.mark.parametrize("factor", [0.4, 0.7, 1.5, 3.0])
@pytest.mark.parametrize("seed", range(5))
def test_another_rate_is_seen_within_a_minute(seed, factor):
    random = np.random.default_rng(seed)
    watch = settled(random)
    for number in range(12, 18):
        watch.add(slice_of(number, noisy(random, factor * 1000.0)))
    found = watch.drift()
    assert found is not None
    assert found.quantity is Quantity.RATE
    watch.begin_again()
    for number in range(18, 48):
        assert watch.drift() is None
        watch.add(slice_of(number, noisy(random, factor * 1000.0)))


@pytest.mark.parametrize("share_of_before", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("seed", range(5))
def test_a_plain_change_is_seen_after_two_whole_slices_however_the_first_is_mixed(
    share_of_before, seed
):
    """The slices after the change differ among themselves more than those before: a backlog."""
    random = np.random.default_rng(seed)
    watch = settled(random)
    mixture = share_of_before * 1000.0 + (1 - share_of_before) * 560.0
    watch.add(slice_of(12, noisy(random, mixture)))
    watch.add(slice_of(13, noisy(random, 520.0)))
    assert watch.drift() is None, "one slice after a mixture is no evidence"
    watch.add(slice_of(14, noisy(random, 600.0)))
    found = watch.drift()
    assert found is not None
    assert found.now.mean == pytest.approx(4 * 560.0 / SECONDS, rel=0.1), "the mixture is left out"


def test_two_slices_on_different_sides_are_no_change():
    random = np.random.default_rng(0)
    watch = settled(random)
    for number, rate in enumerate((500.0, 1500.0, 500.0), 12):
        watch.add(slice_of(number, noisy(random, rate)))
    assert watch.drift() is None


@pytest.mark.parametrize(
    ("change", "quantity"),
    [({"selectivity": 2.0}, Quantity.SELECTIVITY), ({"cpu_ms": 3.0}, Quantity.CPU)],
)
def test_what_a_tuple_makes_and_costs_is_seen(change, quantity):
    random = np.random.default_rng(0)
    watch = settled(random)
    for number in range(12, 18):
        watch.add(slice_of(number, noisy(random, 1000.0), **change))
    assert watch.drift().quantity is quantity


def test_other_tasks_with_most_of_the_tuples_are_seen_though_the_rate_stays():
    random = np.random.default_rng(0)
    watch = DriftWatch()
    for number in range(12):
        watch.add(slice_of(number, noisy(random, 1.0) * np.array([700, 100, 100, 100])))
    for number in range(12, 18):
        watch.add(slice_of(number, noisy(random, 1.0) * np.array([100, 100, 100, 700])))
    found = watch.drift()
    assert found.quantity is Quantity.SKEW
    assert found.now.mean == pytest.approx(0.6, abs=0.1)


def test_a_task_that_is_late_is_not_one_that_does_nothing():
    random = np.random.default_rng(1)
    watch = settled(random)
    for number in range(12, 30):
        whole = slice_of(number, noisy(random, 1000.0))
        late = TaskTotals(4, "count", (4, 4))
        watch.add(Slice(whole.from_epoch_s, whole.to_epoch_s, (*whole.tasks[:3], late), ()))
    assert watch.drift() is None


def test_a_task_that_speaks_for_the_first_time_has_no_share_before():
    """A worker that starts later than the others: nothing is known of its tasks until then."""
    random = np.random.default_rng(1)
    watch = DriftWatch()
    for number in range(6):
        watch.add(slice_of(number, noisy(random, 1000.0, tasks=3)))
    for number in range(6, 12):
        watch.add(slice_of(number, noisy(random, 1000.0, tasks=4)))
        watch.is_in_doubt()
        found = watch.drift()
        assert found is None or found.quantity is Quantity.RATE


def test_an_interval_is_students():
    found = interval([9.0, 10.0, 11.0])
    assert found.mean == pytest.approx(10.0)
    assert found.half_width == pytest.approx(9.9248 / np.sqrt(3), rel=1e-4)


@pytest.mark.parametrize(("mean", "drifts"), [(1.0, False), (100.0, True)])
def test_cpu_that_hardly_counts_is_no_drift(mean, drifts):
    """Of 4 tasks twice as much CPU is 0.04 points at a tenth of a tuple a second, 4 at ten."""
    random = np.random.default_rng(3)
    watch = settled(random, mean)
    for number in range(12, 30):
        watch.add(slice_of(number, noisy(random, mean), cpu_ms=2.0))
    assert (watch.drift() is not None) == drifts


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        (MeanInterval(4190.0, 260.4), "4,190 (± 260)"),
        (MeanInterval(0.1592, 0.039), "0.1592 (± 0.039)"),
        (MeanInterval(15.04, 0.00001), "15 (± 0)"),
        (MeanInterval(7.123, 1.0), "7.12 (± 1)"),
    ],
)
def test_an_interval_is_in_plain_numbers(interval: MeanInterval, words: str) -> None:
    assert str(interval) == words
