"""The tables of a profile as pure DataFrame -> DataFrame functions (docs/profile-tables.md)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from stormcut.adapters.spark.metrics_log import scaled

#: Epoch seconds are whole in Storm's metrics, so that two of them can be a second apart in truth.
ROUNDING_S = 1.0
#: A longer pause between two intervals of a task means that it was started again.
PAUSE_S = 2 * ROUNDING_S
#: Storm gives a worker this long to start (``nimbus.task.launch.secs``).
LAUNCH_S = 120

_RUN = ["topology", "task", "run_s"]


def intervals(hooks: DataFrame) -> DataFrame:
    """Take each interval once, and add ``run_s``: since when the task has been running.

    A line may have been written twice (two metrics consumers, a copy of a log). A run ends with a
    pause or a move: a worker that restarts, or a task that moves, loses its unreported counts, and
    the next interval does not begin where the one before ended. Of a task whose intervals were
    seen up to some time before, the last one may be given with ``carried_run_s``, since when it
    has been running; null in all others.
    """
    task = Window.partitionBy("topology", "task").orderBy("end_s", "begin_s", "host", "port")
    before = F.col("before")
    moved = (before.host != F.col("host")) | (before.port != F.col("port"))
    again = ~moved & (before.end_s == F.col("end_s")) & (before.ms == F.col("ms"))
    begins = before.isNull() | moved | (F.col("begin_s") - before.end_s > PAUSE_S)
    since = F.col("begin_s")
    if "carried_run_s" in hooks.columns:
        since = F.coalesce("carried_run_s", since)
    marked = (
        hooks.withColumn("before", F.lag(F.struct("end_s", "ms", "host", "port")).over(task))
        .withColumn("again", F.coalesce(again, F.lit(False)))
        .withColumn("run_begin_s", F.when(begins, since))
    )
    so_far = task.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    latest = F.last("run_begin_s", ignorenulls=True).over(so_far)
    runs = marked.withColumn("run_s", latest).where(~F.col("again"))
    return runs.drop("before", "again", "run_begin_s")


def in_window(from_epoch: float | None, to_epoch: float | None, warm_up_s: float) -> Column:
    """Return whether an interval counts: wholly inside the window, and not of a run's warm-up."""
    age = F.col("begin_s") - F.col("run_s")
    warm = (age >= warm_up_s - ROUNDING_S) & (age > 0) if warm_up_s > 0 else F.lit(True)
    if from_epoch is not None:
        warm &= F.col("begin_s") >= from_epoch
    if to_epoch is not None:
        warm &= F.col("end_s") <= to_epoch
    return warm


def moves(intervals: DataFrame) -> DataFrame:
    """Return when each topology moved last: its last task to do so began at ``moved_s``.

    Topologies of which no task was seen in two places are left out.
    """
    place = F.struct("host", "port")
    stays = intervals.groupBy(*_RUN).agg(F.max_by(place, "end_s").alias("place"))
    before = F.lag("place").over(Window.partitionBy("topology", "task").orderBy("run_s"))
    moved = stays.withColumn("before", before).where("before != place")
    return moved.groupBy("topology").agg(F.max("run_s").alias("moved_s"))


def since_moves(intervals: DataFrame, moved: DataFrame) -> DataFrame:
    """Return the intervals with those before their topology's last move in no window."""
    later = F.coalesce(F.col("begin_s") >= F.col("moved_s") - ROUNDING_S, F.lit(True))
    joined = intervals.join(F.broadcast(moved), "topology", "left")
    return joined.withColumn("in_window", F.col("in_window") & later).drop("moved_s")


def runs(intervals: DataFrame, builtin: DataFrame) -> DataFrame:
    """Return where each task ran from ``run_s`` until ``until_s``, and sums over its intervals.

    ``worker_start_s`` is the JVM's own start as SystemBolt reports it (``startTimeSecs``), found
    as the last one before the run within the time that Storm gives a worker to start; without
    one, the start of the run. (The milliseconds at the head of a log line tell only how old the
    worker is that hosts the metrics consumer.)
    """
    starts = (
        builtin.where(F.col("metric") == "startTimeSecs")
        .groupBy("topology", "host", "port")
        .agg(F.collect_set("value").alias("starts"))
    )
    earliest, latest = F.col("run_s") - LAUNCH_S, F.col("run_s") + ROUNDING_S
    fitting = F.filter("starts", lambda start: start.between(earliest, latest))
    order = Window.partitionBy("topology", "task").orderBy("run_s")
    return (
        _run_totals(intervals)
        .join(starts, ["topology", "host", "port"], "left")
        .withColumn("worker_start_s", F.coalesce(F.array_max(fitting), F.col("run_s")))
        .withColumn("until_s", F.lead("run_s").over(order))
        .drop("starts")
    )


