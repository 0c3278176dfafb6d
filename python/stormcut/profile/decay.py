"""Sums over measured intervals in which what is older counts less: a window without a re-scan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from stormcut.model.profile import Profile
from stormcut.profile.measured import Measured, measure
from stormcut.profile.totals import PairTotals, ProfileSpan, TaskTotals, profile_of, window_of

#: After so many half-lives without an interval a task's load is not known any more, and after so
#: many without a tuple a pair of tasks does not talk.
FORGOTTEN = 8.0


@dataclass(frozen=True)
class Slice:
    """What the intervals of a topology say that became known at one time.

    ``from_epoch_s`` and ``to_epoch_s`` span the intervals that count.
    """

    from_epoch_s: float
    to_epoch_s: int
    tasks: tuple[TaskTotals, ...]
    pairs: tuple[PairTotals, ...]

    @property
    def measured_tasks(self) -> int:
        """Of how many tasks an interval counts."""
        return sum(task.ms > 0 for task in self.tasks)


class DecayedTotals:
    """One topology's sums; each slice counts half as much after every half-life.

    A rate is a quotient of two sums of the same task, so that to decay bends no rate, and a task
    of which nothing is heard keeps its last one until it is forgotten: silence is not zero.
    Time and memory of `add` are linear in tasks and pairs that are known.

    Parameters
    ----------
    half_life_s : float
        Seconds.
    """

    def __init__(self, half_life_s: float) -> None:
        self._half_life = half_life_s
        self._tasks: dict[int, TaskTotals] = {}
        self._heard: dict[int, int] = {}
        self._pairs: dict[tuple[int, int], PairTotals] = {}
        self._from: float | None = None
        self._to: int | None = None
        #: Where each task was measured last, by host and port.
        self._places: dict[int, tuple[str, int]] = {}
        self._has_moved = False

    def add(self, slice_: Slice) -> None:
        """Add a slice; all before it counts less by the time between."""
        passed = 0.0 if self._to is None else max(slice_.to_epoch_s - self._to, 0)
        self._decay(0.5 ** (passed / self._half_life))
        self._to = max(slice_.to_epoch_s, self._to or 0)
        self._from = slice_.from_epoch_s if self._from is None else self._from
        self._note_places(slice_)
        for task in slice_.tasks:
            known = self._tasks.get(task.task)
            self._tasks[task.task] = task if known is None else known.plus(task)
            if task.ms > 0 or task.task not in self._heard:
                self._heard[task.task] = self._to
        for pair in slice_.pairs:
            key = (pair.source_task, pair.target_task)
            self._pairs[key] = self._pairs[key].plus(pair) if key in self._pairs else pair
        self._forget()

    def _note_places(self, slice_: Slice) -> None:
        for task in slice_.tasks:
            if task.ms > 0 and task.workers:
                place = task.workers[-1]
                self._has_moved |= self._places.get(task.task, place) != place
                self._places[task.task] = place

    def _decay(self, factor: float) -> None:
        if factor < 1:
            self._tasks = {name: task.scaled(factor) for name, task in self._tasks.items()}
            self._pairs = {key: pair.scaled(factor) for key, pair in self._pairs.items()}

    def _forget(self) -> None:
        assert self._to is not None
        oldest = self._to - FORGOTTEN * self._half_life
        gone = {name for name, heard in self._heard.items() if heard < oldest}
        for name in gone:
            del self._tasks[name], self._heard[name]
            self._places.pop(name, None)
        least = 0.5**FORGOTTEN
        self._pairs = {
            key: pair
            for key, pair in self._pairs.items()
            if pair.tuples >= least and pair.source_task not in gone
        }

    @property
    def tasks(self) -> Sequence[TaskTotals]:
        """The sums of all tasks that are known."""
        return tuple(self._tasks.values())

    def summary(self) -> tuple[Profile, Measured] | None:
        """Return what a topology does, as `profile_of` and `measure`; None if nothing counts.

        The profile is named by the caller.
        """
        if self._to is None or self._from is None or not any(t.ms > 0 for t in self.tasks):
            return None
        profile, missing = profile_of("", self._window(), self.tasks, self._pairs.values())
        return profile, measure(profile, missing, self._where_they_are())

    def _where_they_are(self) -> Sequence[TaskTotals]:
        """Return the tasks with what travels from where they are now to where others are now.

        What was counted before a move would for minutes be taken for what travels since.
        """
        if not self._has_moved:
            return self.tasks
        sent: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
        for (source, target), pair in self._pairs.items():
            here, there = self._places.get(source), self._places.get(target)
            nodes, workers, unplaced = sent[source]
            if here is None or there is None:
                unplaced += pair.tuples
            else:
                nodes += pair.tuples * (here[0] != there[0])
                workers += pair.tuples * (here != there)
            sent[source] = [nodes, workers, unplaced]
        return tuple(
            replace(
                task,
                between_nodes=sent[task.task][0],
                between_workers=sent[task.task][1],
                unplaced=sent[task.task][2],
            )
            for task in self.tasks
        )

    def _window(self) -> ProfileSpan:
        """Return the span of what still counts for something."""
        assert self._to is not None and self._from is not None
        return window_of(max(self._from, self._to - FORGOTTEN * self._half_life), self._to)


def merged(slices: Iterable[Slice]) -> Slice:
    """Return slices as one, none decayed: what a topology did from the first to the last."""
    totals = DecayedTotals(float("inf"))
    chosen = list(slices)
    for each in chosen:
        totals.add(each)
    return Slice(
        min(each.from_epoch_s for each in chosen),
        max(each.to_epoch_s for each in chosen),
        tuple(totals.tasks),
        tuple(totals._pairs.values()),
    )
