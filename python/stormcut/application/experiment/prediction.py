"""What the cost model says of a bench's placements, beside what was measured of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from stormcut.application.experiment.bench.cells import Measurement, Run
from stormcut.application.experiment.bench.contest import WINDOW, reachable, windowed
from stormcut.application.experiment.bench.summary import ratio
from stormcut.model.network import Costs
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem

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
    run: Run,
    measurements: Iterable[Measurement],
    solutions: Solutions,
    costs: Costs,
    baseline: str,
) -> list[Prediction]:
    """Return what closed-loop sources reach by the model, over the baseline, beside what they did.

    Schedulers without a steady pair of windows, or without a placement that was kept, are left out.
    """
    cells, found = list(measurements), []
    for topology in run.topologies:
        window = run.options.get(topology, {}).get(WINDOW)
        base = _reached(solutions(topology, baseline), costs, window)
        for scheduler in run.schedulers:
            reached = _reached(solutions(topology, scheduler), costs, window)
            here = ratio(cells, topology, scheduler, baseline)
            if scheduler != baseline and base and reached and here:
                spread = here.spread
                found.append(
                    Prediction(
                        topology,
                        scheduler,
                        reached / base,
                        spread.median,
                        spread.lowest,
                        spread.highest,
                    )
                )
    return found


def _reached(
    solution: tuple[Problem, Placement] | None, costs: Costs, window: object
) -> float | None:
    if solution is None:
        return None
    problem, placement = solution
    return reachable(windowed(replace(problem, costs=costs), window), placement)


def median_error(found: Sequence[Prediction]) -> float | None:
    """Return the median of the errors' sizes, None without any."""
    return statistics.median(abs(each.error) for each in found) if found else None
