"""The tables of a profile as pure DataFrame -> DataFrame functions (docs/profile-tables.md)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

#: Epoch seconds are whole in Storm's metrics, so that two of them can be a second apart in truth.
ROUNDING_S = 1.0
#: A longer pause between two intervals of a task means that it was started again.
PAUSE_S = 2 * ROUNDING_S
#: Storm gives a worker this long to start (``nimbus.task.launch.secs``).
LAUNCH_S = 120


def intervals(hooks: DataFrame) -> DataFrame:
    """Add ``run_s``: since when the task has been running without a pause or a move.

    A worker that restarts, or a task that moves, loses its unreported counts: the next interval
    does not begin where the one before ended.
    """
    task = Window.partitionBy("topology", "task").orderBy("end_s", "begin_s")
    before = [F.lag(name).over(task) for name in ("end_s", "host", "port")]
    begins = (
        before[0].isNull()
        | (before[1] != F.col("host"))
        | (before[2] != F.col("port"))
        | (F.col("begin_s") - before[0] > PAUSE_S)
    )
    runs = hooks.withColumn("run_begin_s", F.when(begins, F.col("begin_s")))
    latest = F.last("run_begin_s", ignorenulls=True).over(task)
    return runs.withColumn("run_s", latest).drop("run_begin_s")


def in_window(from_epoch: float | None, to_epoch: float | None, warm_up_s: float) -> Column:
    """Return whether an interval counts: wholly inside the window, and not of a run's warm-up."""
    age = F.col("begin_s") - F.col("run_s")
    warm = (age >= warm_up_s - ROUNDING_S) & (age > 0) if warm_up_s > 0 else F.lit(True)
    if from_epoch is not None:
        warm &= F.col("begin_s") >= from_epoch
    if to_epoch is not None:
        warm &= F.col("end_s") <= to_epoch
    return warm


def runs(intervals: DataFrame, builtin: DataFrame) -> DataFrame:
    """Return where each task ran from ``run_s`` until ``until_s``, and when its worker started.

    ``worker_start_s`` is the JVM's own start as SystemBolt reports it (``startTimeSecs``), found
    as the last one before the run within the time that Storm gives a worker to start; without
    one, the start of the run. (The milliseconds at the head of a log line tell only how old the
    worker is that hosts the metrics consumer.)
    """
    place = ["topology", "task", "component", "host", "port", "run_s"]
    distinct = intervals.select(*place).distinct()
    order = Window.partitionBy("topology", "task").orderBy("run_s")
    starts = (
        builtin.where(F.col("metric") == "startTimeSecs")
        .select("topology", "host", "port", F.col("value").alias("start_s"))
        .distinct()
    )
    fits = F.col("start_s").between(F.col("run_s") - LAUNCH_S, F.col("run_s") + ROUNDING_S)
    started = (
        distinct.join(starts, ["topology", "host", "port"], "left")
        .groupBy(*place)
        .agg(F.max(F.when(fits, F.col("start_s"))).alias("start_s"))
    )
    return started.select(
        *place,
        F.coalesce("start_s", "run_s").alias("worker_start_s"),
        F.lead("run_s").over(order).alias("until_s"),
    )


def traffic(intervals: DataFrame, runs: DataFrame) -> DataFrame:
    """Return tuples per source task, target task and interval, with the places of both.

    A target's place is that of its own run at the end of the source's interval; null if no line
    of the target tells.
    """
    sent = intervals.select(
        "topology",
        "worker_start_s",
        "begin_s",
        "end_s",
        "ms",
        F.col("task").alias("source_task"),
        F.col("component").alias("source_component"),
        F.col("host").alias("source_host"),
        F.col("port").alias("source_port"),
        "in_window",
        F.explode("to").alias("to", "count"),
    ).withColumn("target_task", F.col("to").cast("int"))
    target = runs.select(
        "topology",
        F.col("task").alias("target_task"),
        F.col("component").alias("target_component"),
        F.col("host").alias("target_host"),
        F.col("port").alias("target_port"),
        "run_s",
        "until_s",
    )
    same = ["topology", "target_task"]
    at = [sent[name] == target[name] for name in same]
    at.append(target.run_s < sent.end_s)
    at.append(target.until_s.isNull() | (sent.end_s <= target.until_s))
    return sent.join(target, at, "left").select(
        sent.topology,
        "worker_start_s",
        "begin_s",
        "end_s",
        "source_task",
        "source_component",
        "source_host",
        "source_port",
        sent.target_task,
        "target_component",
        "target_host",
        "target_port",
        F.col("count")[0].alias("tuples"),
        F.col("count")[1].alias("sampled_tuples"),
        F.col("count")[2].alias("sampled_bytes"),
        (F.col("ms") / 1000).alias("seconds"),
        "in_window",
    )


def load(intervals: DataFrame) -> DataFrame:
    """Return CPU in points and resident memory, one row a task and interval."""
    thread = 100 * F.col("cpu_ms") / F.col("ms")
    child = 100 * F.col("child.cpu_ms") / F.col("ms")
    both = F.coalesce(thread, F.lit(0.0)) + F.coalesce(child, F.lit(0.0))
    return intervals.select(
        "topology",
        "worker_start_s",
        "begin_s",
        "end_s",
        "component",
        "task",
        "start_task",
        "end_task",
        "host",
        "port",
        thread.alias("thread_cpu_percent"),
        child.alias("child_cpu_percent"),
        F.when(thread.isNotNull() | child.isNotNull(), both).alias("cpu_percent"),
        F.col("child.rss_bytes").alias("rss_bytes"),
        (F.col("ms") / 1000).alias("seconds"),
        "in_window",
    )


