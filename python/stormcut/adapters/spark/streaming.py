"""The stream: lines of metrics in; what is new in each topology out, batch by batch.

Lines come in closed pieces of logs, and from a Kafka topic where there is one.

Spark finds what is new, and reads it once; what it says is computed as in the batch job.
"""

from __future__ import annotations

import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from stormcut.adapters.files.kafka_topic import KafkaTopic
from stormcut.profile.batches import FORGET_S, Batches
from stormcut.profile.decay import Slice
from stormcut.profile.intervals import Window

#: Pieces lie in ``<spool>/topology=<id>/``.
PIECES = "value STRING, topology STRING"
#: Most bytes of them in one batch, which comes into this process: what has piled up is taken in
#: parts.
MAX_BYTES = 64 << 20
#: Most lines of a topic in one batch.
MAX_LINES = 100_000
#: What Storm makes of a topology's name: a key that is none would be no node's name, either.
TOPOLOGY_ID = r"^[^/.:\\\p{Cntrl}]+-\d+-\d+$"

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
    batches = Batches(Window(settings.from_epoch_s, None, settings.warm_up_s))
    lines = _pieces(spark, spool)
    if topic is not None:
        lines = lines.unionByName(_messages(spark, topic, settings.from_epoch_s))
    query = (
        lines.writeStream.foreachBatch(partial(_take, batches, consumer))
        .option("checkpointLocation", str(scratch / "checkpoint"))
        .trigger(processingTime=f"{settings.every_s:g} seconds")
        .start()
    )

    def ended() -> str | None:
        if query.isActive:
            return None
        error = query.exception()
        return "it was stopped" if error is None else describe_error(error)

    try:
        yield ended
    finally:
        query.stop()
        shutil.rmtree(scratch, ignore_errors=True)


def describe_error(error: Exception) -> str:
    """Return the line of one of Spark's exceptions that names the error.

    When a callback of `foreachBatch` fails, Python's whole trace comes before that line.
    """
    *_, last = str(error).split("Traceback (most recent call last):\n")
    lines = [line for line in last.splitlines() if line and not line.startswith(" ")]
    return lines[0] if lines else type(error).__name__


def _pieces(spark: SparkSession, spool: str) -> DataFrame:
    pieces = (
        spark.readStream.schema(PIECES)
        .option("basePath", spool)
        .option("maxBytesPerTrigger", str(MAX_BYTES))
        .option("cleanSource", "delete")
        .option("maxFileAge", "1h")
        # A file beside them would be one more column, and end the stream.
        .text(f"{spool}/topology=*")
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


def _take(batches: Batches, consumer: Consumer, raw: DataFrame, _: int) -> None:
    """Sum up a batch in this process: planning a query for it would take longer."""
    lines: dict[str, list[bytes]] = defaultdict(list)
    for topology, line in raw.collect():
        lines[topology].append(line.encode())
    text = {topology: b"\n".join(each) for topology, each in lines.items()}
    consumer(*batches.add(text, time.time()))
