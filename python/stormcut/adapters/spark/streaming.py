"""The stream: lines of metrics in; what is new in each topology out, batch by batch.

Lines come in closed pieces of logs, and from a Kafka topic where there is one.

The transformations are those of the batch job. What they need of the past, the last interval of
every task, is a small table from one batch to the next: it stays in Spark.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from stormcut.adapters.files.kafka_topic import KafkaTopic
from stormcut.adapters.spark import tables
from stormcut.adapters.spark.collected import Sums, by_topology, pair_totals, task_totals
from stormcut.adapters.spark.metrics_log import builtin_metrics, hook_lines, parse_lines
from stormcut.profile.decay import Slice

#: Pieces lie in ``<spool>/topology=<id>/``.
PIECES = "value STRING, topology STRING"
#: Most of them in one batch: what has piled up is taken in parts.
MOST_PIECES = 200
#: Most lines of a topic in one batch.
MOST_LINES = 100_000
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
    batches = _Batches(scratch, settings, consumer)
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
        .option("maxFilesPerTrigger", str(MOST_PIECES))
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
        .option("maxOffsetsPerTrigger", str(MOST_LINES))
        # Lines that Kafka has deleted before they were read are too old to count.
        .option("failOnDataLoss", "false")
        .load()
    )
    text = messages.selectExpr("string(key) AS topology", "string(value) AS line")
    return text.where(F.col("topology").rlike(TOPOLOGY_ID))


class _Batches:
    """What happens to each batch, and what is carried from one to the next."""

    def __init__(self, scratch: Path, settings: StreamSettings, consumer: Consumer) -> None:
        self._scratch = scratch
        self._settings = settings
        self._consumer = consumer
        self._carried: Path | None = None

    def take(self, raw: DataFrame, number: int) -> None:
        lines = parse_lines(raw.coalesce(1), time.time()).persist()
        try:
            problems = lines.where("problem IS NOT NULL").groupBy("problem").count().collect()
            slices = self._slices(lines, number)
        finally:
            raw.sparkSession.catalog.clearCache()
        self._consumer(slices, {row["problem"]: row["count"] for row in problems})

    def _slices(self, lines: DataFrame, number: int) -> dict[str, Slice]:
        builtin = builtin_metrics(lines)
        hooks = hook_lines(lines).withColumn("carried_run_s", F.lit(None).cast("double"))
        if self._carried is not None:
            known = lines.sparkSession.read.schema(hooks.schema).parquet(str(self._carried))
            hooks = hooks.unionByName(known)
        counts = tables.in_window(self._settings.from_epoch_s, None, self._settings.warm_up_s)
        is_new = F.col("carried_run_s").isNull()
        intervals = tables.intervals(hooks).withColumn("in_window", counts & is_new).persist()
        runs = tables.runs(intervals, builtin).persist()
        pairs = tables.pair_totals(tables.traffic(tables.with_worker_start(intervals, runs), runs))
        sums = Sums(
            by_topology(runs.collect()),
            by_topology(pairs.collect()),
            by_topology(tables.builtin_tasks(lines).collect()),
            {},
        )
        self._carry(intervals, number)
        return {name: _slice(sums, name) for name in sums.runs if _counts(sums, name)}

    def _carry(self, intervals: DataFrame, number: int) -> None:
        """Keep the last interval of every task for the next batch; it does not count there."""
        last = Window.partitionBy("topology", "task").orderBy(F.desc("end_s"))
        latest = F.max("end_s").over(Window.partitionBy("topology"))
        kept = (
            intervals.withColumns({"nth": F.row_number().over(last), "latest": latest})
            .where((F.col("nth") == 1) & (F.col("end_s") > F.col("latest") - FORGET_S))
            .withColumn("carried_run_s", F.col("run_s"))
            .drop("nth", "latest", "run_s", "in_window")
        )
        path = self._scratch / f"last-{number}"
        kept.write.mode("overwrite").parquet(str(path))
        if self._carried not in (None, path):
            shutil.rmtree(str(self._carried), ignore_errors=True)
        self._carried = path


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
