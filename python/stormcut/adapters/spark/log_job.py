"""Reads logs with Spark, a task for each split: what they say is shuffled by topology and task."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from msgspec.msgpack import Decoder, encode
from py4j.protocol import Py4JJavaError
from pyspark import RDD
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from stormcut import __version__
from stormcut.adapters.files.log_job import Question, ReadingFailed, TaskKey
from stormcut.adapters.files.log_splits import Split, no_cycles, read_split
from stormcut.model.errors import InvalidInput
from stormcut.profile.intervals import AnyStay, Interval, Stay
from stormcut.profile.metric_lines import LineReader, Lines, TaskLog

Result = TypeVar("Result")
Value = TypeVar("Value")
#: Topology id and task, None for what its lines are.
_Key = tuple[str, int | None]
_Part = tuple[_Key, Iterable[Any]]

#: Tasks of Spark's for each core: some topologies have much more to say than others.
TASKS_PER_CORE = 4
#: What Spark says where its workers have no such Python, or no stormcut.
_NO_PYTHON = ("No module named", "PYTHON_VERSION_MISMATCH", "Cannot run program")

_decode_intervals = Decoder(TaskLog[Interval]).decode
_decode_stays = Decoder(TaskLog[Stay]).decode


class SparkJob:
    """Reads logs on the workers of a session."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._context = spark.sparkContext

    def read(
        self, splits: Sequence[Split], now_s: float, with_reports: bool = False
    ) -> tuple[dict[str, Lines], SparkLogs]:
        """Return what the lines are, by topology id, and what they say."""
        partitions = min(TASKS_PER_CORE * self._context.defaultParallelism, 4 * len(splits))
        parts = self.spread(splits).flatMap(partial(_read, now_s, with_reports))
        shuffled = parts.groupByKey(partitions, _partition)
        try:
            return dict(shuffled.flatMap(_lines).collect()), SparkLogs(shuffled)
        except (PySparkException, Py4JJavaError) as error:
            raise ReadingFailed(self._reason(error)) from error

    def _reason(self, error: Exception) -> Exception:
        """Return what is wrong with Spark's workers, or the error itself."""
        text = str(error)
        if not any(sign in text for sign in _NO_PYTHON):
            return error
        what = (
            f"its workers cannot run stormcut {__version__}: install it there for Python "
            f"{sys.version_info.major}.{sys.version_info.minor}, and set PYSPARK_PYTHON to that one"
        )
        return InvalidInput(what, f"--master {self._context.master}")

    def spread(self, values: Sequence[Value]) -> RDD[Value]:
        """Return values, each for a task of Spark's own."""
        return self._context.parallelize(values, max(1, len(values)))


class SparkLogs:
    """What logs say of each task, in Spark's shuffle files."""

    def __init__(self, shuffled: RDD[_Part]) -> None:
        self._shuffled = shuffled

    @property
    def tasks(self) -> RDD[tuple[TaskKey, TaskLog[Interval]]]:
        """What the lines say of each task."""
        return self._shuffled.flatMap(_intervals)

    def ask_tasks(self, ask: Question[Interval, Result]) -> list[tuple[TaskKey, Result]]:
        """Return an answer for each task that has a line."""
        return self._shuffled.flatMap(_intervals).map(partial(_answer, ask)).collect()

    def ask_stays(self, ask: Question[Stay, Result]) -> list[tuple[TaskKey, Result]]:
        """Return an answer for each task, to a question of when it was where: a cheaper pass."""
        return self._shuffled.flatMap(_stays).map(partial(_answer, ask)).collect()


def _read(now_s: float, with_reports: bool, split: Split) -> Iterator[tuple[_Key, Any]]:
    reader = LineReader(split.topology, now_s, with_reports)
    for tasks in read_split(split, reader):
        for task, log in tasks.items():
            yield (split.topology, task), encode(log)
    yield (split.topology, None), reader.lines


def _partition(key: _Key) -> int:
    """Return a number that is the same in every process, as `hash` of a text is not."""
    return zlib.crc32(f"{key[0]} {key[1]}".encode())


def _lines(part: _Part) -> Iterator[tuple[str, Lines]]:
    (topology, task), values = part
    if task is None:
        whole = Lines()
        for lines in values:
            whole.add(lines)
        yield topology, whole


def _intervals(part: _Part) -> Iterator[tuple[TaskKey, TaskLog[Interval]]]:
    (topology, task), values = part
    if task is not None:
        yield (topology, task), _merge(map(_decode_intervals, values))


def _stays(part: _Part) -> Iterator[tuple[TaskKey, TaskLog[Stay]]]:
    (topology, task), values = part
    if task is not None:
        yield (topology, task), _merge(map(_decode_stays, values))


def _merge(logs: Iterable[TaskLog[AnyStay]]) -> TaskLog[AnyStay]:
    whole: TaskLog[AnyStay] = TaskLog()
    with no_cycles():
        for log in logs:
            whole.add(log)
    return whole


def _answer(
    ask: Question[AnyStay, Result], part: tuple[TaskKey, TaskLog[AnyStay]]
) -> tuple[TaskKey, Result]:
    with no_cycles():
        return part[0], ask(*part)
