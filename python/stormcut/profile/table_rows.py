"""Rows of the tables of a profile (docs/profile-tables.md), of one task at a time."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from operator import add
from typing import NamedTuple

from stormcut.profile.intervals import ROUNDING_S, Interval, Place, Run, Window, find_place
from stormcut.profile.summing import Places, sum_by_target, sum_sent

#: Storm gives a worker this long to start (``nimbus.task.launch.secs``).
LAUNCH_S = 120

Starts = Mapping[tuple[str, int], Iterable[float]]
NOWHERE = Place(0.0, None, None, None)  # type: ignore[arg-type]


class Counted(NamedTuple):
    """An interval in the order of its task's, and whether it counts.

    ``worker_start_s`` is the JVM's own start as SystemBolt reports it, found as the last one before
    the run within the time that Storm gives a worker to start; without one, the run's.
    """

    topology: str
    task: int
    worker_start_s: float
    interval: Interval
    in_window: bool


def mark_intervals(
    topology: str,
    task: int,
    runs: Iterable[Run[Interval]],
    window: Window,
    moved_s: float | None,
    starts: Starts,
) -> Iterator[Counted]:
    """Yield the intervals of a task."""
    for run in runs:
        known = starts.get((run.host, run.port), ())
        earliest, latest = run.since_s - LAUNCH_S, run.since_s + ROUNDING_S
        start_s = max((s for s in known if earliest <= s <= latest), default=run.since_s)
        for each in run.intervals:
            yield Counted(topology, task, start_s, each, window.counts(each, run, moved_s))


def make_load_row(each: Counted) -> tuple[object, ...]:
    """Return an interval's row of the table ``load``."""
    i = each.interval
    thread = None if i.cpu_ms is None else 100 * i.cpu_ms / i.ms
    has_child = i.child is not None and i.child.cpu_ms is not None
    child = 100 * i.child.cpu_ms / i.ms if has_child else None  # type: ignore[union-attr,operator]
    known = [points for points in (thread, child) if points is not None]
    return (
        each.topology,
        each.worker_start_s,
        i.begin_s,
        i.end_s,
        i.component,
        each.task,
        *i.executor,
        i.host,
        i.port,
        thread,
        child,
        math.fsum(known) if known else None,
        None if i.child is None else i.child.rss_bytes,
        i.ms / 1000,
        each.in_window,
    )


def make_traffic_rows(each: Counted, places: Places) -> Iterator[tuple[object, ...]]:
    """Yield an interval's rows of the table ``traffic``, one a target."""
    i = each.interval
    for target, counts in sum_by_target([i]).items():
        place = find_place(places.get(target, ()), i.end_s) or NOWHERE
        yield (
            each.topology,
            each.worker_start_s,
            i.begin_s,
            i.end_s,
            each.task,
            i.component,
            i.host,
            i.port,
            target,
            place.component,
            place.host,
            place.port,
            *counts,
            i.ms / 1000,
            each.in_window,
        )


class FlowSums(NamedTuple):
    """Sums over some tasks and a stretch of time."""

    tasks: int = 0
    task_ms: float = 0.0
    emitted: int = 0
    acked: int = 0
    failed: int = 0
    between_nodes: int = 0
    between_workers: int = 0
    unplaced: int = 0
    complete_ms: float = 0.0
    completed: int = 0

    def plus(self, other: FlowSums) -> FlowSums:
        """Return the sums of both."""
        return FlowSums(*map(add, self, other))


def sum_flows(
    intervals: Iterable[Interval], places: Places, interval_s: int
) -> dict[int, FlowSums]:
    """Return what a task did in each stretch of ``interval_s`` seconds, by the stretch's begin."""
    stretches: dict[int, list[Interval]] = defaultdict(list)
    for each in intervals:
        stretches[each.end_s // interval_s * interval_s].append(each)
    return {begin_s: _flow(inside, places) for begin_s, inside in stretches.items()}


def _flow(intervals: list[Interval], places: Places) -> FlowSums:
    _, sent = sum_sent(intervals, places)
    return FlowSums(
        tasks=1,
        task_ms=sum(i.ms for i in intervals),
        emitted=sent["sent"],
        acked=sum(i.acked for i in intervals),
        failed=sum(i.failed for i in intervals),
        between_nodes=sent["between_nodes"],
        between_workers=sent["between_workers"],
        unplaced=sent["unplaced"],
        complete_ms=sum(i.complete_ms for i in intervals),
        completed=sum(i.completed for i in intervals),
    )


def make_throughput_row(
    topology: str, begin_s: int, interval_s: int, flow: FlowSums
) -> tuple[object, ...]:
    """Return a stretch's row of the table ``throughput``."""
    *counts, complete_ms, completed = flow
    latency_ms = complete_ms / completed if completed else None
    return (topology, begin_s, interval_s, *counts, latency_ms)
