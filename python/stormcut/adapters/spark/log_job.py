"""Reads logs with Spark, a task for each split: what they say is shuffled by topology and task."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from msgspec.msgpack import Decoder, encode
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark import RDD
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from stormcut import __version__
from stormcut.adapters.files.log_job import ReadingFailed, TaskKey
from stormcut.adapters.files.log_splits import Split, read_split
from stormcut.model.errors import InvalidInput
from stormcut.profile.metric_lines import Lines, TaskLog

Result = TypeVar("Result")
Value = TypeVar("Value")
#: Tasks for each core: some topologies have much more to say than others.
TASKS_PER_CORE = 4

#: What Spark says where its workers have no such Python, or no stormcut.
_NO_PYTHON = ("No module named", "PYTHON_VERSION_MISMATCH", "Cannot run program")

_decode = Decoder(TaskLog).decode


class SparkJob:
    """Reads logs once; each question about tasks is a job over what was shuffled."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._context = spark.sparkContext
        self._parts: RDD[tuple[tuple[str, int | None], Iterable[Any]]] = self._context.emptyRDD()

    def read(self, splits: Sequence[Split], now_s: float) -> dict[str, Lines]:
        """Read logs; return what their lines are, by topology id."""
        partitions = TASKS_PER_CORE * self._context.defaultParallelism
        parts = self.spread(splits).flatMap(partial(_parts, now_s))
        self._parts = parts.groupByKey(min(partitions, 4 * len(splits)), _partition)
        try:
            return dict(self._parts.flatMap(_lines).collect())
        except (PySparkException, Py4JJavaError) as error:
            raise ReadingFailed(self._reason(error)) from error

    def _reason(self, error: Exception) -> Exception:
        """Return what is wrong with Spark's workers, or the error itself."""
        text = str(error)
        if not any(sign in text for sign in _NO_PYTHON):
            return error
        master = self._context.master
        what = (
            f"its workers cannot run stormcut {__version__}: install it there for Python "
            f"{sys.version_info.major}.{sys.version_info.minor}, and set PYSPARK_PYTHON to that one"
        )
        return InvalidInput(what, f"--master {master}")

    def spread(self, values: Sequence[Value]) -> RDD[Value]:
        """Return values, each for a task of Spark's own."""
        return self._context.parallelize(values, max(1, len(values)))

    @property
    def tasks(self) -> RDD[tuple[TaskKey, TaskLog]]:
        """What the lines say of each task."""
        return self._parts.flatMap(_task)

    def of_tasks(self, ask: Callable[[TaskKey, TaskLog], Result]) -> list[tuple[TaskKey, Result]]:
        """Return an answer for each task that a line tells of."""
        return self.tasks.map(partial(_answer, ask)).collect()


def _parts(now_s: float, split: Split) -> Iterator[tuple[tuple[str, int | None], Any]]:
    reader = read_split(split, now_s)
    yield (split.topology, None), reader.lines
    for task, log in reader.tasks.items():
        yield (split.topology, task), encode(log)


def _partition(key: tuple[str, int | None]) -> int:
    """Return a number that is the same in every process, as `hash` of a text is not."""
    return zlib.crc32(f"{key[0]} {key[1]}".encode())


def _lines(
    part: tuple[tuple[str, int | None], Iterable[Any]],
) -> Iterator[tuple[str, Lines]]:
    (topology, task), values = part
    if task is None:
        whole = Lines()
        for lines in values:
            whole.add(lines)
        yield topology, whole


def _task(
    part: tuple[tuple[str, int | None], Iterable[Any]],
) -> Iterator[tuple[TaskKey, TaskLog]]:
    (topology, task), values = part
    if task is not None:
        whole = TaskLog()
        for log in values:
            whole.add(_decode(log))
        yield (topology, task), whole


def _answer(
    ask: Callable[[TaskKey, TaskLog], Result], part: tuple[TaskKey, TaskLog]
) -> tuple[TaskKey, Result]:
    return part[0], ask(*part)
