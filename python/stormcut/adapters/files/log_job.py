"""Reads logs in this process: what Spark does for many, without its start."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from stormcut.adapters.files.log_splits import Split, no_cycles, read_split
from stormcut.profile.intervals import AnyStay, Interval, Stay
from stormcut.profile.metric_lines import LineReader, Lines, TaskLog

Result = TypeVar("Result")
#: Topology id and task.
TaskKey = tuple[str, int]
Question = Callable[[TaskKey, TaskLog[AnyStay]], Result]


class ReadingFailed(Exception):
    """A log could not be read to its end, or nobody could read it.

    ``reason`` is what to raise if no log is damaged.
    """

    def __init__(self, reason: BaseException) -> None:
        super().__init__(str(reason))
        self.reason = reason


class LogsRead(Protocol):
    """What logs say of each task of each topology: answers to questions, a pass over all each."""

    def ask_tasks(self, ask: Question[Interval, Result]) -> list[tuple[TaskKey, Result]]:
        """Return an answer for each task that has a line."""
        ...

    def ask_stays(self, ask: Question[Stay, Result]) -> list[tuple[TaskKey, Result]]:
        """Return an answer for each task, to a question of when it was where: a cheaper pass."""
        ...


class LogJob(Protocol):
    """What reads logs."""

    def read(
        self, splits: Sequence[Split], now_s: float, with_reports: bool = False
    ) -> tuple[dict[str, Lines], LogsRead]:
        """Return what the lines are, by topology id, and what they say.

        Parameters
        ----------
        now_s, with_reports : float, bool
            As `LineReader` takes them.

        Raises
        ------
        ReadingFailed
        """
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

    def read(
        self, splits: Sequence[Split], now_s: float, with_reports: bool = False
    ) -> tuple[dict[str, Lines], LocalLogs]:
        """Return what the lines are, by topology id, and what they say."""
        lines: defaultdict[str, Lines] = defaultdict(Lines)
        tasks: defaultdict[TaskKey, TaskLog[Interval]] = defaultdict(TaskLog)
        with no_cycles():
            for done, split in enumerate(splits):
                self._progress(done / len(splits))
                reader = LineReader(split.topology, now_s, with_reports)
                try:
                    for part in read_split(split, reader):
                        for task, log in part.items():
                            tasks[split.topology, task].add(log)
                except (OSError, EOFError, zlib.error) as error:
                    raise ReadingFailed(error) from error
                lines[split.topology].add(reader.lines)
        return dict(lines), LocalLogs(tasks)


class LocalLogs:
    """What logs say of each task, in memory."""

    def __init__(self, tasks: Mapping[TaskKey, TaskLog[Interval]]) -> None:
        self._tasks = tasks

    def ask_tasks(self, ask: Question[Interval, Result]) -> list[tuple[TaskKey, Result]]:
        """Return an answer for each task that has a line."""
        with no_cycles():
            return [(key, ask(key, log)) for key, log in self._tasks.items()]

    ask_stays = ask_tasks
