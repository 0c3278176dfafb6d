"""The batch job: metrics logs in; Parquet tables, profiles and what was measured out."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from stormcut.adapters.profile_file import write_profile
from stormcut.adapters.spark import tables
from stormcut.adapters.spark.log_files import find_metrics_logs
from stormcut.adapters.spark.metrics_log import (
    HOOK_METRIC,
    builtin_metrics,
    hook_lines,
    parse_lines,
)
from stormcut.adapters.spark.session import spark_session
from stormcut.model.errors import InvalidInput
from stormcut.model.profile import Profile
from stormcut.profile.lines import LineSummary, UnusedLine
from stormcut.profile.measured import Measured, measure
from stormcut.profile.totals import ChildTotals, PairTotals, TaskTotals, profile_of, window_of

TABLES = ("traffic", "load", "components", "throughput", "lines")
EXAMPLES = 5

Progress = Callable[[str], None]


@dataclass(frozen=True)
class ProfileResult:
    """What one run found, by topology id.

    Parameters
    ----------
    unmeasured : tuple of str
        Topologies with logs but without an interval of the hook inside the window.
    """

    profiles: dict[str, Profile]
    measured: dict[str, Measured]
    unmeasured: tuple[str, ...]
    lines: LineSummary


@dataclass(frozen=True)
class _Filter:
    """Which intervals count."""

    from_epoch: float | None
    to_epoch: float | None
    warm_up: float

    @property
    def column(self) -> Column:
        return tables.in_window(self.from_epoch, self.to_epoch, self.warm_up)


@dataclass(frozen=True)
class _Sums:
    """The small sums that leave Spark, rows by topology id."""

    tasks: dict[str, list[Row]]
    known: dict[str, list[Row]]
    pairs: dict[str, list[Row]]
    latency: dict[str, list[Row]]


def profile_logs(
    folders: Iterable[Path],
    output: Path,
    topology: str | None = None,
    from_epoch: float | None = None,
    to_epoch: float | None = None,
    warm_up: float = 10.0,
    master: str = "local[*]",
    progress: Progress = lambda _: None,
) -> ProfileResult:
    """Read workers' metrics logs; write tables and one ``profile-<topology id>.json`` each.

    Inside ``with spark_session(...)`` that session is used, else one is started and ended.

    Parameters
    ----------
    folders : iterable of Path
        Searched for ``workers-artifacts/<topology id>/<port>/worker.log.metrics`` and rolled ones.
    output : Path
        Made if missing; tables and profiles in it are replaced.
    from_epoch, to_epoch : float, optional
        Epoch seconds; only intervals wholly between them count for profiles and summary.
    warm_up : float
        Seconds after a task's start: intervals that begin in them do not count, nor, unless it
        is 0, does the first one.
    progress : callable
        Told in a few words what is being done.

    Raises
    ------
    InvalidInput
        No logs, no line of the hook, nothing inside the window, no Java for Spark, or a folder
        where a table should go.
    """
    logs = find_metrics_logs(folders, topology)
    staging = _staging(output)
    try:
        progress("starting Spark")
        with spark_session(master) as spark:
            progress(f"parsing {sum(map(len, logs.values()))} metrics logs")
            lines = parse_lines(_read(spark, logs)).persist()
            hooks = hook_lines(lines).persist()
            try:
                counts = _write(staging, "lines", tables.line_counts(lines))
                summary = _summary(counts, lines, hooks, logs)
                progress("computing tables")
                sums = _tables(lines, hooks, _Filter(from_epoch, to_epoch, warm_up), staging)
            finally:
                hooks.unpersist()
                lines.unpersist()
        result = _result(logs, sums, summary)
        if not result.profiles:
            raise _nothing_in_window(sums, warm_up)
        _publish(staging, output, result)
        return result
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _staging(output: Path) -> Path:
    """Return a new folder inside ``output`` for tables that are being written."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".stormcut-", dir=output))
    except OSError as error:
        raise InvalidInput(f"cannot be written: {error}", str(output)) from error
    for name in TABLES:
        table = output / name
        if table.exists() and not (table / "_SUCCESS").is_file():
            staging.rmdir()
            what = "is in the way of a table of this name; choose another --output"
            raise InvalidInput(what, str(table))
    return staging


def _read(spark: SparkSession, logs: Mapping[str, list[Path]]) -> DataFrame:
    """Return topology and line of all logs; the id is in the path, not in the lines."""
    parts = [
        spark.read.text([_literal(path) for path in paths]).select(
            F.lit(topology).alias("topology"), F.col("value").alias("line")
        )
        for topology, paths in logs.items()
    ]
    return reduce(DataFrame.union, parts)


