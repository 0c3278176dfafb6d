"""Sums over intervals become rates and loads; what is not there is named, never zero."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormcut.profile.measured import measure
from stormcut.profile.totals import (
    ChildTotals,
    PairTotals,
    ProfileSpan,
    TaskTotals,
    WorkerTotals,
    profile_of,
    window_of,
)

WINDOW = ProfileSpan(1_700_000_000, 1_700_000_060)
counts = st.integers(0, 10**6)


@st.composite
def task_totals(draw: st.DrawFn, task: int) -> TaskTotals:
    """Return a fully measured task that is an executor of its own."""
    split = sorted(draw(st.lists(counts, min_size=3, max_size=3)))
    return TaskTotals(
        task,
        "count",
        executor=(task, task),
        ms=draw(st.floats(1000, 60_000)),
        sent=split[2],
        local=split[2] - split[1],
        between_nodes=split[0],
        between_workers=split[1],
        acked=draw(counts),
        failed=draw(counts),
        thread_ms=1000.0,
        thread_cpu_ms=draw(st.floats(0, 2000)),
        workers=((f"node{draw(st.integers(0, 3))}", 6700),),
    )


@st.composite
def topologies(draw: st.DrawFn) -> list[TaskTotals]:
    return [draw(task_totals(task)) for task in range(1, draw(st.integers(1, 6)) + 1)]


@given(topologies(), st.integers(2, 5))
def test_measuring_longer_at_the_same_rate_changes_no_rate(
    tasks: list[TaskTotals], times: int
) -> None:
    def longer(task: TaskTotals) -> TaskTotals:
        names = ("ms", "sent", "local", "between_nodes", "between_workers", "acked")
        sums = {name: getattr(task, name) * times for name in names}
        cpu = {name: getattr(task, name) * times for name in ("thread_ms", "thread_cpu_ms")}
        return replace(task, **sums, **cpu)

    # Every second task only: a task whose lines are missing is not drawn towards zero.
    uneven = [longer(task) if task.task % 2 else task for task in tasks]
    once = measure(*profile_of("t-1", WINDOW, tasks, []), tasks)
    more = measure(*profile_of("t-1", WINDOW, uneven, []), uneven)
    for name in (
        "emitted_per_s",
        "between_nodes_per_s",
        "between_workers_per_s",
        "acked_per_10_s",
        "between_workers_by_hook_per_s",
        "cpu_percent",
    ):
        assert getattr(more, name) == pytest.approx(getattr(once, name))


@given(topologies())
def test_what_crosses_nodes_crosses_workers_and_both_counters_agree(
    tasks: list[TaskTotals],
) -> None:
    measured = measure(*profile_of("t-1", WINDOW, tasks, []), tasks)
    assert measured.between_nodes_per_s <= measured.between_workers_per_s + 1e-9
    assert measured.between_workers_per_s <= measured.emitted_per_s + 1e-9
    assert measured.between_workers_by_hook_per_s == pytest.approx(measured.between_workers_per_s)
    assert measured.nodes_used <= measured.workers_used <= len(tasks)


@given(topologies(), st.data())
def test_every_executor_is_either_measured_or_missing(
    tasks: list[TaskTotals], data: st.DataObject
) -> None:
    silent = data.draw(st.sets(st.sampled_from([task.task for task in tasks])))
    tasks = [replace(t, ms=0.0, thread_ms=0.0) if t.task in silent else t for t in tasks]
    profile, missing = profile_of("t-1", WINDOW, tasks, [])
    assert missing == tuple(f"count[{task}-{task}]" for task in sorted(silent))
    assert {e.start_task for e in profile.executors} == {t.task for t in tasks} - silent


def measured_task(task: int, executor: tuple[int, int], **values: object) -> TaskTotals:
    """Return a task whose first task's threads took half a core."""
    threads = {"thread_ms": 1000.0, "thread_cpu_ms": 500.0} if task == executor[0] else {}
    return replace(TaskTotals(task, "count", executor, ms=1000.0, **threads), **values)


def test_an_executor_s_load_is_its_threads_and_all_its_subprocesses() -> None:
    child = ChildTotals(ms=1000.0, cpu_ms=200.0, rss_byte_ms=1000.0 * 30 * 2**20)
    tasks = [measured_task(task, (5, 6), child=child) for task in (5, 6)]
    profile, missing = profile_of("t-1", WINDOW, tasks, [])
    assert missing == ()
    (load,) = profile.executors
    assert (load.start_task, load.end_task) == (5, 6)
    assert load.cpu_percent == pytest.approx(90.0)
    assert load.memory_mb == pytest.approx(60.0)
    assert load.busiest_percent == pytest.approx(50.0)
    quiet = [replace(each, child=None) for each in tasks]
    ((in_the_jvm,), _) = (profile_of("t-1", WINDOW, quiet, [])[0].executors, None)
    assert in_the_jvm.busiest_percent is None


