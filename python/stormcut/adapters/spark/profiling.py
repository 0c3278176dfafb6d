"""The batch job: metrics logs in; Parquet tables, profiles and what was measured out."""

from __future__ import annotations

import csv
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from stormcut.adapters.files.profile_file import write_profile
from stormcut.adapters.spark import tables
from stormcut.adapters.spark.collected import (
    Sums,
    by_topology,
    has_hook,
    line_summary,
    rates_of,
    repeated,
    result_of,
    usual_interval_s,
)
from stormcut.adapters.spark.log_files import find_metrics_logs, unreadable, without
from stormcut.adapters.spark.metrics_log import builtin_metrics, hook_lines, parse_lines
from stormcut.adapters.spark.session import spark_session
from stormcut.adapters.spark.tuning import computed_once, gathered, text_bytes, tuned
from stormcut.model.errors import InvalidInput
from stormcut.profile.result import ComponentRates, ProfileResult

TABLES = ("traffic", "load", "components", "throughput", "lines")
EXAMPLES = 5

Progress = Callable[[str], None]


@dataclass(frozen=True)
class _Window:
    """Which intervals count."""

    from_epoch: float | None
    to_epoch: float | None
    warm_up: float

    @property
    def column(self) -> Column:
        return tables.in_window(self.from_epoch, self.to_epoch, self.warm_up)


