"""From the intervals of tasks to sums over a window."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stormcut.profile.intervals import (
    Interval,
    Place,
    Run,
    Window,
    place_at,
    places_of,
    runs_of,
)
from stormcut.profile.metric_lines import TaskLog, scaled
from stormcut.profile.own_metrics import OwnTotals, own_totals
from stormcut.profile.totals import ChildTotals, PairTotals, TaskTotals, WorkerTotals

Places = Mapping[int, Sequence[Place]]


@dataclass(frozen=True)
class TaskHistory:
    """Where a task was, and what is known of it before it is known what others did.

    Parameters
    ----------
    component : str or None
        As Storm's own metrics name it.
    intervals : int
        None counted twice.
    moved_s : float or None
        When it was first measured at another place than before, the last time that it was.
    span_s : (float, int) or None
        From the first interval's begin to the last one's end, in epoch seconds.
    """

    component: str | None
    intervals: int
    places: list[Place]
    moved_s: float | None
    span_s: tuple[float, int] | None
    own: OwnTotals


def task_history(log: TaskLog, window: Window) -> TaskHistory:
    """Return the history of a task."""
    runs = runs_of(log.intervals)
    places = places_of(runs)
    every = [interval for run in runs for interval in run.intervals]
    span = (min(i.begin_s for i in every), max(i.end_s for i in every)) if every else None
    moved_s = places[-1].since_s if len(places) > 1 else None
    return TaskHistory(log.component, len(every), places, moved_s, span, own_totals(log, window))


@dataclass(frozen=True)
class TaskSums:
    """What a task did in a window: sums, those of its pairs, and the span of what counts."""

    totals: TaskTotals
    pairs: list[PairTotals]
    span_s: tuple[float, int] | None


def task_sums(
    task: int, runs: Sequence[Run], window: Window, moved_s: float | None, places: Places
) -> TaskSums | None:
    """Return the sums of a task, None without any run; linear in what it sent to whom.

    Parameters
    ----------
    moved_s : float or None
        When its topology moved last.
    places : mapping
        Where each task of its topology was.
    """
    if not runs:
        return None
    counted = [
        (run, [each for each in run.intervals if window.counts(each, run, moved_s)]) for run in runs
    ]
    used = [interval for _, intervals in counted for interval in intervals]
    pairs, crossed = _sent(task, used, places)
    latest = runs[-1].intervals[-1]
    totals = TaskTotals(
        task=task,
        component=latest.component,
        executor=latest.executor,
        ms=sum(i.ms for i in used),
        local=sum(i.local for i in used),
        executed=sum(i.executed for i in used),
        **crossed,
        acked=sum(i.acked for i in used),
        failed=sum(i.failed for i in used),
        complete_ms=sum(i.complete_ms for i in used),
        completed=sum(i.completed for i in used),
        thread_ms=sum(i.ms for i in used if i.cpu_ms is not None),
        thread_cpu_ms=sum(i.cpu_ms for i in used if i.cpu_ms is not None),
        child=_child(used),
        worker=_worker(*counted[-1]),
        workers=tuple(sorted({(run.host, run.port) for run, intervals in counted if intervals})),
    )
    span = (min(i.begin_s for i in used), max(i.end_s for i in used)) if used else None
    return TaskSums(totals, pairs, span)


def crossings(interval: Interval, places: Places) -> list[tuple[int, int, str]]:
    """Return target task, tuples and how far they go.

    That is ``nodes``, ``workers``, ``unplaced``, or nothing within a worker.
    """
    end_s, host, port, share = interval.end_s, interval.host, interval.port, interval.share
    found = []
    for target, (count, _, _) in interval.to.items():
        place = place_at(places.get(target, ()), end_s)
        if place is None:
            distance = "unplaced"
        elif place.host != host:
            distance = "nodes"
        else:
            distance = "" if place.port == port else "workers"
        found.append((target, scaled(count, share), distance))
    return found


def crossing_counts(by_distance: Mapping[str, int]) -> dict[str, int]:
    """Return the tuples that are sent, and that leave node and worker, by names of `TaskTotals`."""
    nodes = by_distance.get("nodes", 0)
    return {
        "sent": sum(by_distance.values()),
        "between_nodes": nodes,
        "between_workers": nodes + by_distance.get("workers", 0),
        "unplaced": by_distance.get("unplaced", 0),
    }


def _sent(
    task: int, intervals: Sequence[Interval], places: Places
) -> tuple[list[PairTotals], dict[str, int]]:
    pairs: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    by_distance: Counter[str] = Counter()
    for interval in intervals:
        to = interval.to
        for target, tuples, distance in crossings(interval, places):
            _, sampled, size = to[target]
            pair = pairs[target]
            pair[0] += tuples
            pair[1] += sampled
            pair[2] += size
            by_distance[distance] += tuples
    totals = [PairTotals(task, target, *pair) for target, pair in pairs.items() if pair[0]]
    return totals, crossing_counts(by_distance)


def _child(intervals: Sequence[Interval]) -> ChildTotals | None:
    sampled = [(i.ms, i.child) for i in intervals if i.child is not None]
    if not sampled:
        return None
    return ChildTotals(
        sum(ms for ms, _ in sampled),
        sum(child.cpu_ms or 0.0 for _, child in sampled),
        sum((child.rss_bytes or 0) * ms for ms, child in sampled),
    )


def _worker(run: Run, intervals: Sequence[Interval]) -> WorkerTotals | None:
    """Return what a task told of its worker where it ran last, None if it told nothing."""
    told = [(i.ms, i.worker) for i in intervals if i.worker is not None]
    if not told:
        return None
    return WorkerTotals(
        run.host,
        run.port,
        told[-1][1].machine,
        sum(ms for ms, _ in told),
        sum(worker.cpu_ms for _, worker in told),
        sum(worker.cores * ms for ms, worker in told),
        sum(worker.machine_cpu_ms for _, worker in told),
        sum(worker.in_bytes for _, worker in told),
        sum(worker.out_bytes for _, worker in told),
    )
