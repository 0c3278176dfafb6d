"""From what source tasks report now and then to the figures of one window, and whether they hold.

Sources report their counts since their start every other second, each at moments of its own, and
only when a count has changed. A count between two reports is taken to lie on the line between them.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from stormcut.lab.experiment.latency import mean, percentile

#: Rates are taken over steps of this length: as often as sources report.
STEP_S = 2.0
#: By then every source has reported what it did up to a moment.
REPORTED_S = 2.5
#: The halves of a window may differ by this share of their mean.
DRIFT = 0.15
#: Fewer steps than these show no trend.
TREND_STEPS = 3
#: A step with less than this share of the mean rate is a stall.
STALL = 1 / 3
#: A source that does not report for so long has lost its tuples, or its processor.
SILENCE_S = 3 * STEP_S
#: What is so many standard deviations away is no longer chance.
CHANCE = 3.0
#: A machine is full from this share of its cores on: a moment without work is no room to spare.
FULL = 0.75
#: Others than the nodes: ZooKeeper, Nimbus and the bench itself use 0.1 to 0.2 cores, and must.
OTHER_CORES = 0.3


@dataclass(frozen=True)
class Sample:
    """What a source task had counted since its start, at epoch second ``taken_at``.

    ``latency`` counts tuples by bucket: bucket b ends at 1.05**b ms.
    """

    taken_at: float
    sent: int
    acked: int
    replayed: int
    latency: Mapping[int, int]

    @classmethod
    def of(cls, report: Mapping[str, Any], at: float) -> Sample:
        """Return what a source's report says that was written at an epoch second."""
        latency = {int(bucket): count for bucket, count in report["latency"].items()}
        return cls(at, report["sent"], report["acked"], report["replayed"], latency)


#: The samples of each source task in the order of time, without those from before a pause.
Series = Mapping[str, Sequence[Sample]]


@dataclass(frozen=True)
class SourceWindow:
    """What the sources did between two epoch seconds; fields as in `Measurement`."""

    begin: float
    end: float
    tuples_per_10s: float
    replayed: int
    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    unsteady: str


def measure(series: Series, begin: float, end: float) -> SourceWindow:
    """Return the figures of a window.

    Parameters
    ----------
    series : mapping of str to sequence of Sample
        By source task. Samples should reach beyond both ends. Where one does not, its
        task is taken to have stood still.
    begin, end : float
        In epoch seconds.
    """
    acked = sum(_acked(samples, begin, end) for samples in series.values())
    first_last = [(_nearest(all_, begin), _nearest(all_, end)) for all_ in series.values() if all_]
    buckets: Counter[int] = Counter()
    for first, last in first_last:
        buckets += Counter(last.latency) - Counter(first.latency)
    return SourceWindow(
        begin,
        end,
        tuples_per_10s=10 * acked / (end - begin),
        replayed=sum(max(0, last.replayed - first.replayed) for first, last in first_last),
        mean_ms=mean(buckets),
        p50_ms=percentile(buckets, 0.50),
        p95_ms=percentile(buckets, 0.95),
        p99_ms=percentile(buckets, 0.99),
        unsteady=_unsteady(series, begin, end),
    )


def acked_per_s(before: Mapping[str, Sample], now: Mapping[str, Sample]) -> float:
    """Return tuples/s that source tasks acknowledged between two samples of each."""
    return sum(
        (now[task].acked - then.acked) / (now[task].taken_at - then.taken_at)
        for task, then in before.items()
        if task in now and now[task].taken_at > then.taken_at
    )


def crowded(nodes: float, others: float, cores: int) -> str:
    """Return whether others took CPU that the nodes lacked, in a few words, empty if not.

    Parameters
    ----------
    nodes, others : float
        Cores that all nodes together and everything else on the machine used in a window.
    cores : int
        Of the machine.
    """
    if others <= OTHER_CORES or nodes + others <= FULL * cores:
        return ""
    return f"the machine was full: others used {others:.1f} cores"