@pytest.mark.parametrize(
    "partial",
    [
        [measured_task(5, (5, 6))],
        [measured_task(6, (5, 6))],
        [measured_task(5, (5, 6), thread_ms=0.0), measured_task(6, (5, 6))],
        [measured_task(5, (5, 6), child=ChildTotals(1000.0, 1.0, 1.0)), measured_task(6, (5, 6))],
    ],
    ids=["last task silent", "first task silent", "no thread time", "one subprocess unsampled"],
)
def test_half_a_sample_is_none(partial: list[TaskTotals]) -> None:
    profile, missing = profile_of("t-1", WINDOW, partial, [])
    assert (profile.executors, missing) == ((), ("count[5-6]",))


def test_traffic_is_per_measured_second_of_its_source() -> None:
    tasks = [measured_task(1, (1, 1), ms=4000.0), measured_task(2, (2, 2))]
    pairs = [PairTotals(2, 1, 7, 0, 0), PairTotals(1, 2, 400, 4, 100)]
    profile, _ = profile_of("t-1", WINDOW, tasks, pairs)
    assert [(t.source_task, t.tuples_per_second, t.bytes_per_tuple) for t in profile.traffic] == [
        (1, 100.0, 25.0),
        (2, 7.0, None),
    ]


def test_latency_is_the_hook_s_then_storm_s_then_unknown() -> None:
    spout = measured_task(1, (1, 1), complete_ms=30.0, completed=3)
    profile, missing = profile_of("t-1", WINDOW, [spout], [])
    assert measure(profile, missing, [spout], 99.0).complete_latency_ms == 10.0
    unsampled = replace(spout, completed=0, complete_ms=0.0)
    assert measure(profile, missing, [unsampled], 99.0).complete_latency_ms == 99.0
    assert measure(profile, missing, [unsampled]).complete_latency_ms is None


@given(st.floats(0, 4e9), st.integers(1, 3600))
def test_a_window_holds_its_first_interval(begin: float, length: int) -> None:
    window = window_of(begin, int(begin) + length)
    assert window.from_epoch_s <= begin < window.from_epoch_s + 1
    assert window.seconds == length


def test_carried_is_what_bolts_executed_of_what_was_sent_to_them():
    tasks = [
        TaskTotals(1, "spout", (1, 1), ms=10_000, sent=1000, thread_ms=10_000, thread_cpu_ms=1),
        TaskTotals(2, "bolt", (2, 2), ms=10_000, executed=600, thread_ms=10_000, thread_cpu_ms=1),
    ]
    # What is sent to task 3, of which nothing is known, counts neither way.
    pairs = [PairTotals(1, 2, 800, 0, 0), PairTotals(1, 3, 200, 0, 0)]
    assert measure(*profile_of("t-1", WINDOW, tasks, pairs), tasks).carried == pytest.approx(0.75)
    assert measure(*profile_of("t-1", WINDOW, tasks[:1], pairs), tasks[:1]).carried is None


def test_a_worker_s_cpu_is_its_process_and_its_subprocesses() -> None:
    told = WorkerTotals("h", 6700, "m", 2000.0, 500.0, 4000.0, 3000.0, 1e6, 2e6)
    child = ChildTotals(ms=1000.0, cpu_ms=200.0, rss_byte_ms=1.0)
    place = (("h", 6700),)
    first = measured_task(5, (5, 5), child=child, worker=told, workers=place)
    tasks = [first, measured_task(6, (6, 6), child=child, workers=place)]
    (worker,) = profile_of("t-1", WINDOW, tasks, [])[0].workers
    assert (worker.host, worker.port, worker.machine) == ("h", 6700, "m")
    assert worker.cpu_percent == pytest.approx(25.0 + 2 * 20.0)
    assert (worker.cores, worker.machine_percent) == (2.0, 150.0)
    assert (worker.in_mbit, worker.out_mbit) == (4.0, 8.0)


def test_sums_of_another_worker_are_not_added() -> None:
    here = WorkerTotals("h", 6700, "", 1000.0, 500.0, 4000.0, 3000.0, 1.0, 2.0)
    there = replace(here, host="g", cpu_ms=100.0)
    assert here.plus(there) == there
    assert here.plus(here) == here.scaled(2.0)
