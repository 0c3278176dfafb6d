"""Whether a bench reached its goals, topology by topology."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from stormcut.lab.experiment.bench.summary import Ratio
from stormcut.lab.experiment.bench.yardsticks import MISSED, REACHED, TOO_FEW, UNKNOWN, Goal
from stormcut.lab.report.bench_figures import OURS, BenchResults, spread_out


@dataclass(frozen=True)
class GoalOutcome:
    """A goal on one topology."""

    goal: Goal
    topology: str
    ratio: Ratio | None

    @property
    def verdict(self) -> str:
        """Return reached, missed, not measured or too few pairs."""
        return self.goal.verdict(self.ratio)


def outcomes(bench: BenchResults) -> list[tuple[Goal, Sequence[GoalOutcome]]]:
    """Return each goal of the bench's setting with how it went on each topology of the run.

    Goals of schedulers or topologies that are none of the run's are left out.
    """
    goals = (g for g in bench.yardsticks.goals if bench.run.setting.startswith(g.settings))
    every = (each for goal in goals for each in _of_ours(bench, goal))
    by_goal = ((goal, _results(bench, goal)) for goal in every)
    return [(goal, results) for goal, results in by_goal if results]


def _of_ours(bench: BenchResults, goal: Goal) -> tuple[Goal, ...]:
    """Return a goal of our algorithm once for each set of options in the run."""
    if goal.scheduler != OURS or not bench.ours:
        return (goal,)
    return tuple(replace(goal, scheduler=ours) for ours in bench.ours)


def _results(bench: BenchResults, goal: Goal) -> list[GoalOutcome]:
    if not {goal.scheduler, goal.baseline} <= set(bench.run.schedulers):
        return []
    wanted = goal.topologies or bench.run.topologies
    topologies = [each for each in bench.run.topologies if each in wanted]
    return [
        GoalOutcome(goal, each, bench.ratio(each, goal.scheduler, goal.baseline, goal.metric))
        for each in topologies
    ]


def overall(results: Sequence[GoalOutcome]) -> str:
    """Return the verdict over all topologies: one word if it is the same on all."""
    verdicts = [outcome.verdict for outcome in results]
    counts = {each: verdicts.count(each) for each in (REACHED, MISSED, TOO_FEW, UNKNOWN)}
    counted = {each: count for each, count in counts.items() if count}
    if len(counted) == 1:
        return next(iter(counted))
    return ", ".join(f"{each} on {count}" for each, count in counted.items())


def details(results: Sequence[GoalOutcome]) -> str:
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
