"""The answers of stormcut's topologies, computed again by Spark from the records they were sent.

Nothing here uses the topologies' own code: a mistake there would be made twice.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from tempfile import NamedTemporaryFile
from typing import Any

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from stormcut.adapters.spark.session import spark_session
from stormcut.lab.adapters.storm.topology_project import data_lines
from stormcut.lab.experiment.loss import Report

Options = Mapping[str, Any]


def _as_they_are(data: Sequence[str], ordinals: Sequence[int]) -> list[str]:
    return [data[ordinal % len(data)] for ordinal in ordinals]


@dataclass(frozen=True)
class Answer:
    """How a topology's answer is put together and what it must be.

    Attributes
    ----------
    component : str
        Whose tasks' reports hold the answer; ``{bolts}`` in it is the value of that option.
    merge : callable
        From the parts of all its tasks to the whole.
    expected : callable
        From the records that were sent, and the topology's options, to the same whole.
    options : mapping
        Options without which the answer would depend on when tuples come.
    sent : callable
        From the data and the ordinals that were sent to the records that were sent: a source may
        alter a record from one replay to the next.
    """

    component: str
    merge: Callable[[list[Any]], Any]
    expected: Callable[[SparkSession, Sequence[str], Options], Any]
    options: Options = field(default_factory=dict)
    sent: Callable[[Sequence[str], Sequence[int]], list[str]] = _as_they_are

    def given(self, reports: Sequence[Report], options: Options) -> Any:
        """Return the answer of a topology with these options."""
        component = self.component.format_map(options)
        return self.merge([r["answer"] for r in reports if r["component"] == component])

    def computed(self, records: Sequence[str], options: Options) -> Any:
        """Return what Spark answers, in the session of the block around or one of its own."""
        with spark_session("local[2]") as spark:
            return self.expected(spark, records, options)


def _sum_counts(parts: list[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)


def _sum_lists(parts: list[list[int]]) -> list[int]:
    return [sum(column) for column in zip(*parts, strict=True)]


def _union(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {key: value for part in parts for key, value in part.items()}


def _the_one(parts: list[Any]) -> Any:
    """Return the part that is not empty: a global grouping leaves the other tasks idle."""
    return next((part for part in parts if part), None)


def _lines(spark: SparkSession, records: Sequence[str]) -> Any:
    """Return one row a record, through a file: rows made in Python need Python in Spark, too."""
    scratch = spark.conf.get("spark.local.dir")
    with NamedTemporaryFile("w", dir=scratch, delete=False, encoding="utf-8") as file:
        file.writelines(f"{record}\n" for record in records)
    return spark.read.text(file.name, lineSep="\n").select(F.col("value").alias("line"))


def _word_count(spark: SparkSession, records: Sequence[str], options: Options) -> dict[str, int]:
    pattern = F.lit(r"[a-z]+(?:['’][a-z]+)*")
    words = F.explode(F.regexp_extract_all(F.lower("line"), pattern, F.lit(0)))
    rows = _lines(spark, records).select(words.alias("word")).groupBy("word").count().collect()
    return {row["word"]: row["count"] for row in rows}


def _communication(spark: SparkSession, records: Sequence[str], options: Options) -> int:
    factor = 2 ** options["bolts"]
    characters = F.sum((F.length("line") + 1) * factor - 1)
    total: int = _lines(spark, records).select(characters).first()[0]
    return total


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
        *(
            F.get(fields, F.lit(6 + n)).try_cast("double").alias(name)
            for n, name in enumerate(places)
        )
    )
    route = F.concat_ws("-", cell("from_north", "from_east"), cell("to_north", "to_east"))
    counts = trips.dropna().groupBy(route.alias("route")).count()
    rows = counts.orderBy(F.desc("count"), "route").limit(10).collect()
    return [[row["route"], row["count"]] for row in rows]


def _trending(spark: SparkSession, records: Sequence[str], options: Options) -> list[Any]:
    tags = F.regexp_extract_all(F.lower("text"), F.lit(r"#([a-z0-9_]+)"))
    counts = _tweets(spark, records).select(F.explode(tags).alias("tag")).groupBy("tag").count()
    rows = counts.orderBy(F.desc("count"), "tag").limit(options["k"]).collect()
    return [[row["tag"], row["count"]] for row in rows]


def _sentiment(spark: SparkSession, records: Sequence[str], options: Options) -> dict[str, int]:
    """Return the tweets of each mood; stop words need no care, as no lexicon holds one."""
    letters = F.regexp_replace(F.lower("text"), "[^a-z]+", " ")
    words = F.split(F.trim(letters), " +")

    def score(mood: str) -> Any:
        lexicon = F.array(*map(F.lit, data_lines(f"lexicon/{mood}.txt")))
        return F.size(F.filter(words, lambda word: F.array_contains(lexicon, word)))

    difference = score("positive") - score("negative")
    mood = F.when(difference == 0, "neutral").when(difference > 0, "positive")
    rows = (
        _tweets(spark, records).groupBy(mood.otherwise("negative").alias("mood")).count().collect()
    )
    return {row["mood"]: row["count"] for row in rows}


def _tweets(spark: SparkSession, records: Sequence[str]) -> Any:
    parsed = F.from_json("line", "text string")["text"].alias("text")
    return _lines(spark, records).select(parsed).dropna()


def _log_counts(spark: SparkSession, records: Sequence[str], options: Options) -> dict[str, int]:
    """Return the lines of each level and program: the level is that of the first rule met."""
    pattern = r"^\w{3} [ \d]\d [\d:]{8} \S+ ([\w-]+)(?:\[\d+\])?: (.*)$"
    program = F.regexp_extract("line", pattern, 1)
    text = F.lower(F.regexp_extract("line", pattern, 2))
    level = (
        F.when(text.rlike("failed|failure|invalid|break-in|not allowed"), "warning")
        .when(text.rlike("error|fatal|bad protocol|unable"), "error")
        .when(text.rlike("accepted|session opened|new user"), "notice")
        .otherwise("info")
    )
    lines = _lines(spark, records).where(program != "")
    rows = lines.groupBy(F.concat_ws(" ", level, program).alias("key")).count().collect()
    return {row["key"]: row["count"] for row in rows}


def _one_after_another(data: Sequence[str], ordinals: Sequence[int]) -> list[str]:
    """Return readings with seconds since the first of the data, replays one after another."""
    seconds = [second for line in data if (second := _second_of_load(line)) is not None] or [0]
    start, span = seconds[0], seconds[-1] + 1 - seconds[0]

    def sent(ordinal: int) -> str:
        replay, number = divmod(ordinal, len(data))
        second = _second_of_load(data[number])
        if second is None:
            return data[number]
        name, _, rest = data[number].split(",", 2)
        return f"{name},{second - start + replay * span},{rest}"

    return [sent(ordinal) for ordinal in ordinals]


def _second_of_load(line: str) -> int | None:
    """Return when a load was read, None if that is not what the line holds."""
    try:
        _, second, watts, kind, _, _, _ = line.split(",")
        return int(second) if kind == "1" and math.isfinite(float(watts)) else None
    except ValueError:
        return None


def _predictions(spark: SparkSession, records: Sequence[str], options: Options) -> dict[str, float]:
    """Return every prediction of the DEBS 2014 query, averages by Spark, the model from its text.

    Slice t is predicted as the mean of the average of slice t - 2 and the median of the averages
    of slices t - n days, or as the former alone; a house is the sum of its plugs. Slices are
    counted from second 0 of the records.
    """
    averages = _averages(spark, records, options["slice.seconds"])
    day = options["slices.per.day"]
    plugs: dict[str, dict[int, float]] = {}
    houses: dict[tuple[str, int], list[float]] = {}
    for plug, slices in averages.items():
        for base, average in slices.items():
            past = [slices[s] for s in slices if s < base + 2 and (base + 2 - s) % day == 0]
            load = (average + statistics.median(past)) / 2 if past else average
            plugs.setdefault(f"plug {plug}", {})[base + 2] = load
            houses.setdefault((plug.split("/")[0], base + 2), []).append(load)
    predicted = {f"{who} @{t}": load for who, loads in plugs.items() for t, load in loads.items()}
    predicted |= {f"house {house} @{t}": math.fsum(loads) for (house, t), loads in houses.items()}
    return {key: round(load, 6) for key, load in predicted.items()}


def _averages(
    spark: SparkSession, records: Sequence[str], slice_s: int
) -> dict[str, dict[int, float]]:
    """Return the average load of each plug in each slice, in watts."""
    field = [F.get(F.split("line", ","), F.lit(n)) for n in range(7)]
    # whole: a sum that is exact in any order
    milliwatts = F.round(field[2].try_cast("double") * 1000).try_cast("long")
    readings = (
        _lines(spark, records)
        .where((F.size(F.split("line", ",")) == 7) & (field[3] == "1"))
        .select(
            F.concat_ws("/", field[6], field[5], field[4]).alias("plug"),
            field[1].try_cast("long").alias("second"),
            milliwatts.alias("milliwatts"),
        )
        .dropna()
    )
    averages = (
        readings.groupBy("plug", F.floor(F.col("second") / slice_s).alias("slice"))
        .agg(F.sum("milliwatts").alias("total"), F.count("*").alias("n"))
        .collect()
    )
    means: dict[str, dict[int, float]] = {}
    for row in averages:
        means.setdefault(row["plug"], {})[row["slice"]] = row["total"] / row["n"] / 1000
    return means


def _continue_clicks(data: Sequence[str], ordinals: Sequence[int]) -> list[str]:
    """Return clicks at equal distances in time, replays one after another."""
    gap = int(data[1].rsplit(",", 1)[1])
    fields = [click.rsplit(",", 1)[0] for click in data]
    return [f"{fields[ordinal % len(data)]},{ordinal * gap}" for ordinal in ordinals]


def _views(spark: SparkSession, records: Sequence[str], options: Options) -> dict[str, int]:
    """Return the views of each campaign and window; ten advertisements make a campaign."""
    schema = "ad_id string, event_type string, event_time long"
    event = F.from_json("line", schema)
    views = _lines(spark, records).select(event.alias("event")).where("event.event_type = 'view'")
    campaign = F.floor(F.regexp_extract("event.ad_id", r"\d+", 0).cast("int") / 10)
    window = F.floor(F.col("event.event_time") / (options["window.seconds"] * 1000))
    key = F.format_string("campaign-%d %d", campaign, window)
    rows = views.groupBy(key.alias("key")).count().collect()
    return {row["key"]: row["count"] for row in rows}


def _columns(spark: SparkSession, records: Sequence[str], *names: str) -> Any:
    """Return comma-separated records as columns of text."""
    field = [F.get(F.split("line", ","), F.lit(n)).alias(name) for n, name in enumerate(names)]
    return _lines(spark, records).select(*field)


def _pairs(spark: SparkSession, records: Sequence[str], options: Options) -> dict[str, int]:
    """Return how many sessions hold each pair of items."""
    clicks = _columns(spark, records, "customer", "item", "kind", "second")
    session = F.floor(F.col("second").cast("long") / options["session.seconds"])
    views = clicks.where("kind = 'view'").select(
        "customer", session.alias("session"), F.col("item").cast("int").alias("item")
    )
    ones = views.distinct()
    others = ones.withColumnRenamed("item", "other")
    pairs = ones.join(others, ["customer", "session"]).where("item < other")
    rows = pairs.groupBy(F.concat_ws("-", "item", "other").alias("pair")).count().collect()
    return {row["pair"]: row["count"] for row in rows}


SALE = ("customer", "item", "channel", "year", "quantity", "price")


def _revenue(spark: SparkSession, records: Sequence[str], options: Options) -> dict[str, int]:
    """Return what was paid for the items of each of ten categories."""
    sales = _columns(spark, records, *SALE)
    category = F.concat(F.lit("category-"), (F.col("item").cast("int") % 10).cast("string"))
    paid = F.sum(F.expr("int(quantity) * int(price)")).alias("paid")
    rows = sales.groupBy(category.alias("category")).agg(paid).collect()
    return {row["category"]: row["paid"] for row in rows}


def _moved(spark: SparkSession, records: Sequence[str], options: Options) -> list[Any]:
    """Return the 20 customers whose web sales grew most beyond those in shops."""
    sign = "if((channel = 'web') = (year = '2002'), 1, -1)"
    growth = F.sum(F.expr(f"{sign} * int(quantity) * int(price)")).alias("growth")
    customers = _columns(spark, records, *SALE).groupBy("customer").agg(growth)
    rows = customers.orderBy(F.desc("growth"), "customer").limit(20).collect()
    return [[row["customer"], row["growth"]] for row in rows]


def _tolls(spark: SparkSession, records: Sequence[str], options: Options) -> dict[str, int]:
    """Return the tolls in cents: of slow, crowded segments with no accident in reach."""
    names = ("kind", "second", "car", "mph", "way", "lane", "direction", "segment", "feet")
    reports = _columns(spark, records, *names).where("kind = '0'")
    reports = reports.select(*(F.col(name).cast("int").alias(name) for name in names))
    minute = F.floor(F.col("second") / 60).alias("minute")
    crowded = (
        reports.groupBy("segment", minute)
        .agg(F.countDistinct("car").alias("cars"), F.avg("mph").alias("mph"))
        .where("mph < 40 and cars > 50")
    )
    rows = crowded.join(_accidents(reports), ["segment", "minute"], "left_anti").collect()
    return {f"{r['segment']} @{r['minute'] + 1}": 2 * (r["cars"] - 50) ** 2 for r in rows}


def _accidents(reports: Any) -> Any:
    """Return segment and minute of the reach of each accident: two cars stopped at one place."""
    row = Window.partitionBy("car").orderBy("second")
    same = [
        (F.lag("feet", n).over(row) == F.col("feet"))
        & (F.lag("second", n).over(row) == F.col("second") - 30 * n)
        for n in (1, 2, 3)
    ]
    # Replayed, a report is no other: the one before it must not be itself.
    stopped = reports.distinct().withColumn("stopped", same[0] & same[1] & same[2]).where("stopped")
    places = stopped.groupBy("feet", "segment", F.floor(F.col("second") / 60).alias("minute"))
    reach = F.explode(F.sequence(F.lit(0), F.lit(4)))
    accidents = places.agg(F.countDistinct("car").alias("cars")).where("cars > 1")
    accidents = accidents.select("minute", "segment", reach.alias("behind"))
    return accidents.select(
        ((F.col("segment") - F.col("behind") + 10) % 10).alias("segment"), "minute"
    )


def _model_driven(paths: int, **visits: int) -> Callable[..., list[int]]:
    """Return what computes records and sum at the sink of a dataflow.

    Parameters
    ----------
    paths : int
        From its source to its sink: a record arrives so often.
    visits : int
        By kind of task, how often all these paths together pass one.
    """

    def expected(spark: SparkSession, records: Sequence[str], options: Options) -> list[int]:
        yields = {
            "parse": f"aggregate(sequence(0, {options['xml.orders']} - 1), 0L, "
            "(sum, at) -> sum + (number % 64 * 31 + at * 7) % 100)",
            "pi": "3141",
            "file": "100",
            "blob": f"{options['blob.bytes']} + number % 16",
            "table": f"(number * 7919 % {options['table.rows']} * 17 + 3 * 13) % 1000",
        }
        each = " + ".join(f"{count} * ({yields[kind]})" for kind, count in visits.items())
        numbers = _lines(spark, records).select(F.col("line").cast("long").alias("number"))
        total = numbers.select(F.sum(F.expr(each))).first()[0]
        return [paths * len(records), total]

    return expected


def _one_task(spark: SparkSession, records: Sequence[str], options: Options) -> list[int]:
    return _model_driven(1, **{options["task"]: 1})(spark, records, options)


#: Topologies whose answer can be checked; of the others every tuple is accounted for.
ANSWERS: Mapping[str, Answer] = {
    "bigbench_diamond": Answer("top", _the_one, _moved),
    "bigbench_linear": Answer("pairs", _sum_counts, _pairs, sent=_continue_clicks),
    "bigbench_star": Answer("revenue", _sum_counts, _revenue),
    "communication": Answer("double_{bolts}", sum, _communication),
    "finance": Answer("sink", _sum_lists, _model_driven(2, parse=3, file=3, blob=1, pi=1, table=2)),
    "linear_road": Answer("toll", _union, _tolls),
    "load_prediction": Answer(
        "sink", _union, _predictions, {"mode": "correct"}, _one_after_another
    ),
    "log_processing": Answer("counter", _sum_counts, _log_counts),
    "model_driven_diamond": Answer(
        "sink", _sum_lists, _model_driven(4, blob=1, table=1, parse=1, file=1, pi=4)
    ),
    "model_driven_linear": Answer(
        "sink", _sum_lists, _model_driven(1, blob=1, table=1, pi=1, parse=1, file=1)
    ),
    "model_driven_star": Answer(
        "sink", _sum_lists, _model_driven(4, blob=2, table=2, pi=4, parse=2, file=2)
    ),
    "one_task": Answer("sink", _sum_lists, _one_task),
    "sentiment": Answer("score", _sum_counts, _sentiment),
    "smart_grid": Answer(
        "sink", _sum_lists, _model_driven(4, parse=6, pi=6, file=10, blob=5, table=5)
    ),
    "taxi": Answer(
        "final_rank", _the_one, _top_routes, {"window.minutes": 525_600, "mode": "correct"}
    ),
    "throughput_test": Answer("anchor", _sum_lists, _throughput),
    "traffic": Answer("sink", _sum_lists, _model_driven(4, parse=8, pi=5, file=5, blob=5, table=3)),
    "trending_topics": Answer("merge", _the_one, _trending),
    "word_count": Answer("count", _sum_counts, _word_count),
    "yahoo": Answer("count", _sum_counts, _views),
}
