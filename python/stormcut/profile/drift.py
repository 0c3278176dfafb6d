"""Whether a topology does something else than it did: means with intervals, told apart."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

# scipy.stats would take half of the time in which a command starts.
from stormcut.profile.decay import Slice
from stormcut.profile.totals import MS_PER_S, TaskTotals

#: How many of the last slices are compared with what was: few tell of large changes soon, many of
#: small ones surely.
RECENT = (3, 6, 12)
#: Of the fewest of them, so many lie wholly after a change: the first may mix both loads.
WHOLE = RECENT[0] - 1
#: Most slices of what was.
KEPT = 12
#: Of every interval.
CONFIDENCE = 0.99
#: A change by less of what was is none, however sure it is.
LEAST = 0.1
#: A change of CPU by fewer points (100: a core) is none, however large its share.
MIN_POINTS = 1.0
#: Of a component's tasks so many must have been measured in a slice, or it tells nothing of it.
MIN_MEASURED = 0.5

#: A slice that is further off than any before, so many times, is unlike them.
UNLIKE = 1.5

T = TypeVar("T")

#: Of a component's tasks, by number: of its tuples. Tasks never change while a topology lives.
Shares = npt.NDArray[np.float64]


class Quantity(Enum):
    """What is watched of a component; the value says it in words."""

    RATE = "tuples/s"
    SELECTIVITY = "tuples sent for one executed"
    CPU = "CPU ms a tuple"
    SKEW = "share of tuples at other tasks than usual"


def _plain(value: float) -> str:
    """Return a number with about three digits, and never with an exponent."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    decimals = 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 4
    return f"{value:.{decimals}f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class MeanInterval:
    """A mean of slices, and how far from it the true one may be."""

    mean: float
    half_width: float

    def parts_from(self, other: MeanInterval) -> bool:
        """Return whether the two have no value in common."""
        return abs(self.mean - other.mean) > self.half_width + other.half_width

    def __str__(self) -> str:
        return f"{_plain(self.mean)} (± {_plain(self.half_width)})"


@dataclass(frozen=True)
class Drift:
    """A change that counts: two intervals that part."""

    component: str
    quantity: Quantity
    before: MeanInterval
    now: MeanInterval

    @property
    def size(self) -> float:
        """The change as a share of what was; of shares the difference itself."""
        difference = abs(self.now.mean - self.before.mean)
        if self.quantity is Quantity.SKEW:
            return difference
        return difference / self.before.mean if self.before.mean > 0 else math.inf


def interval(values: Sequence[float]) -> MeanInterval:
    """Return the mean of at least two values with its interval at `CONFIDENCE`, by Student's t."""
    count = len(values)
    variance = _squares(values) / (count - 1)
    return MeanInterval(
        math.fsum(values) / count, _quantile(count - 1) * math.sqrt(variance / count)
    )


def _lately(before: Sequence[float], last: Sequence[float]) -> MeanInterval:
    """Return what the last slices say, with its interval.

    A load that changes within a slice makes it a mixture, far from those that follow. Where all of
    them are unlike what was, on the same side, the first is left out, and the spread is pooled with
    that of before (the two-sample t interval): two whole slices tell of a plain change.
    """
    if len(before) < RECENT[1] or not _are_unlike(before, last):
        return interval(last)
    whole = last[1:]
    freedom = len(before) + len(whole) - 2
    spread = math.sqrt((_squares(before) + _squares(whole)) / freedom)
    mean = math.fsum(whole) / len(whole)
    return MeanInterval(mean, _quantile(freedom) * spread / math.sqrt(len(whole)))


def _are_unlike(before: Sequence[float], last: Sequence[float]) -> bool:
    """Return whether each of the last is further off, on one side, than any before has been."""
    mean = math.fsum(before) / len(before)
    usual = max(LEAST * mean, UNLIKE * max(abs(value - mean) for value in before))
    return min(last) > mean + usual or max(last) < mean - usual


def _squares(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


@lru_cache(maxsize=2 * KEPT)
def _quantile(freedom: int) -> float:
    # Takes a tenth of a second to load: not for help.
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))


class _SliceRun(Generic[T]):
    """What slices said since the last change: the first ones, and the last ones."""

    def __init__(self) -> None:
        self._first: list[T] = []
        self._last: deque[T] = deque(maxlen=KEPT)
        self._count = 0

    def add(self, value: T) -> None:
        if len(self._first) < KEPT:
            self._first.append(value)
        self._last.append(value)
        self._count += 1

    def last(self, count: int) -> list[T]:
        return list(self._last)[-count:]

    def before(self, count: int) -> list[T]:
        """Return the first ones that are not among so many last ones."""
        return self._first[: max(0, self._count - count)]

    def begun_again(self) -> _SliceRun[T]:
        other = _SliceRun[T]()
        for value in self.last(WHOLE):
            other.add(value)
        return other


