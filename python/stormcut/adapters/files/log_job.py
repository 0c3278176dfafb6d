"""Reads logs in this process: what Spark does for many, without its start."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from stormcut.adapters.files.log_splits import Split, read_split
from stormcut.profile.metric_lines import Lines, TaskLog

Result = TypeVar("Result")
#: Topology id and task.
TaskKey = tuple[str, int]


class ReadingFailed(Exception):
    """A log could not be read to its end, or nobody could read it.

    ``reason`` is what to raise if no log is damaged.
    """

    def __init__(self, reason: BaseException) -> None:
        super().__init__(str(reason))
        self.reason = reason


class LogJob(Protocol):
    """What reads logs once, and then answers questions about each task of each topology."""

    def read(self, splits: Sequence[Split], now_s: float) -> dict[str, Lines]:
        """Read logs; return what their lines are, by topology id.

        Raises
        ------
        ReadingFailed
        """
        ...

    def of_tasks(self, ask: Callable[[TaskKey, TaskLog], Result]) -> list[tuple[TaskKey, Result]]:
        """Return an answer for each task that a line tells of."""
        ...


class LocalJob:
    """Reads logs in this process, and keeps what they say in memory: for few.

    Parameters
    ----------
    progress : callable
        Takes the share that has been read.
    """

    def __init__(self, progress: Callable[[float], None]) -> None:
        self._progress = progress
        self._tasks: dict[TaskKey, TaskLog] = {}

    def read(self, splits: Sequence[Split], now_s: float) -> dict[str, Lines]:
        """Read logs; return what their lines are, by topology id."""
        lines: defaultdict[str, Lines] = defaultdict(Lines)
        self._tasks.clear()
        for done, split in enumerate(splits):
            self._progress(done / len(splits))
            try:
                reader = read_split(split, now_s)
            except (OSError, EOFError, zlib.error) as error:
                raise ReadingFailed(error) from error
            lines[split.topology].add(reader.lines)
            for task, log in reader.tasks.items():
                self._tasks.setdefault((split.topology, task), TaskLog()).add(log)
        return dict(lines)

    def of_tasks(self, ask: Callable[[TaskKey, TaskLog], Result]) -> list[tuple[TaskKey, Result]]:
        """Return an answer for each task that a line tells of."""
        return [(key, ask(key, log)) for key, log in self._tasks.items()]
