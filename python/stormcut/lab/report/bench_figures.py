"""A bench as its pages see it, and how its figures are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from stormcut.lab.experiment.bench.cells import BenchRun, Measurement, Placed, Start
from stormcut.lab.experiment.bench.summary import (
    Ratio,
    Spread,
    Summary,
    mean_ms,
    ratio,
    summarise,
)
from stormcut.lab.experiment.bench.summary import tuples_per_10s as throughput
from stormcut.lab.experiment.bench.yardsticks import TUPLE_TIME, Published, Yardsticks
from stormcut.placement.options import DEFAULT_ALGORITHM

#: Told apart from the papers'.
OURS = DEFAULT_ALGORITHM


def is_ours(scheduler: str) -> bool:
    """Return whether a scheduler is ours, with options (``cut:relief=0.3``) or without."""
    return scheduler.partition(":")[0] == OURS


@dataclass(frozen=True)
class BenchResults:
    """A run with its measurements and placements, complete or not, and what to hold it against."""

    run: BenchRun
    measurements: Sequence[Measurement]
    placed: Sequence[Placed]
    starts: Sequence[Start] = ()
    yardsticks: Yardsticks = field(default_factory=Yardsticks)

    @cached_property
    def _summaries(self) -> dict[tuple[str, str], Summary]:
        summaries = summarise(self.run, self.measurements, self.placed)
        return {(each.topology, each.scheduler): each for each in summaries}

    @property
    def ours(self) -> tuple[str, ...]:
        """Our schedulers in the run, each with its options."""
        return tuple(filter(is_ours, self.run.schedulers))

    def summary(self, topology: str, scheduler: str) -> Summary:
        """Return what all windows of a topology under a scheduler say together."""
        return self._summaries[topology, scheduler]

    def steady(self, topology: str, scheduler: str) -> list[Measurement]:
        """Return the windows that enter figures."""
        pair = topology, scheduler
        return [
            each
            for each in self.measurements
            if (each.cell.topology, each.cell.scheduler) == pair and not each.unsteady
        ]

    def nodes(self, topology: str, scheduler: str) -> int | None:
        """Return how many nodes a placement uses, None where there is none."""
        for each in self.placed:
            if (each.topology, each.scheduler) == (topology, scheduler) and not each.refusal:
                return len(set(each.nodes))
        return None

    def published(self, topology: str, baseline: str) -> list[Published]:
        """Return what is printed about any scheduler against a baseline on a topology."""
        pair = topology, baseline
        return [e for e in self.yardsticks.published if (e.topology, e.baseline) == pair]

    def ratio(self, topology: str, of: str, to: str, metric: str) -> Ratio | None:
        """Return how two schedulers compare on a topology, None without a pair of windows."""
        figure = mean_ms if metric == TUPLE_TIME else throughput
        return ratio(self.measurements, topology, of, to, figure)


def absent(summary: Summary) -> str:
    """Return why there is no figure, in a word or two."""
    if summary.refusal:
        return "refused"
    return "unsteady" if summary.unsteady else "not measured"


def amount(value: float) -> str:
    """Return a figure with three digits or, from 100 on, without decimals."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def spread_out(spread: Spread | None) -> str:
    """Return a median with the lowest and highest value."""
    if spread is None:
        return "-"
    return f"{amount(spread.median)} ({amount(spread.lowest)}-{amount(spread.highest)})"


def median(spread: Spread | None) -> str:
    """Return a median alone."""
    return "-" if spread is None else amount(spread.median)


def share(value: float | None) -> str:
    """Return a share in per cent, without the sign."""
    return "-" if value is None else f"{100 * value:.0f}"


def between(least: float, most: float) -> str:
    """Return a printed ratio, or a range of them."""
    low, high = f"{least:.2f}", f"{most:.2f}"
    return low if low == high else f"{low}-{high}"
