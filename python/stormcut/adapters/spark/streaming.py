"""The stream: lines of metrics in; what is new in each topology out, batch by batch.

Lines come in closed pieces of logs, and from a Kafka topic where there is one.

The transformations are those of the batch job. What they need of the past, the last interval of
every task, is a small table from one batch to the next: it stays in Spark.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from stormcut.adapters.files.kafka_topic import KafkaTopic
from stormcut.adapters.spark import tables
from stormcut.adapters.spark.collected import (
    RowsOf,
    Sums,
    by_topology,
    pair_totals,
    task_totals,
)
from stormcut.adapters.spark.metrics_log import builtin_metrics, hook_lines, parse_lines
from stormcut.adapters.spark.tuning import computed_once
from stormcut.profile.decay import Slice

#: Pieces lie in ``<spool>/topology=<id>/``.
PIECES = "value STRING, topology STRING"
#: Most of them in one batch: what has piled up is taken in parts.
MAX_PIECES = 200
#: Most lines of a topic in one batch.
MAX_LINES = 100_000
#: What Storm makes of a topology's name: a key that is none would be no node's name, either.
TOPOLOGY_ID = r"^[^/.:\\\p{Cntrl}]+-\d+-\d+$"
#: A task of which nothing came for so long starts anew when it is heard again; lines of a topic
#: that are older when the stream begins are not read.
FORGET_S = 3600.0

#: Told what is new, by topology id, and why lines could not be used, with how many.
Consumer = Callable[[Mapping[str, Slice], Mapping[str, int]], None]


@dataclass(frozen=True)
class StreamSettings:
    """How to read.

    ``every_s`` is the time between batches, ``warm_up_s`` as in `profile_logs`; intervals that
    begin before ``from_epoch_s`` do not count.
    """

    every_s: float = 10.0
    warm_up_s: float = 10.0
    from_epoch_s: float = 0.0


@contextmanager
def metrics_stream(
    spark: SparkSession,
    spool: str,
    settings: StreamSettings,
    consumer: Consumer,
    topic: KafkaTopic | None = None,
) -> Iterator[Callable[[], str | None]]:
    """Read a spool, and a topic, in the background, and delete what was read of the spool.

    Parameters
    ----------
    spool : str
        A folder, or any address that Spark reads; pieces are whole when they appear there, and are
        never changed.
    consumer : callable
        Called from one thread of its own, one batch after the other.
    topic : KafkaTopic, optional
        The session must have its jars.

    Yields
    ------
    callable
        Returns why the stream has ended, None while it runs.
    """
    scratch = Path(spark.conf.get("spark.local.dir") or "") / "stream"
    scratch.mkdir()
    batches = _Batches(settings, consumer)
    lines = _pieces(spark, spool)
    if topic is not None:
        lines = lines.unionByName(_messages(spark, topic, settings.from_epoch_s))
    query = (
        lines.writeStream.foreachBatch(batches.take)
        .option("checkpointLocation", str(scratch / "checkpoint"))
        .trigger(processingTime=f"{settings.every_s:g} seconds")
        .start()
    )

    def ended() -> str | None:
        if query.isActive:
            return None
        error = query.exception()
        return "it was stopped" if error is None else str(error).splitlines()[0]

    try:
        yield ended
    finally:
        query.stop()
        shutil.rmtree(scratch, ignore_errors=True)


def _pieces(spark: SparkSession, spool: str) -> DataFrame:
    pieces = (
        spark.readStream.schema(PIECES)
        .option("basePath", spool)
        .option("maxFilesPerTrigger", str(MAX_PIECES))
        .option("cleanSource", "delete")
        .option("maxFileAge", "1h")
        .text(spool)
    )
    return pieces.select("topology", F.col("value").alias("line"))


def _messages(spark: SparkSession, topic: KafkaTopic, from_epoch_s: float) -> DataFrame:
    since_s = max(from_epoch_s, time.time() - FORGET_S)
    messages = (
        spark.readStream.format("kafka")
        .options(**{f"kafka.{name}": value for name, value in topic.options.items()})
        .option("kafka.bootstrap.servers", topic.servers)
        .option("subscribe", topic.topic)
        .option("startingTimestamp", str(int(1000 * since_s)))
        .option("startingOffsetsByTimestampStrategy", "latest")
        .option("maxOffsetsPerTrigger", str(MAX_LINES))
        # Lines that Kafka has deleted before they were read are too old to count.
        .option("failOnDataLoss", "false")
        .load()
    )
    text = messages.selectExpr("string(key) AS topology", "string(value) AS line")
    return text.where(F.col("topology").rlike(TOPOLOGY_ID))


class _Batches:
    """What happens to each batch, and what is carried from one to the next."""

    def __init__(self, settings: StreamSettings, consumer: Consumer) -> None:
        self._settings = settings
        self._consumer = consumer
        self._carried: DataFrame | None = None

    def take(self, raw: DataFrame, _: int) -> None:
        lines = computed_once(parse_lines(raw.coalesce(1), time.time()))
        tasks, problems = _named(lines)
        self._consumer(self._slices(lines, tasks), problems)

    def _slices(self, lines: DataFrame, tasks: RowsOf) -> dict[str, Slice]:
        hooks = hook_lines(lines).withColumn("carried_run_s", F.lit(None).cast("double"))
        if self._carried is not None:
            hooks = hooks.unionByName(self._carried)
        counts = tables.in_window(self._settings.from_epoch_s, None, self._settings.warm_up_s)
        is_new = F.col("carried_run_s").isNull()
        intervals = computed_once(tables.intervals(hooks).withColumn("in_window", counts & is_new))
        runs = computed_once(tables.runs(intervals, builtin_metrics(lines)))
        pairs = tables.pair_totals(tables.traffic(intervals, runs))
        sums = Sums(by_topology(runs.collect()), by_topology(pairs.collect()), tasks, {})
        self._carry(intervals)
        return {name: _slice(sums, name) for name in sums.runs if _counts(sums, name)}

    def _carry(self, intervals: DataFrame) -> None:
        """Keep the last interval of every task for the next batch; it does not count there."""
        last = Window.partitionBy("topology", "task").orderBy(F.desc("end_s"))
        latest = F.max("end_s").over(Window.partitionBy("topology"))
        kept = (
            intervals.withColumns({"nth": F.row_number().over(last), "latest": latest})
            .where((F.col("nth") == 1) & (F.col("end_s") > F.col("latest") - FORGET_S))
            .withColumn("carried_run_s", F.col("run_s"))
            .drop("nth", "latest", "run_s", "in_window")
        )
        self._carried = kept.localCheckpoint()


def _named(lines: DataFrame) -> tuple[RowsOf, dict[str, int]]:
    """Return the tasks that Storm's own metrics name, and why lines could not be used."""
    names = [F.when(tables.is_own(), F.col(n)).alias(n) for n in ("topology", "task", "component")]
    rows = lines.groupBy(*names, "problem").agg(F.count("*").alias("lines")).collect()
    problems: Counter[str] = Counter()
    for row in rows:
        if row.problem is not None:
            problems[row.problem] += row.lines
    return by_topology(row for row in rows if row.topology is not None), dict(problems)


def _counts(sums: Sums, topology: str) -> bool:
    return any(run.ms > 0 for run in sums.runs[topology])


def _slice(sums: Sums, topology: str) -> Slice:
    runs = [run for run in sums.runs[topology] if run.ms > 0]
    return Slice(
        min(run.begin_s for run in runs),
        max(run.end_s for run in runs),
        tuple(task_totals(sums, topology)),
        tuple(pair_totals(sums, topology)),
    )
