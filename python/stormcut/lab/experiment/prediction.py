"""What the cost model says of a bench's placements, beside what was measured of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from stormcut.lab.experiment.bench.cells import BenchRun, Measurement
from stormcut.lab.experiment.bench.contest import WINDOW, reachable, windowed
from stormcut.lab.experiment.bench.summary import ratio
from stormcut.model.network import Costs
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem

#: A topology is ranked if so many of its placements differ.
MIN_RANKED = 3

#: What was to be placed and where, by topology and scheduler; None where that was not kept.
Solutions = Callable[[str, str], tuple[Problem, Placement] | None]


@dataclass(frozen=True)
class Prediction:
    """One scheduler's throughput over the baseline's: predicted, and the median measured.

    ``lowest`` and ``highest`` are the measured extremes.
    """

    topology: str
    scheduler: str
    predicted: float
    measured: float
    lowest: float
    highest: float

    @property
    def error(self) -> float:
        """Predicted over measured, less 1."""
        return self.predicted / self.measured - 1


def predictions(
    run: BenchRun,
    measurements: Iterable[Measurement],
    solutions: Solutions,
    costs: Callable[[str], Costs | None],
    baseline: str,
) -> list[Prediction]:
    """Return what closed-loop sources reach by the model, over the baseline, beside what they did.

    ``costs`` are by topology; one without is left out. So are schedulers without a steady pair of
    windows, or without a placement that was kept.
    """
    cells, compared = list(measurements), []
    for topology in run.topologies:
        window = run.options.get(topology, {}).get(WINDOW)
        known = costs(topology)
        if known is None:
            continue
        base = _reached(solutions(topology, baseline), known, window)
        for scheduler in run.schedulers:
            reached = _reached(solutions(topology, scheduler), known, window)
            here = ratio(cells, topology, scheduler, baseline)
            if scheduler != baseline and base and reached and here:
                spread = here.spread
                compared.append(
                    Prediction(
                        topology,
                        scheduler,
                        reached / base,
                        spread.median,
                        spread.lowest,
                        spread.highest,
                    )
                )
    return compared


def _reached(
    solution: tuple[Problem, Placement] | None, costs: Costs, window: object
) -> float | None:
    if solution is None:
        return None
    problem, placement = solution
    return reachable(windowed(replace(problem, costs=costs), window), placement)


@dataclass(frozen=True)
class Quality:
    """How well ratios are predicted.

    Attributes
    ----------
    rms : float
        Root mean square of the errors, each a logarithm.
    rank : float or None
        Mean over topologies of Spearman's rank correlation between predicted and measured, the
        baseline included; None if no topology has `MIN_RANKED` placements.
    bias : float
        Mean error of the topology of which it is largest, a logarithm.
    """

    rms: float
    rank: float | None
    bias: float


def quality(compared: Sequence[Prediction]) -> Quality | None:
    """Return how well ratios are predicted, None without any."""
    if not compared:
        return None
    # Takes a tenth of a second to load: not for help.
    from scipy.stats import spearmanr

    ratios = {
        name: np.log(
            [(p.predicted, p.measured) for p in compared if p.topology == name] + [(1.0, 1.0)]
        )
        for name in dict.fromkeys(each.topology for each in compared)
    }
    errors = {name: (each[:-1, 0] - each[:-1, 1]) for name, each in ratios.items()}
    every = np.concatenate(list(errors.values()))
    ranks = [
        float(spearmanr(*each.T).statistic)
        for each in ratios.values()
        if len(each) >= MIN_RANKED and not (each == each[0]).all(axis=0).any()
    ]
    return Quality(
        float(np.sqrt((every**2).mean())),
        statistics.mean(ranks) if ranks else None,
        max((float(each.mean()) for each in errors.values()), key=abs),
    )


def median_error(compared: Sequence[Prediction]) -> float | None:
    """Return the median of the errors' sizes, None without any."""
    return statistics.median(abs(each.error) for each in compared) if compared else None