def crossings(traffic: DataFrame) -> DataFrame:
    """Return per source task and interval how many tuples left the node and the worker."""
    placed = F.col("target_host").isNotNull()
    other_node = placed & (F.col("target_host") != F.col("source_host"))
    other_worker = other_node | (placed & (F.col("target_port") != F.col("source_port")))
    by_task = traffic.withColumnRenamed("source_task", "task")
    return by_task.groupBy("topology", "task", "begin_s", "end_s").agg(
        F.sum(F.when(other_node, F.col("tuples")).otherwise(0)).alias("between_nodes"),
        F.sum(F.when(other_worker, F.col("tuples")).otherwise(0)).alias("between_workers"),
        F.sum(F.when(~placed, F.col("tuples")).otherwise(0)).alias("unplaced"),
    )


def with_crossings(intervals: DataFrame, crossings: DataFrame) -> DataFrame:
    """Add to each interval what left its node and its worker; an interval may send nothing."""
    joined = intervals.join(crossings, ["topology", "task", "begin_s", "end_s"], "left")
    return joined.fillna(0, subset=["between_nodes", "between_workers", "unplaced"])


def throughput(intervals: DataFrame, interval_s: int) -> DataFrame:
    """Return counts per topology and ``interval_s`` seconds, by the end of each task's interval.

    Parameters
    ----------
    intervals : DataFrame
        Of `with_crossings`.
    """
    counts = ("sent", "acked", "failed", "between_nodes", "between_workers", "unplaced")
    bucket = F.floor(F.col("end_s") / interval_s) * interval_s
    latency = F.try_divide(F.sum("complete_ms"), F.sum("completed"))
    return intervals.groupBy("topology", bucket.cast("long").alias("interval_s")).agg(
        F.lit(interval_s).alias("length_s"),
        F.countDistinct("task").alias("tasks"),
        F.sum("ms").alias("task_ms"),
        *(F.sum(name).alias("emitted" if name == "sent" else name) for name in counts),
        latency.alias("complete_latency_ms"),
    )


def task_totals(intervals: DataFrame) -> DataFrame:
    """Return one row per task: sums over its intervals inside the window.

    Tasks whose every interval lies outside are there too, with ``ms`` 0.
    """
    used = F.col("in_window")

    def total(value: Column | str) -> Column:
        column = F.col(value) if isinstance(value, str) else value
        return F.coalesce(F.sum(F.when(used, column)), F.lit(0))

    counts = ("sent", "local", "between_nodes", "between_workers", "unplaced", "acked", "failed")
    has_child = F.col("child").isNotNull()
    return intervals.groupBy("topology", "task", "component").agg(
        F.max_by(F.struct("start_task", "end_task"), "end_s").alias("executor"),
        total("ms").alias("ms"),
        *(total(name).alias(name) for name in (*counts, "complete_ms", "completed")),
        total(F.when(F.col("cpu_ms").isNotNull(), F.col("ms"))).alias("thread_ms"),
        total("cpu_ms").alias("thread_cpu_ms"),
        total(F.when(has_child, F.col("ms"))).alias("child_ms"),
        total("child.cpu_ms").alias("child_cpu_ms"),
        total(F.col("child.rss_bytes") * F.col("ms")).alias("child_rss_byte_ms"),
        F.collect_set(F.when(used, F.struct("host", "port"))).alias("workers"),
        F.min(F.when(used, F.col("begin_s"))).alias("begin_s"),
        F.max(F.when(used, F.col("end_s"))).alias("end_s"),
        F.min("begin_s").alias("first_s"),
        F.max("end_s").alias("last_s"),
    )


def pair_totals(traffic: DataFrame) -> DataFrame:
    """Return one row per pair of tasks: sums over the intervals inside the window."""
    counts = ("tuples", "sampled_tuples", "sampled_bytes")
    pairs = traffic.where("in_window").groupBy("topology", "source_task", "target_task")
    return pairs.agg(*(F.sum(name).alias(name) for name in counts)).where("tuples > 0")


def known_tasks(builtin: DataFrame, runs: DataFrame, traffic: DataFrame) -> DataFrame:
    """Return every task that any line tells of, with its component or null."""
    silent = traffic.where("target_component IS NULL")
    return (
        builtin.where("task >= 0")
        .select("topology", "task", "component")
        .union(runs.select("topology", "task", "component"))
        .union(silent.select("topology", F.col("target_task"), F.lit(None).cast("string")))
        .groupBy("topology", "task")
        .agg(F.max("component").alias("component"))
    )


def builtin_latency(
    builtin: DataFrame, from_epoch: float | None, to_epoch: float | None
) -> DataFrame:
    """Return Storm's own mean complete latency per topology, weighted by its ack counts."""
    within = builtin.where("key IS NOT NULL")
    if from_epoch is not None:
        within = within.where(F.col("epoch_s") >= from_epoch)
    if to_epoch is not None:
        within = within.where(F.col("epoch_s") <= to_epoch)
    at = ["topology", "task", "epoch_s", "key"]
    latency = within.where("metric = '__complete-latency'").select(*at, "value")
    acked = within.where("metric = '__ack-count'").select(*at, F.col("value").alias("acked"))
    weighted = F.sum(F.col("value") * F.col("acked"))
    return (
        latency.join(acked, at)
        .groupBy("topology")
        .agg(F.try_divide(weighted, F.sum("acked")).alias("latency_ms"))
        .where("latency_ms IS NOT NULL")
    )


def line_counts(lines: DataFrame) -> DataFrame:
    """Return how many lines of each metric were read, and how many could not be used and why."""
    usable = F.col("problem").isNull()
    metric = F.when(usable, F.col("metric")).alias("metric")
    system = F.when(usable, F.col("task") < 0).alias("system")
    return lines.groupBy("topology", metric, system, "problem").agg(F.count("*").alias("lines"))
