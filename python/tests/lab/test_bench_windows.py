"""Figures of a window and whether they hold, on series whose truth is known."""

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormcut.lab.experiment.bench.windows import (
    Sample,
    acked_per_s,
    crowded,
    measure,
    rates,
)
from stormcut.lab.experiment.latency import percentile

BEGIN, END = 1000.0, 1010.0


def series(
    rate: Callable[[float], float], tasks: int = 4, noise: float = 0.0, seed: int = 1
) -> dict[str, list[Sample]]:
    """Tasks that report every 2 s, each at its own moments; `rate` is of one task, by seconds."""
    rng = random.Random(seed)
    found = {}
    for task in range(tasks):
        times = [BEGIN - 10 + 2 * task / tasks + 2 * report for report in range(14)]
        steps = [2 * rate(at + 1 - BEGIN) * rng.gauss(1, noise) for at in times]
        counts = [0, *accumulate(max(0, round(step)) for step in steps[:-1])]
        found[f"source-{task}"] = [
            Sample(at, count + 10, count, 0, {50: count})
            for at, count in zip(times, counts, strict=True)
        ]
    return found


def test_a_steady_series_gives_its_rate() -> None:
    window = measure(series(lambda at: 100), BEGIN, END)
    assert window.tuples_per_10s == pytest.approx(4000)
    assert window.unsteady == ""
    assert window.p50_ms == window.p99_ms == pytest.approx(1.05**50)
    assert window.mean_ms == pytest.approx((1.05**50 + 1.05**49) / 2)


def test_the_rate_between_two_samples_counts_each_task_by_its_own_moments() -> None:
    steady = series(lambda _: 250.0)
    first, last = ({task: its[n] for task, its in steady.items()} for n in (0, 1))
    assert acked_per_s(first, last) == pytest.approx(4 * 250.0)
    del last["source-0"]
    last["source-1"] = first["source-1"]
    assert acked_per_s(first, last) == pytest.approx(2 * 250.0)


@pytest.mark.parametrize("seed", range(20))
def test_noise_is_steady(seed: int) -> None:
    found = series(lambda at: 100, noise=0.1, seed=seed)
    window = measure(found, BEGIN, END)
    assert window.unsteady == ""
    assert window.tuples_per_10s == pytest.approx(4000, rel=0.1)


def test_few_tuples_are_as_steady_as_chance_lets_them() -> None:
    rng = random.Random(3)
    found = series(lambda at: 1.5 * rng.choice([0.3, 0.7, 1.0, 1.3, 1.7]))
    assert measure(found, BEGIN, END).unsteady == ""


@pytest.mark.parametrize(
    ("rate", "reason"),
    [
        (lambda at: 100 + 8 * at, "the rate rises by 29% from half to half"),
        (lambda at: 200 - 8 * at, "the rate falls by 25% from half to half"),
        (lambda at: 0 if 3 <= at < 8 else 100, "stalled: its slowest 2 s had"),
        (lambda at: 0, "nothing was acknowledged"),
    ],
)
def test_unsteady_windows_say_why(rate: Callable[[float], float], reason: str) -> None:
    assert measure(series(rate), BEGIN, END).unsteady.startswith(reason)


def test_a_restarted_worker_is_told() -> None:
    found = series(lambda at: 100)
    found["source-1"] = [
        replace(sample, sent=sample.sent - 1500, acked=sample.acked - 1500)
        if sample.taken_at > BEGIN + 5
        else sample
        for sample in found["source-1"]
    ]
    window = measure(found, BEGIN, END)
    assert window.unsteady == "a worker was restarted: source-1 counts from 0"
    assert window.tuples_per_10s >= 0


def test_a_restart_before_the_window_is_none_of_its() -> None:
    found = series(lambda at: 100)
    for task, samples in found.items():
        found[task] = [
            replace(sample, sent=sample.sent + 9000) if sample.taken_at < BEGIN - 5 else sample
            for sample in samples
        ]
    assert measure(found, BEGIN, END).unsteady == ""


@pytest.mark.parametrize("kept", [lambda at: at < 1001, lambda at: at > 1009, lambda at: False])
def test_a_source_that_falls_silent_is_told(kept: Callable[[float], bool]) -> None:
    found = series(lambda at: 100)
    found["source-2"] = [sample for sample in found["source-2"] if kept(sample.taken_at)]
    assert measure(found, BEGIN, END).unsteady.startswith("no report of source-2 for")


@pytest.mark.parametrize(
    ("nodes", "others", "reason"),
    [
        (1.2, 0.8, "the machine was full: others used 0.8 cores"),
        (1.2, 0.4, "the machine was full: others used 0.4 cores"),
        (0.6, 0.8, ""),
        (1.7, 0.3, ""),
    ],
    ids=["others took it", "others took some", "cores were idle", "the bench's own"],
)
def test_others_spoil_a_window_only_on_a_full_machine(
    nodes: float, others: float, reason: str
) -> None:
    assert crowded(nodes, others, 2) == reason


def test_replays_and_latencies_are_those_of_the_window() -> None:
    early, late = {10: 500, 100: 7}, {10: 510, 100: 7, 60: 90}
    found = {
        "source-0": [
            Sample(BEGIN, 600, 500, 3, early),
            Sample(BEGIN + 5, 650, 550, 3, {**early, 60: 50}),
            Sample(END, 700, 600, 8, late),
        ]
    }
    window = measure(found, BEGIN, END)
    assert (window.tuples_per_10s, window.replayed) == (100, 5)
    assert window.p50_ms == window.p95_ms == pytest.approx(1.05**60)
    assert percentile({10: 10, 60: 90}, 0.1) == pytest.approx(1.05**10)


def test_a_window_without_tuples_has_no_latency() -> None:
    window = measure(series(lambda at: 0), BEGIN, END)
    assert (window.mean_ms, window.p50_ms, window.p99_ms) == (None, None, None)


@given(
    st.lists(st.tuples(st.floats(0, 9), st.floats(0, 9)), min_size=1, max_size=5),
    st.floats(1, 500),
)
def test_rates_of_a_line_are_its_slope_whenever_tasks_report(
    shifts: list[tuple[float, float]], rate: float
) -> None:
    found = {
        f"source-{task}": [
            Sample(at, count, count, 0, {})  # type: ignore[arg-type]
            for at in (BEGIN - 10 + shift, END + 2 + other)
            for count in [rate * at]
        ]
        for task, (shift, other) in enumerate(shifts)
    }
    assert rates(found, BEGIN, END + 1.5) == pytest.approx([rate * len(shifts)] * 5)


def test_a_report_becomes_a_sample() -> None:
    report = {"sent": 3, "acked": 2, "replayed": 1, "latency": {"7": 2}, "finished": False}
    assert Sample.of(report, 5.0) == Sample(5.0, 3, 2, 1, {7: 2})
