"""Spark's settings by the size of its input: few seconds for little, bounded memory for much."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

#: Of metrics logs as log4j packs them.
_GZIP_RATIO = 12
#: Up to here (about 60,000 lines) compiling queries and spreading rows costs more than it saves.
SMALL_BYTES = 16 * 2**20
#: Of text, for each partition of a shuffle.
_PARTITION_BYTES = 64 * 2**20

#: One partition needs no shuffle and no broadcast, and interpreted queries no compiler.
SMALL = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}


def text_bytes(paths: Iterable[Path]) -> int:
    """Return about how much text some logs hold, packed ones included."""
    return sum(path.stat().st_size * (_GZIP_RATIO if path.suffix == ".gz" else 1) for path in paths)


def settings(size: int) -> dict[str, str]:
    """Return the SQL settings for so many bytes of text."""
    if size <= SMALL_BYTES:
        return SMALL
    return {
        "spark.sql.codegen.wholeStage": "true",
        "spark.sql.codegen.factoryMode": "FALLBACK",
        "spark.sql.shuffle.partitions": str(max(4, size // _PARTITION_BYTES)),
        "spark.sql.autoBroadcastJoinThreshold": str(10 * 2**20),
    }


def java_options(size: int) -> str:
    """Return the JVM's options for so many bytes of text."""
    # A run of seconds: the second compiler costs as much CPU as it saves only in long ones.
    return (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" if size <= SMALL_BYTES else "-XX:+UseParallelGC"
    )


@contextmanager
def tuned(spark: SparkSession, size: int) -> Iterator[None]:
    """Give a session the SQL settings for so many bytes of text, and its own ones back."""
    before = {key: spark.conf.get(key) for key in SMALL}
    _set(spark, settings(size))
    try:
        yield
    finally:
        _set(spark, before)


def _set(spark: SparkSession, values: dict[str, Any]) -> None:
    for key, value in values.items():
        spark.conf.set(key, value)


def gathered(rows: DataFrame, size: int) -> DataFrame:
    """Return the rows of so many bytes of text in one partition, if that is little."""
    return rows.coalesce(1) if size <= SMALL_BYTES else rows


def computed_once(rows: DataFrame) -> DataFrame:
    """Return rows that are computed once and kept, without the plan that they come from.

    Spark would look through all of that plan for each step and each query that follows.
    """
    return rows.localCheckpoint(eager=False)
