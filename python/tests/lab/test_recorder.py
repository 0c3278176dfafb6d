"""A timeline from what sources report: nothing is lost when a worker starts again."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest

from stormcut.lab.experiment.bench.windows import Sample
from stormcut.lab.experiment.recorder import STEP_S, Sampler
from stormcut.lab.experiment.timeline import Kind

RATE = 100.0
LENGTH_S = 60.0
#: When the worker is away, and another process goes on in its place.
AWAY = (30.0, 36.0)
BUCKET = 50


def sample(at: float, count: float) -> Sample:
    return Sample(at, int(count), int(count), 0, {BUCKET: int(count)})


def recorded() -> Sampler:
    """Return a run of a source that was started again in its middle, as it looks afterwards."""
    began = time.time() - LENGTH_S - 10
    reports: dict[str, Sample] = {}

    def newest() -> Mapping[str, Sample]:
        return reports

    recorder = Sampler(newest, lambda at: RATE, began)
    for step in range(int(LENGTH_S)):
        if step <= AWAY[0]:
            reports["source-1-10"] = sample(began + step, RATE * step)
        elif step >= AWAY[1]:
            reports["source-1-20"] = sample(began + step, RATE * (step - AWAY[1]))
        recorder.look()
    return recorder


def test_rates_are_those_of_all_processes_and_none_while_there_is_none() -> None:
    series = recorded().series("linear")
    steps = {point.at_s: point for point in series.points if point.at_s < LENGTH_S - 1}
    assert min(steps) == STEP_S
    for at, point in steps.items():
        assert point.offered_per_s == RATE
        if AWAY[0] + STEP_S <= at <= AWAY[1]:
            assert point.acked_per_s == 0
            assert point.mean_ms is point.p99_ms is None
        else:
            assert point.acked_per_s == pytest.approx(RATE, rel=0.05)
            assert point.mean_ms is not None and point.p99_ms is not None
            assert point.mean_ms <= point.p99_ms == pytest.approx(1.05**BUCKET)


def test_events_are_told_once_in_the_order_of_time() -> None:
    recorder = recorded()
    for _ in range(2):
        recorder.tell(recorder.began + 20, Kind.MOVE, "moved")
        recorder.tell(recorder.began + 10, Kind.DRIFT, "changed")
    assert [(event.at_s, event.kind) for event in recorder.series("linear").events] == [
        (10, Kind.DRIFT),
        (20, Kind.MOVE),
    ]


def test_a_task_acks_since_a_moment_only_in_a_process_that_began_after_it() -> None:
    recorder = recorded()
    assert recorder.acking_tasks(recorder.began - 1) == {1}
    assert recorder.acking_tasks(recorder.began + AWAY[0]) == {1}
    assert recorder.acking_tasks(recorder.began + AWAY[1] + 1) == set()