def _run_totals(intervals: DataFrame) -> DataFrame:
    """Return one row per run: sums over its intervals inside the window; ``ms`` is 0 if none is."""
    used = F.col("in_window")

    def total(value: Column | str) -> Column:
        column = F.col(value) if isinstance(value, str) else value
        return F.coalesce(F.sum(F.when(used, column)), F.lit(0))

    counts = ("sent", "local", "executed", "acked", "failed", "complete_ms", "completed")
    has_child, has_worker = F.col("child").isNotNull(), F.col("worker").isNotNull()
    return intervals.groupBy(*_RUN, "component", "host", "port").agg(
        F.max_by("start_task", "end_s").alias("start_task"),
        F.max_by("end_task", "end_s").alias("end_task"),
        F.count("*").alias("intervals"),
        total("ms").alias("ms"),
        *(total(name).alias(name) for name in counts),
        total(F.when(F.col("cpu_ms").isNotNull(), F.col("ms"))).alias("thread_ms"),
        total("cpu_ms").alias("thread_cpu_ms"),
        total(F.when(has_child, F.col("ms"))).alias("child_ms"),
        total("child.cpu_ms").alias("child_cpu_ms"),
        total(F.col("child.rss_bytes") * F.col("ms")).alias("child_rss_byte_ms"),
        total(F.when(has_worker, F.col("ms"))).alias("worker_ms"),
        total("worker.cpu_ms").alias("worker_cpu_ms"),
        total(F.col("worker.cores") * F.col("ms")).alias("core_ms"),
        total("worker.machine_cpu_ms").alias("machine_cpu_ms"),
        total("worker.in_bytes").alias("in_bytes"),
        total("worker.out_bytes").alias("out_bytes"),
        F.max_by(F.col("worker.machine"), F.when(has_worker, F.col("end_s"))).alias("machine"),
        F.min(F.when(used, F.col("begin_s"))).alias("begin_s"),
        F.max(F.when(used, F.col("end_s"))).alias("end_s"),
        F.min("begin_s").alias("first_s"),
        F.max("end_s").alias("last_s"),
    )


def with_worker_start(intervals: DataFrame, runs: DataFrame) -> DataFrame:
    """Add to each interval when the worker started that it ran in."""
    return intervals.join(runs.select(*_RUN, "worker_start_s"), _RUN)


def traffic(placed: DataFrame, runs: DataFrame) -> DataFrame:
    """Return tuples per source task, target task and interval, with the places of both.

    A target's place is that of its own run at the end of the source's interval; null if no line
    of the target tells.

    Parameters
    ----------
    placed : DataFrame
        Of `with_worker_start`, or of `intervals`: then ``worker_start_s`` is left out.
    """
    worker = ["worker_start_s"] if "worker_start_s" in placed.columns else []
    sent = placed.select(
        "topology",
        *worker,
        "begin_s",
        "end_s",
        "ms",
        F.col("task").alias("source_task"),
        F.col("component").alias("source_component"),
        F.col("host").alias("source_host"),
        F.col("port").alias("source_port"),
        "in_window",
        "share",
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
        *worker,
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
        scaled(F.col("count")[0]).alias("tuples"),
        F.col("count")[1].alias("sampled_tuples"),
        F.col("count")[2].alias("sampled_bytes"),
        (F.col("ms") / 1000).alias("seconds"),
        "in_window",
    )


