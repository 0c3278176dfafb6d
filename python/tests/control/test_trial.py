from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stormcut.control.review.outcome import Finding, Outcome
from stormcut.control.review.trial import (
    LESS_ACKED,
    MAX_WORK,
    MIN_SLICES,
    SLICES,
    MoveReview,
    Pulse,
    finding,
)
from stormcut.profile.decay import Slice
from stormcut.profile.drift import MeanInterval
from stormcut.profile.totals import TaskTotals


def pulses(random, acked, latency, spread=0.05, count=SLICES):
    draws = random.normal(1, spread, (count, 2))
    return [Pulse(acked * a, None if latency is None else latency * b) for a, b in draws]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("acked", "latency", "outcome"),
    [
        (1.0, 1.0, Outcome.SAME),
        (0.6, 1.7, Outcome.WORSE),
        (0.6, 2.0, Outcome.WORSE),
        # The load has fallen: fewer tuples are in flight.
        (0.6, 0.5, Outcome.SAME),
        (0.6, 1.0, Outcome.SAME),
        # As many are in flight, and take longer.
        (0.8, 1.25, Outcome.WORSE),
        (1.0, 2.0, Outcome.WORSE),
        # More is carried, each takes longer.
        (1.5, 2.0, Outcome.SAME),
        # More are in flight: more are offered.
        (1.5, 1.0, Outcome.SAME),
        # As many are in flight, and come back sooner.
        (1.3, 0.77, Outcome.BETTER),
        (1.5, None, Outcome.BETTER),
        (1.0, 0.5, Outcome.BETTER),
        (0.5, None, Outcome.WORSE),
    ],
)
def test_what_a_move_turned_out_to_be(seed, acked, latency, outcome):
    random = np.random.default_rng(seed)
    before = pulses(random, 1000.0, None if latency is None else 20.0)
    after = pulses(random, 1000.0 * acked, None if latency is None else 20.0 * latency)
    result = finding(before, after, 3.0)
    assert result.outcome is outcome
    assert result.acked_before.mean == pytest.approx(1000.0, rel=0.1)
    assert result.acked_after.mean == pytest.approx(1000.0 * acked, rel=0.1)
    if latency is None:
        assert result.latency_before is result.latency_after is None
    else:
        assert result.latency_before.mean == pytest.approx(20.0, rel=0.1)
        assert result.latency_after.mean == pytest.approx(20.0 * latency, rel=0.1)
    assert result.restart_s == 3.0


@pytest.mark.parametrize("factor", [1 - 0.9 * LESS_ACKED, 1 + 0.9 * LESS_ACKED])
def test_a_little_more_or_less_is_neither_however_sure_it_is(factor):
    random = np.random.default_rng(2)
    before, after = (pulses(random, acked, None, 0.001) for acked in (1000.0, 1000.0 * factor))
    assert finding(before, after).outcome is Outcome.SAME


def test_a_finding_reads_as_a_sentence_with_what_was_sampled():
    def reads(before, after):
        acked, of_both = MeanInterval(100.0, 1.0), (before, after)
        its = (None if each is None else MeanInterval(each, 1.0) for each in of_both)
        return str(Finding(Outcome.SAME, acked, replace(acked, mean=90.0), *its))

    bare = "neither better nor worse for sure: 90 tuples acked a second, were 100"
    assert reads(20.0, 30.0) == f"{bare}; 30.0 ms, were 20.0"
    assert reads(20.0, None) == reads(None, 30.0) == reads(None, None) == bare


def test_what_fails_is_no_load_that_falls():
    random = np.random.default_rng(3)
    before, after = pulses(random, 1000.0, 20.0), pulses(random, 600.0, 20.0)
    assert finding(before, after).outcome is Outcome.SAME
    after = [replace(each, failed_per_s=20.0) for each in after]
    assert finding(before, after).outcome is Outcome.WORSE


def test_what_was_before_another_load_is_not_compared():
    """A topology stalls for 40 s after a shift, moves, and is as fast as before the shift."""
    trial, random = MoveReview(), np.random.default_rng(5)
    found = []
    for number in range(40):
        stalls = 10 <= number < 14
        acked = (20 if stalls else 100) * random.normal(1, 0.03)
        if number == 13:
            trial.begin_again()  # three slices of the stall have been seen
        hosts = "aa" if number < 14 else "bb"
        queued = 2000.0 * (number - 9) if stalls else 50.0
        found.append(trial.add(slice_at(10 * number, acked, hosts, queued)))
    assert [each.outcome for each in found if each is not None] == [Outcome.BETTER]


def test_noise_alone_is_never_worse():
    random = np.random.default_rng(0)
    for _ in range(300):
        sides = [pulses(random, 1000.0, 20.0, spread=0.2) for _ in range(2)]
        assert finding(*sides).outcome is Outcome.SAME


def slice_at(end, acked, hosts, complete_ms=50.0):
    tasks = tuple(
        TaskTotals(
            task,
            "c",
            (task, task),
            ms=1e4,
            acked=10 * acked,
            complete_ms=complete_ms,
            completed=5,
            workers=((host, 6700),),
        )
        for task, host in enumerate(hosts, 1)
        if host
    )
    return Slice(end - 10, end, tasks, ())


