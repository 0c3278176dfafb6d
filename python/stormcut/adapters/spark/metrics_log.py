r"""Lines of `worker.log.metrics` as columns: Storm's own metrics and the hook's.

Storm's LoggingMetricsConsumer writes, behind log4j's ``<time> <ms since JVM start>``::

    <epoch s>\t<host>:<port>\t<task>:<component>\t<name>\t<value>

Everything here is a DataFrame -> DataFrame function of Spark SQL alone.
"""

from __future__ import annotations

import unicodedata

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

HOOK_METRIC = "stormcut"
HOOK_VERSION = 1

#: Why a line was not used; null for the lines that were.
NOT_A_METRIC = "not a line of Storm's metrics consumer"
NO_TIME = "no seconds since 1970 before its first tab"
NO_WORKER = "no host:port before its second tab"
NO_TASK = "no task:component before its third tab"
NEWER_HOOK = f"written by another version of the hook than {HOOK_VERSION}: update stormcut"
BROKEN_HOOK = "value of the hook with missing or wrong parts"
AHEAD = "dated in the future: its host's clock is more than 5 minutes ahead"

#: Clocks of two hosts may differ by this much. A line dated later would make all lines of the same
#: topology that follow look old.
MOST_AHEAD_S = 300.0

#: What an interval can hold, with much to spare; beyond it sums would leave a BIGINT's range, of
#: which Spark makes an end of the whole batch.
LEAST_MS, MOST_MS = 1.0, 1e10
LEAST_SHARE = 1e-4
MOST_COUNTED = 10_000_000_000
MOST_SUM = 1_000_000_000_000_000
#: The year 5138.
LAST_EPOCH_S = 100_000_000_000

# Whatever log4j's pattern puts before them, the consumer's own seconds since 1970 end the field.
_HEAD = r"^(?:.*\s)?(\d+)$"
_WORKER = r"^ *(\S+):(\d+) *$"
#: Java writes numbers in the digits of its locale, each a character of 16 bits.
_DIGITS = "".join(each for each in map(chr, range(128, 0x10000)) if each.isdecimal())
_TASK = r"^ *(-?\d+):(.*?) *$"
_NUMBER = r"-?(?:[0-9][0-9.]*(?:E-?[0-9]+)?|Infinity|NaN)"
_ENTRY = rf"([^{{}},=]+)=({_NUMBER})(?=[,}}])"

_HOOK_SCHEMA = """
    v INT, task INT, component STRING, executor ARRAY<INT>, ms DOUBLE, measured_ms DOUBLE,
    to MAP<STRING, ARRAY<BIGINT>>, local BIGINT,
    executed BIGINT, acked BIGINT, failed BIGINT, complete_ms ARRAY<DOUBLE>, cpu_ms DOUBLE,
    child STRUCT<pid: BIGINT, cpu_ms: DOUBLE, rss_bytes: BIGINT>,
    worker STRUCT<cpu_ms: DOUBLE, cores: DOUBLE, machine_cpu_ms: DOUBLE, in_bytes: DOUBLE,
        out_bytes: DOUBLE, machine: STRING>
"""


def parse_lines(raw: DataFrame, now_s: float) -> DataFrame:
    """Split lines into fields.

    Parameters
    ----------
    raw : DataFrame
        ``topology``, ``line``.
    now_s : float
        The time, in seconds since the epoch: lines of more than `MOST_AHEAD_S` later are refused.

    Returns
    -------
    DataFrame
        ``topology``, ``epoch_s``, ``host``, ``port``, ``task``, ``component``, ``metric``,
        ``value`` (null if it is the hook's), ``hook`` (the hook's value, else null), ``problem``
        (why the line cannot be used, null if it can) and ``line`` (null if it can be used).
    """
    part = F.split("line", "\t", 5)
    field = [_in_ascii(F.get(part, F.lit(index))) for index in range(3)]
    field += [F.get(part, F.lit(index)) for index in range(3, 5)]
    fields = raw.select(
        "topology",
        "line",
        F.regexp_extract(field[0], _HEAD, 1).try_cast("long").alias("epoch_s"),
        F.regexp_extract(field[1], _WORKER, 1).alias("host"),
        F.regexp_extract(field[1], _WORKER, 2).try_cast("int").alias("port"),
        F.regexp_extract(field[2], _TASK, 1).try_cast("int").alias("task"),
        F.regexp_extract(field[2], _TASK, 2).alias("component"),
        F.trim(field[3]).alias("metric"),
        field[4].alias("value"),
    )
    hook = F.when(F.col("metric") == HOOK_METRIC, F.from_json("value", _HOOK_SCHEMA))
    judged = fields.withColumn("hook", hook).withColumn("problem", _problem(now_s))
    # What is kept is small: no line stays that was understood, no text beside its meaning.
    return judged.withColumns(
        {
            "line": F.when(F.col("problem").isNotNull(), F.col("line")),
            "value": F.when(F.col("hook").isNull(), F.col("value")),
        }
    )


def _in_ascii(text: Column) -> Column:
    """Return a text with digits of any script as those of ASCII."""
    digits = "".join(str(unicodedata.digit(letter)) for letter in _DIGITS)
    return F.when(text.rlike(r"[^\x00-\x7f]"), F.translate(text, _DIGITS, digits)).otherwise(text)


