"""Runs of tasks, where tasks were at a time, and which intervals count."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from stormcut.profile.intervals import Interval, Place, Window, find_place, find_places, find_runs
from stormcut.profile.summing import sum_task, trace_task

HERE, THERE = ("node1", 6700), ("node2", 6700)


def interval(end_s, place=HERE, ms=10_000.0, to=None, **parts):
    names = ("executed", "acked", "failed", "complete_ms", "completed", "local")
    values = dict.fromkeys(names, 0)
    return Interval(
        end_s=end_s,
        begin_s=end_s - ms / 1000,
        host=place[0],
        port=place[1],
        component="words",
        executor=(1, 1),
        ms=ms,
        share=1.0,
        to=to or {},
        cpu_ms=None,
        child=None,
        worker=None,
        **({"run_s": None} | values | parts),
    )


def ends(intervals):
    return [[each.end_s for each in run.intervals] for run in find_runs(intervals)]


def test_a_pause_a_move_and_nothing_else_begin_a_run():
    steady = [interval(10), interval(20), interval(32)]
    assert ends(steady) == [[10, 20, 32]]
    assert ends([*steady, interval(45)]) == [[10, 20, 32], [45]]
    assert ends([*steady, interval(42, THERE)]) == [[10, 20, 32], [42]]
    (run, moved) = find_runs([*steady, interval(42, THERE)])
    assert (run.since_s, moved.since_s) == (0.0, 32.0)


def test_an_interval_that_is_there_twice_is_taken_once_in_any_order():
    every = [interval(end_s) for end_s in range(10, 100, 10)] * 2
    for seed in range(20):
        random.Random(seed).shuffle(every)
        assert ends(every) == [list(range(10, 100, 10))]
    # The same end, but no copy: another place, or another length.
    assert ends([interval(10), interval(10, THERE)]) == [[10], [10]]
    assert ends([interval(10), interval(10, ms=9_000.0)]) == [[10, 10]]


def test_what_is_known_of_a_run_from_earlier_is_kept():
    (run,) = find_runs([interval(20), interval(10, run_s=-90.0)])
    assert run.since_s == -90.0


def by_definition(places, end_s):
    """The place that began last before a time."""
    return max((p for p in places if p.since_s < end_s), key=lambda p: p.since_s, default=None)


def test_a_place_at_a_time_is_the_last_one_before():
    places = [Place(s, f"node{s}", 6700, "words") for s in (0, 10, 20, 50)]
    for end_s in (*range(-5, 60), 10.5):
        assert find_place(places, end_s) == by_definition(places, end_s)
    assert find_place([], 10) is None


def test_places_are_stays_whatever_restarts_there_were():
    intervals = [interval(e, p) for e, p in ((10, HERE), (50, HERE), (90, THERE), (130, HERE))]
    places = find_places(find_runs(intervals))
    assert [place[:3] for place in places] == [(0, *HERE), (80, *THERE), (120, *HERE)]
    assert trace_task("a", find_runs(intervals)).moved_s == 120
    assert trace_task("a", find_runs(intervals[:2])).moved_s is None


@pytest.mark.parametrize(
    ("window", "moved_s", "used"),
    [
        (Window(), None, [20, 30, 40, 50, 60]),
        (Window(warm_up_s=20), None, [30, 40, 50, 60]),
        (Window(warm_up_s=0), None, [10, 20, 30, 40, 50, 60]),
        (Window(warm_up_s=9), None, [20, 30, 40, 50, 60]),
        # A first interval tells nothing of what came before it, however short the warm-up.
        (Window(warm_up_s=0.5), None, [20, 30, 40, 50, 60]),
        (Window(30, None, 0), None, [40, 50, 60]),
        (Window(None, 45, 0), None, [10, 20, 30, 40]),
        (Window(29, 51, 0), None, [40, 50]),
        (Window(None, None, 0), 41.0, [50, 60]),
        (Window(None, None, 0), 41.1, [60]),
        (Window(0, None, 0), 41.0, [10, 20, 30, 40, 50, 60]),
    ],
)
def test_which_intervals_count(window, moved_s, used):
    (run,) = find_runs([interval(end_s) for end_s in range(10, 70, 10)])
    assert [i.end_s for i in run.intervals if window.counts(i, run, moved_s)] == used


def test_what_is_from_earlier_counts_nothing():
    (run,) = find_runs([interval(10, run_s=-90.0), interval(20)])
    assert [i.end_s for i in run.intervals if Window().counts(i, run, None)] == [20]


def test_tuples_are_counted_by_where_their_targets_were():
    places = {
        1: find_places(find_runs([interval(10), interval(100)])),
        2: [Place(0, *HERE, "near")],
        3: [Place(0, "node1", 6701, "beside")],
        4: [Place(0, *THERE, "far"), Place(50, *HERE, "far")],
    }
    to = {2: (1, 0, 0), 3: (20, 0, 0), 4: (300, 3, 90), 5: (4000, 0, 0)}
    runs = find_runs([interval(end_s, to=to) for end_s in range(10, 110, 10)])
    sums = sum_task(1, runs, Window(warm_up_s=0), None, places)
    totals = sums.totals
    assert (totals.sent, totals.unplaced) == (43_210, 40_000)
    # Until it has moved, at 50, task 4 is on the other node.
    assert (totals.between_nodes, totals.between_workers) == (1_500, 1_700)
    assert {(p.target_task, p.tuples, p.sampled_bytes) for p in sums.pairs} == {
        (2, 10, 0),
        (3, 200, 0),
        (4, 3_000, 900),
        (5, 40_000, 0),
    }
    assert sums.span_s == (0.0, 100)


def test_runs_hold_every_interval_and_nothing_overlaps_a_pause():
    for seed in range(200):
        chance = random.Random(seed)
        end_s, every = 0, []
        for _ in range(chance.randint(1, 30)):
            end_s += chance.choice((10, 10, 10, 11, 13, 40))
            every.append(interval(end_s, chance.choice((HERE, HERE, HERE, THERE))))
        runs = find_runs(chance.sample(every, len(every)))
        assert [i for run in runs for i in run.intervals] == every
        for run in runs:
            assert {(i.host, i.port) for i in run.intervals} == {(run.host, run.port)}
            assert all(b.begin_s - a.end_s <= 2 for a, b in pairwise(run.intervals))
        for one, other in pairwise(runs):
            apart = other.since_s - one.intervals[-1].end_s > 2
            assert apart or (one.host, one.port) != (other.host, other.port)