def profile_logs(
    folders: Iterable[Path],
    output: Path,
    topology: str | None = None,
    from_epoch: float | None = None,
    to_epoch: float | None = None,
    warm_up: float = 10.0,
    master: str = "local[*]",
    progress: Progress = lambda _: None,
    with_csv: bool = False,
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
        Epoch seconds; only intervals wholly between them count for profiles and summary. Without
        ``from_epoch``, those since the topology moved last.
    warm_up : float
        Seconds after a task's start: intervals that begin in them do not count, nor, unless it
        is 0, does the first one.
    progress : callable
        Told in a few words what is being done.
    with_csv : bool
        Write each table as CSV, too.

    Raises
    ------
    InvalidInput
        No logs, no line of any metric, nothing inside the window, no Java for Spark, or a folder
        where a table should go.
    """
    logs, skipped = find_metrics_logs(folders, topology)
    size = text_bytes(path for paths in logs.values() for path in paths)
    window = _Window(from_epoch, to_epoch, warm_up)
    staging = _staging(output)
    try:
        progress("starting Spark")
        with spark_session(master, size) as spark, tuned(spark, size):
            try:
                result = _profile(spark, logs, size, window, staging, progress)
            except (PySparkException, Py4JJavaError):
                # Which file it was is not told, and to read them all first would take too long.
                progress("looking for damaged logs")
                damaged = unreadable(logs, whole=True)
                if not damaged:
                    raise
                logs, skipped = without(logs, damaged), skipped + damaged
                for part in staging.iterdir():
                    shutil.rmtree(part)
                result = _profile(spark, logs, size, window, staging, progress)
            if with_csv:
                progress("writing CSV")
                _write_csv(spark, staging)
        result = replace(result, lines=replace(result.lines, skipped=skipped))
        _publish(staging, output, result)
        return result
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _profile(
    spark: SparkSession,
    logs: Mapping[str, list[Path]],
    size: int,
    window: _Window,
    staging: Path,
    progress: Progress,
) -> ProfileResult:
    """Write the tables and return what the sums over the window say."""
    try:
        raw = gathered(_read(spark, logs), size)
        return _profile_of(raw, logs, window, staging, progress)
    finally:
        spark.catalog.clearCache()


def _profile_of(
    raw: DataFrame,
    logs: Mapping[str, list[Path]],
    window: _Window,
    staging: Path,
    progress: Progress,
) -> ProfileResult:
    progress(f"parsing {sum(map(len, logs.values()))} metrics logs")
    lines = parse_lines(raw, time.time()).persist()
    counted = tables.line_counts(lines).persist()
    counts = counted.collect()
    bad = lines.where("problem IS NOT NULL").select("topology", "problem", "line").limit(EXAMPLES)
    examples = bad.collect() if any(row.problem for row in counts) else []
    read = line_summary(counts, examples, logs)
    progress("computing tables")
    if not has_hook(counts):
        _write(staging, "lines", tables.lines(counted))
        rates = _rates(_write(staging, "components", builtin_metrics(lines)), window)
        return ProfileResult({}, {}, tuple(logs), read, components=rates)
    sums = _tables(lines, counted, usual_interval_s(counts), window, staging)
    result = result_of(logs, sums, repeated(read, counts, sums))
    if not result.profiles:
        raise _nothing_in_window(sums, window.warm_up)
    if not result.unmeasured:
        return result
    rates = _rates(lines.sparkSession.read.parquet(_literal(staging / "components")), window)
    return replace(result, components={name: rates.get(name, ()) for name in result.unmeasured})


def _rates(builtin: DataFrame, window: _Window) -> dict[str, tuple[ComponentRates, ...]]:
    return rates_of(tables.component_rates(builtin, window.from_epoch, window.to_epoch).collect())


def _tables(
    lines: DataFrame, counted: DataFrame, interval_s: int, window: _Window, staging: Path
) -> Sums:
    """Write the tables and return the sums over the window."""
    write = partial(_write, staging)
    # What Storm counts and what the hook counts need nothing of each other.
    _, builtin, (intervals, moved), tasks = _at_once(
        lambda: write("lines", tables.lines(counted)),
        lambda: write("components", builtin_metrics(lines)),
        lambda: _intervals(lines, window),
        tables.builtin_tasks(lines).collect,
    )
    runs = computed_once(tables.runs(intervals, builtin))
    run_rows = runs.collect()
    lines.unpersist()
    placed = tables.with_worker_start(intervals, runs)
    _, traffic = _at_once(
        lambda: write("load", tables.load(placed)),
        lambda: write("traffic", tables.traffic(placed, runs)),
    )
    throughput = tables.throughput(intervals, traffic, interval_s)
    latency = tables.builtin_latency(builtin, window.from_epoch, window.to_epoch)
    sampled = {run.topology for run in run_rows if run.completed}
    _, pairs, latencies = _at_once(
        lambda: write("throughput", throughput),
        tables.pair_totals(traffic).collect,
        # Storm's own is needed only where the hook sampled none.
        lambda: [] if sampled >= {run.topology for run in run_rows} else latency.collect(),
    )
    return Sums(
        by_topology(run_rows),
        by_topology(pairs),
        by_topology(tasks),
        by_topology(latencies),
        {row.topology: row.moved_s for row in moved},
    )


def _intervals(lines: DataFrame, window: _Window) -> tuple[DataFrame, list[Row]]:
    """Return the intervals of the hook, and when topologies moved last."""
    every = computed_once(
        tables.intervals(hook_lines(lines)).withColumn("in_window", window.column)
    )
    moves = computed_once(tables.moves(every))
    moved = moves.collect()
    # Two placements are no profile, unless somebody says from when.
    if not moved or window.from_epoch is not None:
        return every, moved
    return computed_once(tables.since_moves(every, moves)), moved


def _at_once(*actions: Callable[[], Any]) -> list[Any]:
    """Return what some actions return: while one is planned, another is computed."""
    with ThreadPoolExecutor(len(actions)) as pool:
        return [done.result() for done in [pool.submit(action) for action in actions]]


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
    every = [(topology, path) for topology, paths in logs.items() for path in paths]
    plain = [path for topology, path in every if _topology_in(path) == topology]
    # One query for all of them: Spark would compile one for each part of a union.
    parts = [_text(spark, plain, _topology_of_path())] if plain else []
    for topology, paths in logs.items():
        if linked := [path for path in paths if _topology_in(path) != topology]:
            parts.append(_text(spark, linked, F.lit(topology)))
    return reduce(DataFrame.union, parts)


def _text(spark: SparkSession, paths: Sequence[Path], topology: Column) -> DataFrame:
    lines = spark.read.text([_literal(path) for path in paths])
    return lines.select(topology.alias("topology"), F.col("value").alias("line"))


def _topology_in(path: Path) -> str:
    return path.parent.parent.name


def _topology_of_path() -> Column:
    """Return `_topology_in` of the file that a line is in; Spark has its path as a URI."""
    folder = F.substring_index(F.substring_index("_metadata.file_path", "/", -3), "/", 1)
    decoded = F.url_decode(F.replace(folder, F.lit("+"), F.lit("%2B")))
    return F.when(F.contains(folder, F.lit("%")), decoded).otherwise(folder)


def _literal(path: Path) -> str:
    """Return a path in which Hadoop sees no pattern."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", str(path))


def _write(staging: Path, name: str, table: DataFrame) -> DataFrame:
    """Write a table and return it as read back: what follows need not compute it again."""
    path = _literal(staging / name)
    table.write.parquet(path)
    return table.sparkSession.read.schema(table.schema).parquet(path)


def _write_csv(spark: SparkSession, staging: Path) -> None:
    """Write each table beside its Parquet as one CSV file."""
    for name in (name for name in TABLES if (staging / name).exists()):
        table = spark.read.parquet(_literal(staging / name))
        with (staging / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(table.columns)
            writer.writerows(table.toLocalIterator())


def _nothing_in_window(sums: Sums, warm_up: float) -> InvalidInput:
    rows = [row for rows in sums.runs.values() for row in rows]
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
        if (staging / name).exists():
            (staging / name).rename(table)
        if (text := staging / f"{name}.csv").exists():
            text.replace(output / text.name)
    for topology, profile in result.profiles.items():
        write_profile(output / f"profile-{topology}.json", profile)
