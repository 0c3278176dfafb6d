"""What leaves Spark, small, and what it says: profiles, sums and counts of lines."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from pyspark.sql import Row

from stormcut.adapters.spark.metrics_log import HOOK_METRIC
from stormcut.model.errors import InvalidInput
from stormcut.profile.lines import LineSummary, UnusedLine
from stormcut.profile.measured import measure
from stormcut.profile.result import ComponentRates, ProfileResult
from stormcut.profile.totals import (
    ChildTotals,
    PairTotals,
    TaskTotals,
    WorkerTotals,
    profile_of,
    window_of,
)

Logs = Mapping[str, list[Path]]
RowsOf = Mapping[str, list[Row]]

_CROSSINGS = ("between_nodes", "between_workers", "unplaced")
_SUMS = (
    *("ms", "sent", "local", "executed", "acked", "failed", "complete_ms", "completed"),
    *("thread_ms", "thread_cpu_ms"),
)


#: Most of a line that is repeated in a message.
SHOWN = 60


@dataclass(frozen=True)
class Sums:
    """The small sums that leave Spark, rows by topology id, and when topologies moved last."""

    runs: RowsOf
    pairs: RowsOf
    builtin_tasks: RowsOf
    latency: RowsOf
    moved: Mapping[str, float] = field(default_factory=dict)


def by_topology(rows: Iterable[Row]) -> RowsOf:
    """Return the rows of each topology id."""
    result: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        result[row.topology].append(row)
    return result


def usual_interval_s(counts: Sequence[Row]) -> int:
    """Return the median length of the hook's intervals in whole seconds, at least 1."""
    ordered = sorted((row.seconds, row.lines) for row in _of_tasks(counts))
    before = accumulate(lines for _, lines in ordered)
    half = sum(lines for _, lines in ordered) / 2
    median: int = next(s for (s, _), seen in zip(ordered, before, strict=True) if seen >= half)
    return max(1, median)


def _of_tasks(counts: Sequence[Row]) -> list[Row]:
    return [row for row in counts if row.metric == HOOK_METRIC and not row.system]


def line_summary(counts: Sequence[Row], examples: Iterable[Row], logs: Logs) -> LineSummary:
    """Return how the lines were used, none repeated.

    Raises
    ------
    InvalidInput
        None of them tells of an interval of a task, nor of another metric.
    """
    unused: dict[str, int] = defaultdict(int)
    for row in counts:
        if row.problem is not None:
            unused[row.problem] += row.lines
    lines = LineSummary(
        files=sum(map(len, logs.values())),
        read=sum(row.lines for row in counts),
        hook=sum(row.lines for row in counts if row.metric == HOOK_METRIC),
        metrics=sum(row.lines for row in counts if row.metric not in (None, HOOK_METRIC)),
        repeated=0,
        unused=dict(unused),
        examples=tuple(UnusedLine(*row) for row in examples),
    )
    if not _of_tasks(counts) and not lines.metrics:
        raise _no_hook(lines, logs)
    return lines


def _no_hook(lines: LineSummary, logs: Logs) -> InvalidInput:
    where = ", ".join(logs)
    if lines.read == 0:
        return InvalidInput("the metrics logs are empty; wait for the first interval", where)
    unused = sum(lines.unused.values())
    if lines.examples and unused == lines.read:
        example = lines.examples[0]
        what = f"none of {lines.read} lines is understood, such as: {example.line[:SHOWN]!r}"
        return InvalidInput(f"{what}: {example.problem}", where)
    seen = f"{lines.read} lines, none of them the hook's"
    if lines.examples:
        example = lines.examples[0]
        seen += f" ({unused} unused, such as: {example.problem})"
    what = 'set topology.auto.task.hooks: ["io.stormcut.StormcutHook"] and submit again'
    return InvalidInput(f"{seen}; {what}", where)


def has_hook(counts: Sequence[Row]) -> bool:
    """Return whether any line tells of an interval of a task."""
    return bool(_of_tasks(counts))


