"""What `cut` is to reach in a bench, and whether it did, topology by topology."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from stormcut.application.experiment.bench.summary import Ratio
from stormcut.report.bench_figures import OURS, Bench, spread_out
from stormcut.report.published import THROUGHPUT, TUPLE_TIME

REACHED, MISSED, UNKNOWN = "reached", "missed", "not measured"
#: Below in every pair, but that may be chance.
TOO_FEW = "too few pairs"
MICRO = ("linear", "diamond", "star")
STROMAX = (
    "word_count",
    "throughput_test",
    "trending_topics",
    "log_processing",
    "sentiment",
    "communication",
)


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
    """

    scheduler: str
    baseline: str
    metric: str = THROUGHPUT
    bound: float | None = None
    topologies: tuple[str, ...] = ()

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
class Outcome:
    """A goal on one topology."""

    goal: Goal
    topology: str
    ratio: Ratio | None

    @property
    def verdict(self) -> str:
        """Return reached, missed, not measured or too few pairs."""
        return self.goal.verdict(self.ratio)


_APPLICATIONS = ("load_prediction", "taxi", *MICRO)
#: Asked where bandwidth is what is scarce, which a setting's name says: ``network-...``.
NETWORK_BOUND = (
    Goal("cut", "r-storm", bound=1.4, topologies=_APPLICATIONS),
    Goal("cut", "even", bound=1.9, topologies=_APPLICATIONS),
    Goal("cut", "ols", bound=1.4, topologies=_APPLICATIONS),
)
EVERYWHERE = (
    Goal("cut", "p-scheduler"),
    Goal("cut", "i-scheduler"),
    Goal("cut", "even"),
    Goal("stromax", "even", TUPLE_TIME, bound=0.63, topologies=STROMAX),
    Goal("cut", "even", TUPLE_TIME, bound=0.63, topologies=STROMAX),
)


def outcomes(bench: Bench) -> list[tuple[Goal, Sequence[Outcome]]]:
    """Return each goal of the bench's setting with how it went on each topology of the run.

    Goals of schedulers or topologies that are none of the run's are left out.
    """
    asked = NETWORK_BOUND if bench.run.setting.startswith("network") else ()
    every = (each for goal in (*asked, *EVERYWHERE) for each in _of_ours(bench, goal))
    found = ((goal, _results(bench, goal)) for goal in every)
    return [(goal, results) for goal, results in found if results]


def _of_ours(bench: Bench, goal: Goal) -> tuple[Goal, ...]:
    """Return a goal of our algorithm once for each set of options in the run."""
    if goal.scheduler != OURS or not bench.ours:
        return (goal,)
    return tuple(replace(goal, scheduler=ours) for ours in bench.ours)


def _results(bench: Bench, goal: Goal) -> list[Outcome]:
    if not {goal.scheduler, goal.baseline} <= set(bench.run.schedulers):
        return []
    asked = goal.topologies or bench.run.topologies
    topologies = [each for each in bench.run.topologies if each in asked]
    return [
        Outcome(goal, each, bench.ratio(each, goal.scheduler, goal.baseline, goal.metric))
        for each in topologies
    ]


def overall(results: Sequence[Outcome]) -> str:
    """Return the verdict over all topologies: one word if it is the same on all."""
    verdicts = [outcome.verdict for outcome in results]
    counts = {each: verdicts.count(each) for each in (REACHED, MISSED, TOO_FEW, UNKNOWN)}
    found = {each: count for each, count in counts.items() if count}
    if len(found) == 1:
        return next(iter(found))
    return ", ".join(f"{each} on {count}" for each, count in found.items())


def details(results: Sequence[Outcome]) -> str:
    """Return the ratio and verdict of each topology, those without a ratio last."""
    parts = [
        f"{each.topology} {spread_out(each.ratio.spread)} {each.verdict}"
        for each in results
        if each.ratio is not None
    ]
    absent = [each.topology for each in results if each.ratio is None]
    if absent:
        parts.append(f"{UNKNOWN}: {', '.join(absent)}")
    return "; ".join(parts)