class DriftWatch:
    """Compares the last slices of a topology with the first ones since the last change.

    A change counts if it is larger than `LEAST` and the intervals part. It is judged by component:
    of one task alone a slice says little. Time of `drift` and memory are linear in tasks.
    """

    def __init__(self) -> None:
        self._values: dict[tuple[str, Quantity], _SliceRun[float]] = {}
        self._shares: dict[str, _SliceRun[Shares]] = {}
        #: Whose shares those of each component are.
        self._tasks: dict[str, tuple[int, ...]] = {}

    def add(self, slice_: Slice) -> None:
        """Take note of a slice."""
        tasks: dict[str, list[TaskTotals]] = defaultdict(list)
        for task in slice_.tasks:
            if task.component is not None:
                tasks[task.component].append(task)
        for component, members in tasks.items():
            measured = [task for task in members if task.ms > 0]
            if measured and len(measured) >= MIN_MEASURED * len(members):
                self._note(component, measured, len(members))

    def _note(self, component: str, measured: Sequence[TaskTotals], size: int) -> None:
        handled = sum(task.per_second(task.handled) for task in measured)
        # Of a task that is late nothing is known: not that it did nothing.
        self._keep(component, Quantity.RATE, handled * size / len(measured))
        if handled <= 0:
            return
        sent = sum(task.per_second(task.sent) for task in measured)
        self._keep(component, Quantity.SELECTIVITY, sent / handled)
        cpu_ms = sum(task.cpu_percent for task in measured) / 100 * MS_PER_S
        self._keep(component, Quantity.CPU, cpu_ms / handled)
        if len(measured) == size:
            self._note_shares(component, measured, handled)

    def _note_shares(self, component: str, measured: Sequence[TaskTotals], handled: float) -> None:
        rates = {task.task: task.per_second(task.handled) for task in measured}
        tasks = tuple(sorted(rates))
        # Where a task speaks for the first time, shares without it cannot be compared.
        if self._tasks.get(component) != tasks:
            self._tasks[component], self._shares[component] = tasks, _SliceRun()
        self._shares[component].add(np.array([rates[task] for task in tasks]) / handled)

    def _keep(self, component: str, quantity: Quantity, value: float) -> None:
        self._values.setdefault((component, quantity), _SliceRun()).add(value)

    def drift(self) -> Drift | None:
        """Return the largest change since `begin_again`, None if none counts."""
        changes = (c for c in self._changes() if c.size > LEAST and c.now.parts_from(c.before))
        return max(changes, key=lambda change: change.size, default=None)

    def is_in_doubt(self) -> bool:
        """Return whether the last slice is unlike what was: what follows decides if that lasts.

        It is unlike if a component's rate, or where its tuples go, differs by more than `LEAST` and
        by more than any slice before has.
        """
        for (_, quantity), run in self._values.items():
            before = run.before(1)[-KEPT:]
            is_known = quantity is Quantity.RATE and len(before) >= RECENT[0]
            if is_known and _are_unlike(before, run.last(1)):
                return True
        for shares in self._shares.values():
            usual = shares.before(1)
            if len(usual) >= RECENT[0]:
                chance, (off,) = _distances(usual, shares.last(1))
                if off > max(LEAST, UNLIKE * max(chance)):
                    return True
        return False

    def _changes(self) -> Iterator[Drift]:
        for count in RECENT:
            for (component, quantity), run in self._values.items():
                before = run.before(count)
                if len(before) >= RECENT[0]:
                    now = _lately(before, run.last(count))
                    change = Drift(component, quantity, interval(before), now)
                    if quantity is not Quantity.CPU or self._points(change) >= MIN_POINTS:
                        yield change
            for component, shares in self._shares.items():
                usual = shares.before(count)
                if len(usual) >= RECENT[0]:
                    chance, off = _distances(usual, shares.last(count))
                    yield Drift(component, Quantity.SKEW, interval(chance), _lately(chance, off))

    def _points(self, change: Drift) -> float:
        """Return by how many points of CPU a change of CPU a tuple differs, at the present rate."""
        (rate,) = self._values[change.component, Quantity.RATE].last(1)
        return abs(change.now.mean - change.before.mean) * rate * 100 / MS_PER_S

    def begin_again(self) -> None:
        """Compare from now on with what the last `WHOLE` slices say, and those that follow."""
        self._values = {key: run.begun_again() for key, run in self._values.items()}
        self._shares = {key: run.begun_again() for key, run in self._shares.items()}


def _distances(usual: Sequence[Shares], now: Sequence[Shares]) -> tuple[list[float], list[float]]:
    """Return which share of the tuples is elsewhere than usual: by chance, and now.

    By chance: in each of the usual slices, measured by the mean of the others.
    """
    total, count = np.sum(usual, axis=0), len(usual)
    chance = [_elsewhere(each, (total - each) / (count - 1)) for each in usual]
    return chance, [_elsewhere(each, total / count) for each in now]


def _elsewhere(shares: Shares, usual: Shares) -> float:
    return float(np.abs(shares - usual).sum() / 2)