def _literal(path: Path) -> str:
    """Return a path in which Hadoop sees no pattern."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", str(path))


def _summary(
    counts: DataFrame, lines: DataFrame, hooks: DataFrame, logs: Mapping[str, list[Path]]
) -> LineSummary:
    rows = counts.collect()
    unused: dict[str, int] = defaultdict(int)
    for row in rows:
        if row.problem is not None:
            unused[row.problem] += row.lines
    hook = [row for row in rows if row.metric == HOOK_METRIC]
    bad = lines.where("problem IS NOT NULL").select("topology", "problem", "line").limit(EXAMPLES)
    summary = LineSummary(
        files=sum(map(len, logs.values())),
        read=sum(row.lines for row in rows),
        hook=sum(row.lines for row in hook),
        metrics=sum(row.lines for row in rows if row.metric not in (None, HOOK_METRIC)),
        repeated=sum(row.lines for row in hook if not row.system) - hooks.count(),
        unused=dict(unused),
        examples=tuple(UnusedLine(*row) for row in bad.collect()) if unused else (),
    )
    if not summary.hook:
        raise _no_hook(summary, logs)
    return summary


def _no_hook(summary: LineSummary, logs: Mapping[str, list[Path]]) -> InvalidInput:
    where = ", ".join(logs)
    if summary.read == 0:
        return InvalidInput("the metrics logs are empty; wait for the first interval", where)
    seen = f"{summary.read} lines, none of them the hook's"
    if summary.examples:
        example = summary.examples[0]
        seen += f" ({sum(summary.unused.values())} unused, such as: {example.problem})"
    what = 'set topology.auto.task.hooks: ["io.stormcut.StormcutHook"] and submit again'
    return InvalidInput(f"{seen}; {what}", where)


def _write(staging: Path, name: str, table: DataFrame) -> DataFrame:
    """Write a table and return it as read back: what follows need not compute it again."""
    path = _literal(staging / name)
    table.write.parquet(path)
    return table.sparkSession.read.schema(table.schema).parquet(path)


def _tables(lines: DataFrame, hooks: DataFrame, window: _Filter, staging: Path) -> _Sums:
    """Write the other tables and return the sums over the window."""
    builtin = _write(staging, "components", builtin_metrics(lines))
    intervals = tables.intervals(hooks).withColumn("in_window", window.column).persist()
    runs = tables.runs(intervals, builtin).persist()
    started = runs.select("topology", "task", "run_s", "worker_start_s")
    placed = intervals.join(started, ["topology", "task", "run_s"])
    try:
        _write(staging, "load", tables.load(placed))
        traffic = _write(staging, "traffic", tables.traffic(placed, runs))
        crossed = tables.with_crossings(intervals, tables.crossings(traffic)).persist()
        _write(staging, "throughput", tables.throughput(crossed, _interval_s(intervals)))
        latency = tables.builtin_latency(builtin, window.from_epoch, window.to_epoch)
        return _Sums(
            tasks=_by_topology(tables.task_totals(crossed)),
            known=_by_topology(tables.known_tasks(builtin, runs, traffic)),
            pairs=_by_topology(tables.pair_totals(traffic)),
            latency=_by_topology(latency),
        )
    finally:
        lines.sparkSession.catalog.clearCache()


def _interval_s(intervals: DataFrame) -> int:
    """Return the usual length of an interval in whole seconds."""
    median: float = intervals.agg(F.percentile_approx("ms", 0.5).alias("ms")).collect()[0].ms
    return max(1, round(median / 1000))


def _by_topology(table: DataFrame) -> dict[str, list[Row]]:
    result: dict[str, list[Row]] = defaultdict(list)
    for row in table.collect():
        result[row.topology].append(row)
    return result


def _result(logs: Mapping[str, list[Path]], sums: _Sums, summary: LineSummary) -> ProfileResult:
    profiles, measured = {}, {}
    for topology in logs:
        rows = [row for row in sums.tasks.get(topology, []) if row.ms > 0]
        if not rows:
            continue
        window = window_of(min(row.begin_s for row in rows), max(row.end_s for row in rows))
        tasks = _task_totals(sums, topology)
        pairs = [
            PairTotals(
                row.source_task, row.target_task, row.tuples, row.sampled_tuples, row.sampled_bytes
            )
            for row in sums.pairs.get(topology, [])
        ]
        profile, missing = profile_of(topology, window, tasks, pairs)
        latency = next((row.latency_ms for row in sums.latency.get(topology, [])), None)
        profiles[topology] = profile
        measured[topology] = measure(profile, missing, tasks, latency)
    unmeasured = tuple(topology for topology in logs if topology not in profiles)
    return ProfileResult(profiles, measured, unmeasured, summary)


def _task_totals(sums: _Sums, topology: str) -> list[TaskTotals]:
    """Return the totals of all tasks that any line tells of."""
    rows = {row.task: row for row in sums.tasks[topology]}
    return [
        _totals(rows[known.task]) if known.task in rows else TaskTotals(known.task, known.component)
        for known in sorted(sums.known[topology], key=lambda known: int(known.task))
    ]


def _totals(row: Row) -> TaskTotals:
    same = (
        "task component ms sent local between_nodes between_workers unplaced acked failed "
        "complete_ms completed thread_ms thread_cpu_ms"
    )
    child = ChildTotals(row.child_ms, row.child_cpu_ms, row.child_rss_byte_ms)
    return TaskTotals(
        **{name: row[name] for name in same.split()},
        executor=(row.executor.start_task, row.executor.end_task),
        child=child if child.ms else None,
        workers=tuple(sorted((worker.host, worker.port) for worker in row.workers)),
    )


def _nothing_in_window(sums: _Sums, warm_up: float) -> InvalidInput:
    rows = [row for rows in sums.tasks.values() for row in rows]
    first, last = min(row.first_s for row in rows), max(row.last_s for row in rows)
    return InvalidInput(
        f"no whole interval of the hook after a task's first and the warm-up of {warm_up:g} s, and "
        f"between --from and --to if given; its lines span the epoch seconds {first:.0f} to "
        f"{last}: let the topology run longer",
        "window",
    )


def _publish(staging: Path, output: Path, result: ProfileResult) -> None:
    for name in TABLES:
        table = output / name
        if table.exists():
            table.rename(staging / f"{name}.old")
        (staging / name).rename(table)
    for topology, profile in result.profiles.items():
        write_profile(output / f"profile-{topology}.json", profile)
