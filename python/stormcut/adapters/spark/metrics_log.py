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
MAX_AHEAD_S = 300.0

#: What an interval can hold, with much to spare; beyond it sums would leave a BIGINT's range, of
#: which Spark makes an end of the whole batch.
MIN_MS, MAX_MS = 1.0, 1e10
MIN_SHARE = 1e-4
MAX_COUNTED = 10_000_000_000
MAX_SUM = 1_000_000_000_000_000
#: The year 5138.
LAST_EPOCH_S = 100_000_000_000

#: Java writes numbers in the digits of its locale, each a character of 16 bits.
_DIGITS = "".join(each for each in map(chr, range(128, 0x10000)) if each.isdecimal())
_NUMBER = r"-?(?:[0-9][0-9.]*(?:E-?[0-9]+)?|Infinity|NaN)"
_ENTRY = rf"[^{{}},=]+={_NUMBER}(?=[,}}])"

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
        The time, in seconds since the epoch: lines of more than `MAX_AHEAD_S` later are refused.

    Returns
    -------
    DataFrame
        ``topology``, ``epoch_s``, ``host``, ``port``, ``task``, ``component``, ``metric``,
        ``value`` (null if it is the hook's), ``hook`` (the hook's value, else null), ``problem``
        (why the line cannot be used, null if it can) and ``line`` (null if it can be used).
    """
    part = raw.select("topology", "line", F.split("line", "\t", 5).alias("part"))
    # One projection a step: in one alone, Spark would split each line for every use of a part.
    text = part.select(
        "topology",
        "line",
        *(
            _in_ascii(F.get("part", F.lit(index))).alias(name)
            for index, name in enumerate(("head", "worker", "source"))
        ),
        F.trim(F.get("part", F.lit(3))).alias("metric"),
        F.get("part", F.lit(4)).alias("value"),
    )
    fields = text.select(
        "topology",
        "line",
        F.substring_index("head", " ", -1).try_cast("long").alias("epoch_s"),
        *_worker(F.trim("worker")),
        *_task(F.trim("source")),
        "metric",
        "value",
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
    is_ascii = F.octet_length(text) == F.length(text)
    return F.when(is_ascii, text).otherwise(F.translate(text, _DIGITS, digits))


def _worker(worker: Column) -> tuple[Column, Column]:
    port = F.substring_index(worker, ":", -1)
    host = F.substring(worker, F.lit(1), F.length(worker) - F.length(port) - 1)
    return host.alias("host"), port.try_cast("int").alias("port")


def _task(source: Column) -> tuple[Column, Column]:
    task = F.substring_index(source, ":", 1)
    component = F.substring(source, F.length(task) + 2, F.length(source))
    number = F.when(F.contains(source, F.lit(":")), task.try_cast("int"))
    return number.alias("task"), component.alias("component")


def _problem(now_s: float) -> Column:
    has_time = F.coalesce(F.col("epoch_s").between(0, LAST_EPOCH_S), F.lit(False))
    has_worker = (F.col("host") != "") & ~F.contains("host", F.lit(" ")) & (F.col("port") >= 0)
    is_hook = F.col("metric") == HOOK_METRIC
    other_version = F.coalesce(F.col("hook.v") != HOOK_VERSION, F.lit(False))
    return (
        F.when(F.col("value").isNull(), NOT_A_METRIC)
        .when(~has_time, NO_TIME)
        .when(~F.coalesce(has_worker, F.lit(False)), NO_WORKER)
        .when(F.col("task").isNull(), NO_TASK)
        .when(F.col("epoch_s") > now_s + MAX_AHEAD_S, AHEAD)
        .when(is_hook & other_version, NEWER_HOOK)
        # Of a line that was cut, Spark reads what is there.
        .when(is_hook & ~F.rtrim("value").endswith("}"), BROKEN_HOOK)
        .when(is_hook & ~F.coalesce(_hook_is_whole(), F.lit(False)), BROKEN_HOOK)
    )


def _hook_is_whole() -> Column:
    whole = (F.col("hook.v") == HOOK_VERSION) & (F.col("hook.task") == F.col("task"))
    whole &= (F.size("hook.executor") == 2) & (F.size("hook.complete_ms") == 2)
    whole &= F.col("hook.ms").between(MIN_MS, MAX_MS)
    share = F.col("hook.measured_ms") / F.col("hook.ms")
    whole &= F.coalesce(share.between(MIN_SHARE, 1), F.col("hook.measured_ms").isNull())
    for count in ("local", "executed", "acked", "failed"):
        whole &= F.col(f"hook.{count}").between(0, MAX_COUNTED)
    sum_ms, completed = F.col("hook.complete_ms")[0], F.col("hook.complete_ms")[1]
    whole &= sum_ms.between(0, MAX_SUM) & completed.between(0, MAX_COUNTED)
    usage = ("cpu_ms", "cores", "machine_cpu_ms", "in_bytes", "out_bytes")
    for name in ("cpu_ms", "child.cpu_ms", "child.rss_bytes", *(f"worker.{n}" for n in usage)):
        amount = F.col(f"hook.{name}")
        whole &= amount.isNull() | amount.between(0, MAX_SUM)
    return whole & F.forall(F.map_entries("hook.to"), _is_target)


def _is_target(entry: Column) -> Column:
    sent, sampled, size = (F.get(entry["value"], F.lit(index)) for index in range(3))
    counted = sent.between(0, MAX_COUNTED) & sampled.between(0, MAX_COUNTED)
    whole = counted & size.between(0, MAX_SUM) & (F.size(entry["value"]) == 3)
    return entry["key"].try_cast("int").isNotNull() & F.coalesce(whole, F.lit(False))


def hook_lines(lines: DataFrame) -> DataFrame:
    """Return the hook's lines of tasks that Storm schedules, one row a task and interval.

    A busy task is measured for a ``share`` of the interval: its counts are scaled to the whole, but
    for those in ``to``, which `scaled` is for. The tasks of ``__system`` (below 0) run in every
    worker and are never placed: left out.
    """
    usable = lines.where(F.col("hook").isNotNull() & F.col("problem").isNull())
    share = F.coalesce(F.col("hook.measured_ms") / F.col("hook.ms"), F.lit(1.0))
    scheduled = usable.where(F.col("task") >= 0).withColumn("share", share)
    counts = F.map_values("hook.to")
    return scheduled.select(
        "topology",
        "task",
        "component",
        "host",
        "port",
        F.col("epoch_s").alias("end_s"),
        (F.col("epoch_s") - F.col("hook.ms") / 1000).alias("begin_s"),
        F.col("hook.ms").alias("ms"),
        F.col("hook.executor")[0].alias("start_task"),
        F.col("hook.executor")[1].alias("end_task"),
        "share",
        F.col("hook.to").alias("to"),
        F.aggregate(counts, F.lit(0).cast("long"), lambda sum_, to: sum_ + scaled(to[0])).alias(
            "sent"
        ),
        *(
            scaled(F.col(f"hook.{name}")).alias(name)
            for name in ("local", "executed", "acked", "failed")
        ),
        (F.col("hook.complete_ms")[0] / F.col("share")).alias("complete_ms"),
        scaled(F.col("hook.complete_ms")[1]).alias("completed"),
        F.col("hook.cpu_ms").alias("cpu_ms"),
        F.col("hook.child").alias("child"),
        F.col("hook.worker").alias("worker"),
    )


def scaled(counted: Column) -> Column:
    """Return a count of the measured ``share`` of an interval as one of the whole interval."""
    return F.round(counted / F.col("share")).cast("long")


def builtin_metrics(lines: DataFrame) -> DataFrame:
    """Return all metrics but the hook's, one row a number.

    A plain number has a null ``key``; a map ``{a=1, b=2.5}`` gives a row per entry. Of nested maps
    the innermost entries are kept, so that a key can occur more than once.
    """
    usable = lines.where(F.col("problem").isNull() & F.col("hook").isNull())
    place = ["topology", "component", "task", "host", "port", "epoch_s", "metric"]
    entry, nothing = F.col("entry"), F.lit(None).cast("string")
    # Of "a=b=1" the key is b.
    key = F.substring_index(F.substring_index(entry, "=", -2), "=", 1)
    number = F.substring_index(entry, "=", -1).try_cast("double")
    is_entry = F.contains(entry, F.lit("="))
    return (
        usable.select(*place, "value", F.explode(_entries(F.col("value"))).alias("entry"))
        .where(
            number.isNotNull() & (~is_entry | (key != "")) & (is_entry | (entry == F.col("value")))
        )
        .select(
            *place,
            F.when(is_entry, F.trim(key)).otherwise(nothing).alias("key"),
            number.alias("value"),
        )
    )


def _entries(value: Column) -> Column:
    """Return a plain number, or what can be an entry ``a=1`` of a map."""
    inner = F.substring(value, F.lit(2), F.length(value) - 2)
    is_map = value.startswith("{") & value.endswith("}") & ~F.contains(inner, F.lit("{"))
    return (
        F.when(~F.contains(value, F.lit("=")), F.array(value))
        # Regular expressions take four times as long: for nested maps alone.
        .when(is_map, F.split(inner, ","))
        .otherwise(F.regexp_extract_all(value, F.lit(_ENTRY), 0))
    )
