"""The tables of a profile, as Parquet and CSV (docs/profile-tables.md)."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyspark import RDD
from pyspark.sql import SparkSession

from stormcut.adapters.files.log_job import TaskKey
from stormcut.adapters.files.log_splits import Split, read_text
from stormcut.adapters.spark.log_job import SparkJob, SparkLogs
from stormcut.profile.intervals import Interval, Window, find_runs
from stormcut.profile.line_counts import count_interval_lines, count_kinds, find_usual_interval_s
from stormcut.profile.metric_lines import Lines, NumberReader, TaskLog
from stormcut.profile.summing import Places
from stormcut.profile.table_rows import (
    Counted,
    FlowSums,
    Starts,
    make_load_row,
    make_throughput_row,
    make_traffic_rows,
    mark_intervals,
    sum_flows,
)
from stormcut.profile.topology_sums import TopologyHistory

_INTERVAL = "topology STRING, worker_start_s DOUBLE, begin_s DOUBLE, end_s BIGINT"
SCHEMAS = {
    "traffic": f"""{_INTERVAL},
        source_task INT, source_component STRING, source_host STRING, source_port INT,
        target_task INT, target_component STRING, target_host STRING, target_port INT,
        tuples BIGINT, sampled_tuples BIGINT, sampled_bytes BIGINT, seconds DOUBLE,
        in_window BOOLEAN""",
    "load": f"""{_INTERVAL},
        component STRING, task INT, start_task INT, end_task INT, host STRING, port INT,
        thread_cpu_percent DOUBLE, child_cpu_percent DOUBLE, cpu_percent DOUBLE, rss_bytes BIGINT,
        seconds DOUBLE, in_window BOOLEAN""",
    "components": """topology STRING, component STRING, task INT, host STRING, port INT,
        epoch_s BIGINT, metric STRING, key STRING, value DOUBLE""",
    "throughput": """topology STRING, interval_s BIGINT, length_s INT, tasks BIGINT,
        task_ms DOUBLE, emitted BIGINT, acked BIGINT, failed BIGINT, between_nodes BIGINT,
        between_workers BIGINT, unplaced BIGINT, complete_latency_ms DOUBLE""",
    "lines": "topology STRING, metric STRING, system BOOLEAN, problem STRING, lines BIGINT",
}


_Task = tuple[TaskKey, TaskLog[Interval]]


@dataclass(frozen=True)
class JobContext:
    """What rows need besides the log of their own task.

    Parameters
    ----------
    window : Window
    interval_s : int
        Length of the stretches of the table ``throughput``.
    topologies : mapping
        By topology id: when it moved last, where its tasks were, when workers started.
    """

    window: Window
    interval_s: int
    topologies: Mapping[str, tuple[float | None, Places, Starts]]

    def intervals(self, key: TaskKey, log: TaskLog[Interval]) -> Iterator[Counted]:
        """Yield the intervals of a task."""
        moved_s, _, starts = self.topologies[key[0]]
        return mark_intervals(*key, find_runs(log.intervals), self.window, moved_s, starts)

    def places(self, topology: str) -> Places:
        """Return where the tasks of a topology were."""
        return self.topologies[topology][1]


def write_tables(
    job: SparkJob,
    logs: SparkLogs,
    splits: Sequence[Split],
    now_s: float,
    lines: Mapping[str, Lines],
    histories: Mapping[str, TopologyHistory],
    window: Window,
    folder: Path,
    with_csv: bool,
) -> None:
    """Write the tables of logs that a job has read into a folder.

    Parameters
    ----------
    logs : SparkLogs
        What the job has read.
    now_s : float
        As when they were read.
    lines, histories : mapping
        What the job found, by topology id.
    """
    kinds = count_kinds(lines)
    rows: dict[str, RDD[Any]] = {
        "lines": job.spread([lines]).flatMap(_line_rows),
        "components": job.spread(splits).flatMap(partial(_number_rows, now_s)),
    }
    if count_interval_lines(kinds):
        topologies = {
            name: (each.moved_s, each.places, lines[name].starts if name in lines else {})
            for name, each in histories.items()
        }
        context = JobContext(window, find_usual_interval_s(kinds), topologies)
        rows["load"] = logs.tasks.flatMap(partial(_load_rows, context))
        rows["traffic"] = logs.tasks.flatMap(partial(_traffic_rows, context))
        sums = logs.tasks.flatMap(partial(_flows, context)).reduceByKey(FlowSums.plus)
        rows["throughput"] = sums.map(partial(_throughput_row, context.interval_s))
    for name, each in rows.items():
        path = folder / name
        table = job.spark.createDataFrame(each, SCHEMAS[name], verifySchema=False)
        table.write.parquet(_literal(path))
        if with_csv:
            _write_csv(job.spark, path)


def _line_rows(lines: Mapping[str, Lines]) -> Iterator[tuple[object, ...]]:
    for topology, each in lines.items():
        counts: Counter[tuple[object, ...]] = Counter()
        for kind, count in each.kinds.items():
            counts[kind.metric, kind.system, kind.problem] += count
        yield from ((topology, *what, count) for what, count in counts.items())


def _number_rows(now_s: float, split: Split) -> Iterator[tuple[object, ...]]:
    reader = NumberReader(split.topology, now_s)
    for text in read_text(split):
        reader.read(text)
        for source, *number in reader.numbers:
            who = (split.topology, source.component, source.task, source.host, source.port)
            yield (*who, *number)
        reader.numbers.clear()


def _load_rows(context: JobContext, part: _Task) -> Iterator[tuple[object, ...]]:
    return map(make_load_row, context.intervals(*part))


def _traffic_rows(context: JobContext, part: _Task) -> Iterator[tuple[object, ...]]:
    places = context.places(part[0][0])
    for each in context.intervals(*part):
        yield from make_traffic_rows(each, places)


def _flows(context: JobContext, part: _Task) -> Iterator[tuple[tuple[str, int], FlowSums]]:
    topology = part[0][0]
    intervals = (each.interval for each in context.intervals(*part))
    for begin_s, flow in sum_flows(intervals, context.places(topology), context.interval_s).items():
        yield (topology, begin_s), flow


def _throughput_row(interval_s: int, part: tuple[tuple[str, int], FlowSums]) -> tuple[object, ...]:
    (topology, begin_s), flow = part
    return make_throughput_row(topology, begin_s, interval_s, flow)


def _literal(path: Path) -> str:
    """Return a path in which Hadoop sees no pattern."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", str(path))


def _write_csv(spark: SparkSession, path: Path) -> None:
    """Write a table beside its Parquet as one CSV file."""
    table = spark.read.parquet(_literal(path))
    with path.with_name(f"{path.name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows(table.toLocalIterator())
