"""What Storm's own metrics say of rates and latencies, where the hook says nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stormcut.profile.intervals import AnyStay, Window
from stormcut.profile.metric_lines import (
    ACKED,
    COMPLETE_MS,
    EMITTED,
    EXECUTE_MS,
    EXECUTED,
    FAILED,
    TaskLog,
    parse_numbers,
)
from stormcut.profile.result import ComponentRates

#: Storm's `topology.builtin.metrics.bucket.size.secs`.
BUCKET_S = 60.0


@dataclass(frozen=True)
class OwnTotals:
    """Sums of one task's own metrics in a window.

    Parameters
    ----------
    seconds : float
        For which they count: as long as its reports are apart, where it reported once `BUCKET_S`.
    execute_ms : float or None
        Mean of what Storm sampled.
    complete_ms : float
        Complete latency times ``acked_with``, the tuples that were acked at the same time.
    """

    seconds: float
    emitted: float
    executed: float
    acked: float
    failed: float
    execute_ms: float | None
    complete_ms: float
    acked_with: float


class _Number(NamedTuple):
    epoch_s: int
    key: str | None
    value: float


def sum_own_metrics(log: TaskLog[AnyStay], window: Window) -> OwnTotals:
    """Return the sums of a task's reports."""
    by_metric: dict[str, list[_Number]] = defaultdict(list)
    for epoch_s, metric, value in dict.fromkeys(log.reports):  # a log may be there twice
        if window.holds(epoch_s):
            by_metric[metric] += [_Number(epoch_s, *number) for number in parse_numbers(value)]
    execute = [report.value for report in by_metric[EXECUTE_MS]]
    acked = {(r.epoch_s, r.key): r.value for r in by_metric[ACKED]}
    complete = [
        (report.value, acked[stamp])
        for report in by_metric[COMPLETE_MS]
        if report.key is not None and (stamp := (report.epoch_s, report.key)) in acked
    ]
    return OwnTotals(
        _seconds(sorted(filter(window.holds, log.epochs))),
        _sum(by_metric[EMITTED]),
        _sum(by_metric[EXECUTED]),
        _sum(by_metric[ACKED]),
        _sum(by_metric[FAILED]),
        sum(execute) / len(execute) if execute else None,
        sum(latency * count for latency, count in complete),
        sum(count for _, count in complete),
    )


def _sum(reports: Iterable[_Number]) -> float:
    return sum(report.value for report in reports)


def _seconds(epochs: Sequence[int]) -> float:
    if len(epochs) < 2:
        return len(epochs) * BUCKET_S
    return len(epochs) * (epochs[-1] - epochs[0]) / (len(epochs) - 1)


def compute_rates(
    tasks: Iterable[tuple[str, OwnTotals]],
) -> tuple[ComponentRates, ...]:
    """Return tuples/s of each component by Storm's own counters, system components left out."""
    members: dict[str, list[OwnTotals]] = defaultdict(list)
    for component, totals in tasks:
        if totals.seconds and not component.startswith("__"):
            members[component].append(totals)
    return tuple(_rates(component, members[component]) for component in sorted(members))


def _rates(component: str, tasks: Sequence[OwnTotals]) -> ComponentRates:
    timed = [(task.execute_ms, task.executed) for task in tasks if task.execute_ms is not None]
    executed = sum(count for _, count in timed)
    return ComponentRates(
        component,
        len(tasks),
        sum(task.emitted / task.seconds for task in tasks),
        sum(task.executed / task.seconds for task in tasks),
        sum(task.acked / task.seconds for task in tasks),
        sum(task.failed / task.seconds for task in tasks),
        sum(ms * count for ms, count in timed) / executed if executed else None,
    )


def complete_latency_ms(tasks: Iterable[OwnTotals]) -> float | None:
    """Return Storm's own mean complete latency, weighted by its counts of acked tuples."""
    every = list(tasks)
    acked = sum(task.acked_with for task in every)
    return sum(task.complete_ms for task in every) / acked if acked else None