def test_a_topology_that_is_first_heard_of_in_part_is_judged_all_the_same():
    part = slice_at(10, 100, "aa")
    tasks = (part.tasks[0], replace(part.tasks[1], ms=0.0))
    trial, random = MoveReview(), np.random.default_rng(1)
    assert trial.add(replace(part, tasks=tasks)) is None
    slices = (
        slice_at(10 * n, random.normal(100, 3), "aa" if n < 12 else "bb") for n in range(2, 40)
    )
    (found,) = filter(None, map(trial.add, slices))
    assert found.outcome is Outcome.SAME


def test_it_is_judged_after_the_workers_have_settled_and_once():
    trial, random = MoveReview(), np.random.default_rng(1)
    found = []
    for number in range(40):
        hosts = "aa" if number < 10 else "ab" if number == 10 else "bb"
        # Hardly anything is acked while workers start: that is not what the new place is worth.
        acked = 5 if 10 <= number < 14 else 100 * random.normal(1, 0.03)
        found.append(trial.add(slice_at(10 * number, acked, hosts)))
    judged = [number for number, each in enumerate(found) if each is not None]
    assert judged == [21]
    assert found[21].outcome is Outcome.SAME


def test_a_spout_that_is_late_did_not_stop():
    trial, random = MoveReview(), np.random.default_rng(1)
    found = []
    for number in range(40):
        host = "a" if number < 10 else "b"
        late = number % 2 == 0 and number != 10
        hosts = (host, None) if late else (host, host)
        found.append(trial.add(slice_at(10 * number, 100 * random.normal(1, 0.03), hosts)))
    assert [each.outcome for each in found if each is not None] == [Outcome.SAME]


@pytest.mark.parametrize(("lost_slices", "hosts"), [(3, "bb"), (2, "ab")])
def test_what_restarts_cost_is_measured(lost_slices, hosts):
    """Of 10 s each, in which the moved ones do nothing and report nothing."""
    trial, random = MoveReview(), np.random.default_rng(2)
    found = []
    share = sum(before != now for before, now in zip("aa", hosts, strict=True)) / 2
    for number in range(40):
        at_work = number < 10 or number >= 10 + lost_slices
        reporting = "aa" if number < 10 else hosts
        if not at_work:
            reporting = tuple("a" if now == "a" else None for now in hosts)
        found.append(trial.add(slice_at(10 * number, 100 * random.normal(1, 0.01), reporting)))
    (finding,) = (each for each in found if each is not None)
    # That share of the work is lost, by as many of all workers.
    workers = len({*hosts})
    restarted = 1.0 if hosts == "bb" else 2 / workers
    assert finding.restart_s == pytest.approx(10 * lost_slices * share / restarted, abs=2.0)


@pytest.mark.parametrize("factor", [0.5, 3.0])
def test_a_load_that_changes_with_the_move_pays_for_no_restart(factor):
    trial, random = MoveReview(), np.random.default_rng(4)
    found = []
    for number in range(40):
        rate = 100 * random.normal(1, 0.01) * (1 if number < 13 else factor)
        hosts = "aa" if number < 10 else (None, None) if number < 13 else "bb"
        found.append(trial.add(slice_at(10 * number, rate, hosts)))
    (finding,) = (each for each in found if each is not None)
    assert finding.restart_s == pytest.approx(30, abs=6 / factor + 6)


def test_what_was_measured_for_too_short_before_a_move_judges_nothing():
    for before in (MIN_SLICES - 1, MIN_SLICES):
        trial = MoveReview()
        found = [
            trial.add(slice_at(10 * number, 100, "aa" if number < before else "bb"))
            for number in range(30)
        ]
        assert len([each for each in found if each is not None]) == (before == MIN_SLICES)


def test_the_price_of_a_restart_is_known_for_a_while_and_where_something_was_acked():
    def price(away, rate):
        trial, found = MoveReview(), []
        for number in range(away + 40):
            hosts = "aa" if number < 10 else ("a", None) if number < 10 + away else "bb"
            found.append(trial.add(slice_at(10 * number, rate, hosts)))
        (finding,) = (each for each in found if each is not None)
        return finding.restart_s

    assert price(3, 100.0) is not None
    assert price(MAX_WORK + 1, 100.0) is None
    assert price(3, 0.0) is None


def test_a_slice_in_which_all_tasks_were_measured_is_the_last_before_a_move():
    """Of one that was not measured at all there is no telling what it did."""
    trial = MoveReview()
    for number in range(12):
        trial.add(slice_at(10 * number, 100, "aa"))
    assert trial._whole_s == 110
    late = slice_at(120, 100, "aa")
    idle = replace(late, tasks=(late.tasks[0], replace(late.tasks[1], ms=0.0)))
    trial.add(idle)
    assert trial._whole_s == 110
    assert trial._work == [(120, 1000)]


def test_workers_that_come_back_where_they_were_have_no_price():
    trial, found = MoveReview(), []
    for number in range(40):
        hosts = "bb" if number == 10 else "aa"
        found.append(trial.add(slice_at(10 * number, 100, hosts)))
    (finding,) = (each for each in found if each is not None)
    assert finding.restart_s is None


def test_a_spout_that_was_not_measured_says_nothing_and_one_that_was_for_a_moment_does():
    trial = MoveReview()
    whole = slice_at(10, 100, "aa")
    trial.add(whole)
    (known,) = trial._pulses
    assert known.acked_per_s == pytest.approx(200.0)
    for ms, rate in ((0.0, 200.0), (0.5, 100.0 + 1e3 / 0.5 * 1000)):
        other = replace(whole.tasks[1], ms=ms)
        trial.add(replace(whole, tasks=(whole.tasks[0], other)))
        assert trial._pulses[-1].acked_per_s == pytest.approx(rate)
