"""What the tasks of a topology did together, from what the lines say of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from stormcut.profile.decay import Slice
from stormcut.profile.summing import Places, TaskHistory, TaskSums
from stormcut.profile.totals import TaskTotals


@dataclass(frozen=True)
class TopologyHistory:
    """What is known of a topology's tasks before it is known what counts."""

    tasks: Mapping[int, TaskHistory]

    @cached_property
    def places(self) -> Places:
        """Where each task was."""
        return {task: each.places for task, each in self.tasks.items() if each.places}

    @cached_property
    def moved_s(self) -> float | None:
        """When it moved last: when the last of its tasks that did began; None if none did."""
        return max((t.moved_s for t in self.tasks.values() if t.moved_s is not None), default=None)

    @property
    def intervals(self) -> int:
        """How many intervals of tasks there are."""
        return sum(task.intervals for task in self.tasks.values())

    @property
    def spans_s(self) -> list[tuple[float, int]]:
        """From when to when there are intervals of each task."""
        return [task.span_s for task in self.tasks.values() if task.span_s is not None]

    def make_slice(self, sums: Iterable[TaskSums]) -> Slice | None:
        """Return the sums of all tasks, those that are silent, too; None if nothing counts.

        Parameters
        ----------
        sums : iterable of TaskSums
            One of each task of which there is an interval.
        """
        by_task = {each.totals.task: each for each in sums}
        spans = [each.span_s for each in by_task.values() if each.span_s is not None]
        if not spans:
            return None
        return Slice(
            min(begin_s for begin_s, _ in spans),
            max(end_s for _, end_s in spans),
            tuple(
                by_task[task].totals
                if task in by_task
                else TaskTotals(task, self.tasks[task].component)
                for task in sorted(self.tasks)
            ),
            tuple(pair for each in by_task.values() for pair in each.pairs),
        )
