"""What a bench is held against: the papers' figures, and goals."""

from __future__ import annotations

from dataclasses import dataclass

from stormcut.lab.experiment.bench.summary import Ratio

THROUGHPUT = "throughput"
#: The papers' TPT: how long a tuple takes from its source until it is done.
TUPLE_TIME = "tuple time"

REACHED, MISSED, UNKNOWN = "reached", "missed", "not measured"
#: Below in every pair, but that may be chance.
TOO_FEW = "too few pairs"


@dataclass(frozen=True)
class Published:
    """One printed comparison.

    Attributes
    ----------
    metric : str
        ``THROUGHPUT`` or ``TUPLE_TIME``.
    printed : str
        The figures as printed, averages or changes.
    least, most : float
        The scheduler's figure over the baseline's; equal unless a range is printed.
    setting : str
        Cluster and load, in words.
    place : str
        Paper, section, figure or table.
    """

    topology: str
    scheduler: str
    baseline: str
    metric: str
    printed: str
    least: float
    most: float
    setting: str
    place: str


@dataclass(frozen=True)
class Goal:
    """A ratio that one scheduler is to reach over another.

    Attributes
    ----------
    bound : float or None
        Throughput must be so many times the baseline's or more, a tuple's time so many times or
        less. None: not below it beyond noise; all pairs below, but too few of them, shows nothing.
    topologies : tuple of str
        Where it is asked; empty: everywhere.
    settings : str
        How the names of the settings begin in which it is asked.
    """

    scheduler: str
    baseline: str
    metric: str = THROUGHPUT
    bound: float | None = None
    topologies: tuple[str, ...] = ()
    settings: str = ""

    def __str__(self) -> str:
        if self.bound is None:
            return f"{self.scheduler} never below {self.baseline} beyond noise"
        if self.metric == TUPLE_TIME:
            change = f"{100 * (self.bound - 1):+.0f} %"
            return f"{self.scheduler}'s TPT against {self.baseline} {change} or better"
        return f"{self.scheduler} over {self.baseline} at least {self.bound:g}"

    def verdict(self, ratio: Ratio | None) -> str:
        """Return whether the paired ratios of one topology reach it."""
        if ratio is None:
            return UNKNOWN
        if self.bound is None:
            if ratio.spread.highest < 1 and not ratio.beyond_noise:
                return TOO_FEW
            reached = ratio.spread.highest >= 1
        elif self.metric == TUPLE_TIME:
            reached = ratio.spread.median <= self.bound
        else:
            reached = ratio.spread.median >= self.bound
        return REACHED if reached else MISSED


@dataclass(frozen=True)
class Yardsticks:
    """All that there are."""

    published: tuple[Published, ...] = ()
    goals: tuple[Goal, ...] = ()