def load(placed: DataFrame) -> DataFrame:
    """Return CPU in points and resident memory, one row a task and interval.

    Parameters
    ----------
    placed : DataFrame
        Of `with_worker_start`.
    """
    thread = 100 * F.col("cpu_ms") / F.col("ms")
    child = 100 * F.col("child.cpu_ms") / F.col("ms")
    both = F.coalesce(thread, F.lit(0.0)) + F.coalesce(child, F.lit(0.0))
    return placed.select(
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


def _crossings() -> list[Column]:
    """Return how many tuples of the traffic left the node, the worker, and what is known."""
    placed = F.col("target_host").isNotNull()
    other_node = placed & (F.col("target_host") != F.col("source_host"))
    other_worker = other_node | (placed & (F.col("target_port") != F.col("source_port")))
    where = {"between_nodes": other_node, "between_workers": other_worker, "unplaced": ~placed}
    return [
        F.sum(F.when(which, F.col("tuples")).otherwise(0)).alias(name)
        for name, which in where.items()
    ]


def throughput(intervals: DataFrame, traffic: DataFrame, interval_s: int) -> DataFrame:
    """Return counts per topology and ``interval_s`` seconds, by the end of each task's interval."""
    bucket = (F.floor(F.col("end_s") / interval_s) * interval_s).cast("long").alias("interval_s")
    at = ["topology", "interval_s"]
    latency = F.try_divide(F.sum("complete_ms"), F.sum("completed"))
    counted = intervals.groupBy("topology", bucket).agg(
        F.lit(interval_s).alias("length_s"),
        F.countDistinct("task").alias("tasks"),
        F.sum("ms").alias("task_ms"),
        F.sum("sent").alias("emitted"),
        F.sum("acked").alias("acked"),
        F.sum("failed").alias("failed"),
        latency.alias("complete_latency_ms"),
    )
    crossed = traffic.groupBy("topology", bucket).agg(*_crossings())
    crossings = ["between_nodes", "between_workers", "unplaced"]
    counts = [*at, "length_s", "tasks", "task_ms", "emitted", "acked", "failed", *crossings]
    # A stretch of time may see nothing sent.
    joined = counted.join(crossed, at, "left").fillna(0, subset=crossings)
    return joined.select(*counts, "complete_latency_ms")


def pair_totals(traffic: DataFrame) -> DataFrame:
    """Return one row per pair of tasks: sums over the intervals inside the window."""
    counts = ("tuples", "sampled_tuples", "sampled_bytes")
    pairs = traffic.where("in_window").groupBy("topology", "source_task", "target_task")
    sums = pairs.agg(*(F.sum(name).alias(name) for name in counts), *_crossings())
    return sums.where("tuples > 0")


#: Storm's counters per `topology.builtin.metrics.bucket.size.secs`, 60 by default, by our names.
COUNTERS = {
    "__emit-count": "emitted",
    "__execute-count": "executed",
    "__ack-count": "acked",
    "__fail-count": "failed",
}
BUCKET_S = 60.0


def component_rates(
    builtin: DataFrame, from_epoch: float | None, to_epoch: float | None
) -> DataFrame:
    """Return tuples/s by Storm's own counters, one row a component, system components left out.

    A task counts for as long as its reports are apart. Where it reported once that is `BUCKET_S`.
    """
    within = builtin.where("task >= 0 and not startswith(component, '__')")
    if from_epoch is not None:
        within = within.where(F.col("epoch_s") >= from_epoch)
    if to_epoch is not None:
        within = within.where(F.col("epoch_s") <= to_epoch)
    counts = {
        name: F.sum(F.when(F.col("metric") == metric, F.col("value"))).alias(name)
        for metric, name in COUNTERS.items()
    }
    latency = F.when(F.col("metric") == "__execute-latency", F.col("value"))
    reports = F.countDistinct("epoch_s")
    between = (F.max("epoch_s") - F.min("epoch_s")) / (reports - 1)
    seconds = reports * F.when(reports > 1, between).otherwise(F.lit(BUCKET_S))
    tasks = within.groupBy("topology", "component", "task").agg(
        *counts.values(), F.avg(latency).alias("execute_ms"), seconds.alias("seconds")
    )
    rates = (
        F.coalesce(F.sum(F.col(name) / F.col("seconds")), F.lit(0.0)).alias(f"{name}_per_s")
        for name in counts
    )
    weight = F.when(F.col("execute_ms").isNotNull(), F.col("executed"))
    return tasks.groupBy("topology", "component").agg(
        F.count("*").alias("tasks"),
        *rates,
        F.try_divide(F.sum(F.col("execute_ms") * weight), F.sum(weight)).alias("execute_ms"),
    )


def is_own() -> Column:
    """Return whether a line is a metric of Storm's own of a task that it schedules."""
    return F.col("problem").isNull() & F.col("hook").isNull() & (F.col("task") >= 0)


def builtin_tasks(lines: DataFrame) -> DataFrame:
    """Return every task, and its component, that Storm's own metrics name."""
    return lines.where(is_own()).select("topology", "task", "component").distinct()


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
    """Return how many lines of each metric were read, and how many could not be used and why.

    The hook's are told apart by ``seconds``, the length of their interval.
    """
    usable = F.col("problem").isNull()
    metric = F.when(usable, F.col("metric")).alias("metric")
    system = F.when(usable, F.col("task") < 0).alias("system")
    seconds = F.when(usable, F.rint(F.col("hook.ms") / 1000).cast("int")).alias("seconds")
    by_kind = lines.groupBy("topology", metric, system, "problem", seconds)
    return by_kind.agg(F.count("*").alias("lines"))


def lines(counts: DataFrame) -> DataFrame:
    """Return the counts of `line_counts` without the lengths of intervals."""
    by_kind = counts.groupBy("topology", "metric", "system", "problem")
    return by_kind.agg(F.sum("lines").alias("lines"))
