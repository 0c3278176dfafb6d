"""From the intervals of tasks to sums over a window."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import add, attrgetter

from stormcut.profile.intervals import (
    AnyStay,
    Interval,
    Place,
    Run,
    Window,
    find_place,
    find_places,
)
from stormcut.profile.metric_lines import scale
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


def trace_task(component: str | None, runs: Sequence[Run[AnyStay]]) -> TaskHistory:
    """Return the history of a task of a component, as Storm's own metrics name it."""
    places = find_places(runs)
    every = [interval for run in runs for interval in run.intervals]
    span = (min(i.begin_s for i in every), max(i.end_s for i in every)) if every else None
    moved_s = places[-1].since_s if len(places) > 1 else None
    return TaskHistory(component, len(every), places, moved_s, span)


@dataclass(frozen=True)
class TaskSums:
    """What a task did in a window: sums, those of its pairs, and the span of what counts."""

    totals: TaskTotals
    pairs: list[PairTotals]
    span_s: tuple[float, int] | None


def sum_task(
    task: int, runs: Sequence[Run[Interval]], window: Window, moved_s: float | None, places: Places
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
    sent, crossed = sum_sent(used, places)
    pairs = [PairTotals(task, target, *pair) for target, pair in sent.items() if pair[0]]
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


def sum_sent(
    intervals: Sequence[Interval], places: Places
) -> tuple[dict[int, list[int]], dict[str, int]]:
    """Return what a task sent each target, and the tuples that left its node and its worker.

    Parameters
    ----------
    intervals : sequence of Interval
        Of one task, in order.

    Returns
    -------
    dict
        Tuples, sampled tuples and their bytes, by target.
    dict
        Tuples by names of `TaskTotals`.
    """
    sent: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    nodes = workers = unplaced = 0
    for (host, port), stay in groupby(intervals, key=attrgetter("host", "port")):
        for stretch in _steady(list(stay), places):
            for target, sums in sum_by_target(stretch).items():
                sent[target] = list(map(add, sent[target], sums))
                place = find_place(places.get(target, ()), stretch[0].end_s)
                if place is None:
                    unplaced += sums[0]
                elif place.host != host:
                    nodes += sums[0]
                elif place.port != port:
                    workers += sums[0]
    crossed = {
        "sent": sum(tuples for tuples, _, _ in sent.values()),
        "between_nodes": nodes,
        "between_workers": nodes + workers,
        "unplaced": unplaced,
    }
    return sent, crossed


def _steady(intervals: Sequence[Interval], places: Places) -> Iterator[Sequence[Interval]]:
    """Yield intervals, in order, together for as long as no target moves."""
    targets = set().union(*(each.to for each in intervals))
    changes = sorted({p.since_s for target in targets for p in places.get(target, ())})
    begin = 0
    for since_s in changes:
        end = bisect_right(intervals, since_s, begin, key=lambda each: each.end_s)
        if end > begin:
            yield intervals[begin:end]
            begin = end
    if begin < len(intervals):
        yield intervals[begin:]


def sum_by_target(intervals: Sequence[Interval]) -> dict[int, list[int]]:
    """Return tuples, sampled tuples and their bytes by target task."""
    sums: dict[int, list[int]] = {}
    for each in intervals:
        share = each.share
        for target, (tuples, sampled, size) in each.to.items():
            its = sums.get(target)
            if its is None:
                sums[target] = [scale(tuples, share), sampled, size]
            else:
                its[0] += tuples if share == 1 else scale(tuples, share)
                its[1] += sampled
                its[2] += size
    return sums


def _child(intervals: Sequence[Interval]) -> ChildTotals | None:
    sampled = [(i.ms, i.child) for i in intervals if i.child is not None]
    if not sampled:
        return None
    return ChildTotals(
        sum(ms for ms, _ in sampled),
        sum(child.cpu_ms or 0.0 for _, child in sampled),
        sum((child.rss_bytes or 0) * ms for ms, child in sampled),
    )


def _worker(run: Run[Interval], intervals: Sequence[Interval]) -> WorkerTotals | None:
    """Return what a task reported of its worker where it ran last, None if it reported nothing."""
    reported = [(i.ms, i.worker) for i in intervals if i.worker is not None]
    if not reported:
        return None
    return WorkerTotals(
        run.host,
        run.port,
        reported[-1][1].machine,
        sum(ms for ms, _ in reported),
        sum(worker.cpu_ms for _, worker in reported),
        sum(worker.cores * ms for ms, worker in reported),
        sum(worker.machine_cpu_ms for _, worker in reported),
        sum(worker.in_bytes for _, worker in reported),
        sum(worker.out_bytes for _, worker in reported),
    )