def rates(series: Series, begin: float, end: float) -> list[float]:
    """Return tuples/s acknowledged in each whole step of `STEP_S`, counted back from the end."""
    steps = math.floor((end - begin) / STEP_S + 1e-6)
    edges = [end - STEP_S * step for step in range(steps, -1, -1)]
    return [
        sum(_acked(samples, *step) for samples in series.values()) / STEP_S
        for step in pairwise(edges)
    ]


def _unsteady(series: Series, begin: float, end: float) -> str:
    """Return why a window's rate says little of what the topology would do, empty if it holds."""
    within = {task: _around(samples, begin, end) for task, samples in series.items()}
    for task, samples in within.items():
        if any(then.sent < before.sent for before, then in pairwise(samples)):
            return f"a worker was restarted: {task} counts from 0"
    steps = rates(series, begin, end)
    if not any(steps):
        return "nothing was acknowledged"
    for task, samples in within.items():
        silence = _silence(samples, begin, end)
        if silence > SILENCE_S:
            return f"no report of {task} for {silence:.0f} s"
    return _stall(steps) or _drift(steps)


def _stall(steps: Sequence[float]) -> str:
    usual, slowest = statistics.mean(steps), min(steps)
    if slowest >= STALL * usual or usual - slowest <= _chance([usual, slowest], STEP_S):
        return ""
    return f"stalled: its slowest {STEP_S:.0f} s had {slowest / usual:.0%} of the mean rate"


def _drift(steps: Sequence[float]) -> str:
    trend = _trend(steps)
    word = "rises" if trend > 0 else "falls"
    return f"the rate {word} by {abs(trend):.0%} from half to half" if trend else ""


def _trend(steps: Sequence[float]) -> float:
    """Return by which share of their mean steps change from half to half, 0 if by little.

    Half to half of the line through them: a change that is small beside how far the steps lie from
    that line is noise, however large it is.
    """
    if len(steps) < TREND_STEPS:
        return 0.0
    positions = range(len(steps))
    slope, start = statistics.linear_regression(positions, steps)
    off = sum((step - start - slope * x) ** 2 for x, step in zip(positions, steps, strict=True))
    width = statistics.pvariance(positions) * len(steps)
    deviation = math.sqrt(off / (len(steps) - 2) / width)
    change = slope * len(steps) / 2 / statistics.mean(steps)
    return change if abs(change) > DRIFT and abs(slope) > CHANCE * deviation else 0.0


def _chance(pair: Sequence[float], seconds: float) -> float:
    """Return the difference in tuples/s that chance alone makes of two small counts."""
    return CHANCE * math.sqrt(sum(pair) * seconds) / seconds


def _silence(samples: Sequence[Sample], begin: float, end: float) -> float:
    """Return the longest time without a report inside the window and up to those around it."""
    if not samples:
        return end - begin
    moments = [sample.taken_at for sample in samples]
    edges = [min(begin, moments[0]), *moments, max(end, moments[-1])]
    return max(then - before for before, then in pairwise(edges))


def _around(samples: Sequence[Sample], begin: float, end: float) -> Sequence[Sample]:
    """Return the samples of a window with the last before it and the first after it."""
    moments = [sample.taken_at for sample in samples]
    return samples[max(0, bisect_left(moments, begin) - 1) : bisect_left(moments, end) + 1]


def _nearest(samples: Sequence[Sample], moment: float) -> Sample:
    return min(samples, key=lambda sample: abs(sample.taken_at - moment))


def _acked(samples: Sequence[Sample], begin: float, end: float) -> float:
    """Return how many tuples a task had acknowledged; what a restart took away is not known."""
    return max(0.0, _count_at(samples, end) - _count_at(samples, begin))


def _count_at(samples: Sequence[Sample], moment: float) -> float:
    """Return what a task had acknowledged at an epoch second, on the line between two samples."""
    if not samples:
        return 0.0
    index = bisect_left(samples, moment, key=lambda sample: sample.taken_at)
    if index == 0:
        return samples[0].acked
    if index == len(samples):
        return samples[-1].acked
    before, after = samples[index - 1], samples[index]
    share = (moment - before.taken_at) / (after.taken_at - before.taken_at)
    return before.acked + share * (after.acked - before.acked)