def rates_of(rows: Iterable[Row]) -> dict[str, tuple[ComponentRates, ...]]:
    """Return what Storm's own metrics tell of components, by topology."""
    found: dict[str, list[ComponentRates]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: str(row.component)):
        values = row.asDict()
        found[values.pop("topology")].append(ComponentRates(**values))
    return {topology: tuple(components) for topology, components in found.items()}


def repeated(lines: LineSummary, counts: Sequence[Row], sums: Sums) -> LineSummary:
    """Add how many of the hook's lines were left out because they occurred before."""
    taken = sum(run.intervals for runs in sums.runs.values() for run in runs)
    return replace(lines, repeated=sum(row.lines for row in _of_tasks(counts)) - taken)


def result_of(logs: Logs, sums: Sums, lines: LineSummary) -> ProfileResult:
    """Return the profile of each topology that was measured in the window."""
    profiles, measured = {}, {}
    for topology in logs:
        runs = [run for run in sums.runs.get(topology, []) if run.ms > 0]
        if not runs:
            continue
        window = window_of(min(run.begin_s for run in runs), max(run.end_s for run in runs))
        tasks = task_totals(sums, topology)
        profile, missing = profile_of(topology, window, tasks, pair_totals(sums, topology))
        latency = next((row.latency_ms for row in sums.latency.get(topology, [])), None)
        profiles[topology] = profile
        measured[topology] = measure(profile, missing, tasks, latency)
    unmeasured = tuple(topology for topology in logs if topology not in profiles)
    return ProfileResult(profiles, measured, unmeasured, lines, dict(sums.moved))


def task_totals(sums: Sums, topology: str) -> list[TaskTotals]:
    """Return the totals of all tasks that any line tells of."""
    runs: dict[int, list[Row]] = defaultdict(list)
    for run in sums.runs[topology]:
        runs[run.task].append(run)
    crossed: dict[int, Counter[str]] = defaultdict(Counter)
    for pair in sums.pairs.get(topology, []):
        crossed[pair.source_task].update({name: pair[name] for name in _CROSSINGS})
    silent = {row.task: row.component for row in sums.builtin_tasks.get(topology, [])}
    return [
        _totals(runs[task], crossed[task]) if task in runs else TaskTotals(task, silent[task])
        for task in sorted(silent.keys() | runs.keys())
    ]


def pair_totals(sums: Sums, topology: str) -> list[PairTotals]:
    """Return the totals of all pairs of tasks that exchanged tuples."""
    return [
        PairTotals(
            row.source_task, row.target_task, row.tuples, row.sampled_tuples, row.sampled_bytes
        )
        for row in sums.pairs.get(topology, [])
    ]


def _totals(runs: Sequence[Row], crossed: Mapping[str, int]) -> TaskTotals:
    """Return the sums over the runs of one task."""

    def total(name: str) -> Any:
        return sum(run[name] for run in runs)

    latest = max(runs, key=lambda run: int(run.last_s))
    child = ChildTotals(total("child_ms"), total("child_cpu_ms"), total("child_rss_byte_ms"))
    return TaskTotals(
        task=latest.task,
        component=latest.component,
        executor=(latest.start_task, latest.end_task),
        **{name: total(name) for name in _SUMS},
        **{name: crossed[name] for name in _CROSSINGS},
        child=child if child.ms else None,
        worker=_worker(latest),
        workers=tuple(sorted({(run.host, run.port) for run in runs if run.ms > 0})),
    )


def _worker(run: Row) -> WorkerTotals | None:
    """Return what a task told of its worker where it ran last, None if it told nothing."""
    if not run.worker_ms:
        return None
    return WorkerTotals(
        run.host,
        run.port,
        run.machine or "",
        run.worker_ms,
        run.worker_cpu_ms,
        run.core_ms,
        run.machine_cpu_ms,
        run.in_bytes,
        run.out_bytes,
    )
