"""Intervals of the hook, the runs of tasks that they make up, and which of them count."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct

#: Epoch seconds are whole in Storm's metrics, so that two of them can be a second apart in truth.
ROUNDING_S = 1.0
#: A longer pause between two intervals of a task means that it was started again.
PAUSE_S = 2 * ROUNDING_S


class Child(Struct, array_like=True, gc=False):
    """What a task's subprocess used in an interval, None where it was not sampled."""

    cpu_ms: float | None
    rss_bytes: int | None


class WorkerUsage(Struct, array_like=True, gc=False):
    """What a task's worker used in an interval, and all processes and links of its machine."""

    cpu_ms: float
    cores: float
    machine_cpu_ms: float
    in_bytes: float
    out_bytes: float
    machine: str


class Stay(Struct, array_like=True, gc=False):
    """When and where a task was in an interval: what others need of it.

    Parameters
    ----------
    end_s, begin_s : int, float
        Seconds since the epoch; Storm writes the end in whole ones.
    ms : float
        Length.
    run_s : float or None
        Since when the task had been running, if that is known from earlier: then it does not count.
    """

    end_s: int
    begin_s: float
    host: str
    port: int
    component: str
    ms: float
    run_s: float | None

    def repeats(self, other: Stay) -> bool:
        """Return whether another line said the same: two consumers, or a copy of a log."""
        return (
            self.end_s == other.end_s
            and self.ms == other.ms
            and self.host == other.host
            and self.port == other.port
        )


class Interval(Stay, array_like=True, gc=False):
    """What one line of the hook says of a task, in ms unless named otherwise.

    As an array it begins with its `Stay`, which can be read without the rest.

    Parameters
    ----------
    executor : (int, int)
        Its first and last task.
    share : float
        Part of the interval for which it was measured: a count in ``to`` is of that part.
    to : dict
        Tuples sent by target task, and of those the sampled ones, with their bytes.
    """

    executor: tuple[int, int]
    share: float
    to: dict[int, tuple[int, int, int]]
    local: int
    executed: int
    acked: int
    failed: int
    complete_ms: float
    completed: int
    cpu_ms: float | None
    child: Child | None
    worker: WorkerUsage | None


AnyStay = TypeVar("AnyStay", bound=Stay)


@dataclass(frozen=True)
class Run(Generic[AnyStay]):
    """Intervals of a task, in order, without a pause or a move between them, none twice."""

    since_s: float
    host: str
    port: int
    intervals: list[AnyStay]


class Place(NamedTuple):
    """Where a task was from a time on."""

    since_s: float
    host: str
    port: int
    component: str


def find_runs(intervals: Iterable[AnyStay]) -> list[Run[AnyStay]]:
    """Return the runs of one task, in order; n log n for n intervals.

    A worker that restarts, or a task that moves, loses its unreported counts, and the next
    interval does not begin where the one before ended.
    """
    runs: list[Run[AnyStay]] = []
    before: AnyStay | None = None
    for each in sorted(intervals, key=_order):
        if before is not None and each.repeats(before):
            continue
        if (
            before is None
            or each.begin_s - before.end_s > PAUSE_S
            or (each.host, each.port) != (before.host, before.port)
        ):
            since_s = each.begin_s if each.run_s is None else each.run_s
            runs.append(Run(since_s, each.host, each.port, []))
        runs[-1].intervals.append(each)
        before = each
    return runs


def _order(interval: Stay) -> tuple[int, float, str, int, bool]:
    """Return a key: of two that are alike, the one that is known from earlier comes first."""
    begin = (interval.end_s, interval.begin_s, interval.host, interval.port)
    return (*begin, interval.run_s is None)


def find_places(runs: Sequence[Run[AnyStay]]) -> list[Place]:
    """Return where a task was, one entry for each stay."""
    places: list[Place] = []
    for run in runs:
        if not places or (run.host, run.port) != places[-1][1:3]:
            places.append(Place(run.since_s, run.host, run.port, run.intervals[-1].component))
    return places


def find_place(places: Sequence[Place], end_s: float) -> Place | None:
    """Return where a task was, or last had been, at a time; None if no earlier line says it."""
    if not places:
        return None
    if places[-1].since_s < end_s:
        return places[-1]
    before = bisect_left(places, end_s, key=lambda place: place.since_s)
    return places[before - 1] if before else None


@dataclass(frozen=True)
class Window:
    """Which intervals count.

    Parameters
    ----------
    from_s, to_s : float or None
        Only intervals wholly between these epoch seconds. Without ``from_s``, those since the
        topology moved last: two placements are no profile.
    warm_up_s : float
        Not those that begin in a run's first seconds, nor, unless it is 0, its first one.
    """

    from_s: float | None = None
    to_s: float | None = None
    warm_up_s: float = 10.0

    def counts(self, interval: Stay, run: Run[AnyStay], moved_s: float | None) -> bool:
        """Return whether an interval of a run counts, where the topology moved at ``moved_s``."""
        begin_s, age_s = interval.begin_s, interval.begin_s - run.since_s
        if self.warm_up_s > 0 and not (age_s >= self.warm_up_s - ROUNDING_S and age_s > 0):
            return False
        from_s = self.from_s
        if from_s is None and moved_s is not None:
            from_s = moved_s - ROUNDING_S
        return (
            interval.run_s is None
            and (from_s is None or begin_s >= from_s)
            and (self.to_s is None or interval.end_s <= self.to_s)
        )

    def holds(self, epoch_s: float) -> bool:
        """Return whether a moment is in it."""
        return (self.from_s is None or epoch_s >= self.from_s) and (
            self.to_s is None or epoch_s <= self.to_s
        )