def _problem(now_s: float) -> Column:
    has_time = F.coalesce(F.col("epoch_s") <= LAST_EPOCH_S, F.lit(False))
    is_hook = F.col("metric") == HOOK_METRIC
    other_version = F.coalesce(F.col("hook.v") != HOOK_VERSION, F.lit(False))
    return (
        F.when(F.col("value").isNull(), NOT_A_METRIC)
        .when(~has_time, NO_TIME)
        .when(F.col("port").isNull(), NO_WORKER)
        .when(F.col("task").isNull(), NO_TASK)
        .when(F.col("epoch_s") > now_s + MOST_AHEAD_S, AHEAD)
        .when(is_hook & other_version, NEWER_HOOK)
        # Of a line that was cut, Spark reads what is there.
        .when(is_hook & ~F.rtrim("value").endswith("}"), BROKEN_HOOK)
        .when(is_hook & ~F.coalesce(_hook_is_whole(), F.lit(False)), BROKEN_HOOK)
    )


def _hook_is_whole() -> Column:
    whole = (F.col("hook.v") == HOOK_VERSION) & (F.col("hook.task") == F.col("task"))
    whole &= (F.size("hook.executor") == 2) & (F.size("hook.complete_ms") == 2)
    whole &= F.col("hook.ms").between(LEAST_MS, MOST_MS)
    share = F.col("hook.measured_ms") / F.col("hook.ms")
    whole &= F.coalesce(share.between(LEAST_SHARE, 1), F.col("hook.measured_ms").isNull())
    for count in ("local", "executed", "acked", "failed"):
        whole &= F.col(f"hook.{count}").between(0, MOST_COUNTED)
    sum_ms, completed = F.col("hook.complete_ms")[0], F.col("hook.complete_ms")[1]
    whole &= sum_ms.between(0, MOST_SUM) & completed.between(0, MOST_COUNTED)
    usage = ("cpu_ms", "cores", "machine_cpu_ms", "in_bytes", "out_bytes")
    for name in ("cpu_ms", "child.cpu_ms", "child.rss_bytes", *(f"worker.{n}" for n in usage)):
        amount = F.col(f"hook.{name}")
        whole &= amount.isNull() | amount.between(0, MOST_SUM)
    return whole & F.forall(F.map_entries("hook.to"), _is_target)


def _is_target(entry: Column) -> Column:
    sent, sampled, size = (F.get(entry["value"], F.lit(index)) for index in range(3))
    counted = sent.between(0, MOST_COUNTED) & sampled.between(0, MOST_COUNTED)
    whole = counted & size.between(0, MOST_SUM) & (F.size(entry["value"]) == 3)
    return entry["key"].try_cast("int").isNotNull() & F.coalesce(whole, F.lit(False))


def hook_lines(lines: DataFrame) -> DataFrame:
    """Return the hook's lines of tasks that Storm schedules, one row a task and interval.

    A busy task is measured for a part of the interval: its counts are scaled to the whole. The
    tasks of ``__system`` (below 0) run in every worker and are never placed: left out.
    """
    usable = lines.where(F.col("hook").isNotNull() & F.col("problem").isNull())
    scheduled = usable.where(F.col("task") >= 0).withColumn("ms", F.col("hook.ms"))
    share = F.coalesce(F.col("hook.measured_ms") / F.col("ms"), F.lit(1.0))

    def scaled(counted: Column) -> Column:
        return F.round(counted / share).cast("long")

    targets = F.transform_values(
        "hook.to", lambda _, counts: F.array(scaled(counts[0]), counts[1], counts[2])
    )
    return scheduled.select(
        "topology",
        "task",
        "component",
        "host",
        "port",
        F.col("epoch_s").alias("end_s"),
        (F.col("epoch_s") - F.col("hook.ms") / 1000).alias("begin_s"),
        "ms",
        F.col("hook.executor")[0].alias("start_task"),
        F.col("hook.executor")[1].alias("end_task"),
        targets.alias("to"),
        F.aggregate(
            F.map_values(targets), F.lit(0).cast("long"), lambda total, to: total + to[0]
        ).alias("sent"),
        *(
            scaled(F.col(f"hook.{name}")).alias(name)
            for name in ("local", "executed", "acked", "failed")
        ),
        (F.col("hook.complete_ms")[0] / share).alias("complete_ms"),
        scaled(F.col("hook.complete_ms")[1]).alias("completed"),
        F.col("hook.cpu_ms").alias("cpu_ms"),
        F.col("hook.child").alias("child"),
        F.col("hook.worker").alias("worker"),
    )


def builtin_metrics(lines: DataFrame) -> DataFrame:
    """Return all metrics but the hook's, one row a number.

    A plain number has a null ``key``; a map ``{a=1, b=2.5}`` gives a row per entry. Of nested maps
    the innermost entries are kept, so that a key can occur more than once.
    """
    usable = lines.where(F.col("problem").isNull() & F.col("hook").isNull())
    number = F.col("value").try_cast("double")
    names = F.regexp_extract_all("value", F.lit(_ENTRY), 1)
    keys = F.transform(names, lambda name: F.trim(name))
    numbers = F.regexp_extract_all("value", F.lit(_ENTRY), 2)
    nothing = F.lit(None).cast("string")
    plain = F.array(F.struct(nothing.alias("key"), F.col("value").alias("number")))
    entries = F.arrays_zip(keys.alias("key"), numbers.alias("number"))
    place = ["topology", "component", "task", "host", "port", "epoch_s", "metric"]
    return usable.select(
        *place, F.explode(F.when(number.isNotNull(), plain).otherwise(entries)).alias("entry")
    ).select(
        *place,
        F.col("entry.key").alias("key"),
        F.col("entry.number").try_cast("double").alias("value"),
    )
