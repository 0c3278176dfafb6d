"""The answers of stormcut's topologies, computed anew by Spark from the records they were sent.

Nothing here uses the topologies' own code: a mistake there would be made twice.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from stormcut.application.loss import Report

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """How a topology's answer is put together and what it must be.

    Attributes
    ----------
    component : str
        Whose tasks' reports hold the answer.
    merge : callable
        From the parts of all its tasks to the whole.
    expected : callable
        From the records that were sent, and the topology's options, to the same whole.
    options : mapping
        Options without which the answer would depend on when tuples come.
    """

    component: str
    merge: Callable[[list[Any]], Any]
    expected: Callable[[SparkSession, Sequence[str], Options], Any]
    options: Options = MappingProxyType({})

    def given(self, reports: Sequence[Report]) -> Any:
        """Return the topology's answer."""
        return self.merge([r["answer"] for r in reports if r["component"] == self.component])


def _sum_counts(parts: list[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)


def _sum_lists(parts: list[list[int]]) -> list[int]:
    return [sum(column) for column in zip(*parts, strict=True)]


def _only(parts: list[Any]) -> Any:
    (part,) = parts
    return part


def _lines(spark: SparkSession, records: Sequence[str]) -> Any:
    return spark.createDataFrame([(record,) for record in records], "line string")


def _word_count(spark: SparkSession, records: Sequence[str], options: Options) -> dict[str, int]:
    pattern = F.lit(r"[a-z]+(?:['’][a-z]+)*")
    words = F.explode(F.regexp_extract_all(F.lower("line"), pattern, F.lit(0)))
    rows = _lines(spark, records).select(words.alias("word")).groupBy("word").count().collect()
    return {row["word"]: row["count"] for row in rows}


def _communication(spark: SparkSession, records: Sequence[str], options: Options) -> int:
    factor = 2 ** options["bolts"]
    characters = F.sum((F.length("line") + 1) * factor - 1)
    found: int = _lines(spark, records).select(characters).first()[0]
    return found


def _throughput(spark: SparkSession, records: Sequence[str], options: Options) -> list[int]:
    return [len(records), len(records) * options["text.bytes"]]


def _top_routes(spark: SparkSession, records: Sequence[str], options: Options) -> list[Any]:
    """Return the ten most frequent routes between cells of 500 m, equal counts by name.

    Cells are numbered east and south from 1.1, whose centre is 42.05 N, 87.97 W.
    """
    height = 500 / 111_319.49

    def cell(latitude: str, longitude: str) -> Any:
        width = height / math.cos(math.radians(41.83))
        east = F.floor((F.col(longitude) + 87.97) / width + 0.5) + 1
        south = F.floor((42.05 - F.col(latitude)) / height + 0.5) + 1
        return F.concat_ws(".", east, south)

    fields = F.split("line", ",")
    places = ("from_north", "from_east", "to_north", "to_east")
    trips = _lines(spark, records).select(
        *(fields[6 + n].try_cast("double").alias(name) for n, name in enumerate(places))
    )
    route = F.concat_ws("-", cell("from_north", "from_east"), cell("to_north", "to_east"))
    counts = trips.dropna().groupBy(route.alias("route")).count()
    rows = counts.orderBy(F.desc("count"), "route").limit(10).collect()
    return [[row["route"], row["count"]] for row in rows]


#: Topologies whose answer can be checked; of the others every tuple is accounted for.
ANSWERS: Mapping[str, Answer] = {
    "communication": Answer("double_3", sum, _communication),
    "taxi": Answer("final_rank", _only, _top_routes, {"window.minutes": 525_600}),
    "throughput_test": Answer("anchor", _sum_lists, _throughput),
    "word_count": Answer("count", _sum_counts, _word_count),
}
