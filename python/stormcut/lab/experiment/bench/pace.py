"""How long the rest of a bench will take."""

from __future__ import annotations

import statistics

from stormcut.lab.experiment.bench.plan import Timing
from stormcut.lab.experiment.bench.windows import REPORTED_S

#: Of a cell beside its windows: letting it go, draining, stopping it.
TURN_S = 3.5
#: To bring up one more scheduler's topology, with its share of the profile and of placing.
START_S = 50.0


class RemainingTime:
    """Tells what is left by the mean of what was done, at first by guesses."""

    def __init__(self, timing: Timing) -> None:
        self._guess_s = timing.settle_s + timing.window_s + REPORTED_S + TURN_S
        self._cells: list[float] = []
        self._starts: list[float] = []

    def cell_took(self, seconds: float) -> None:
        """Note that one cell took so long."""
        self._cells.append(seconds)

    def starts_took(self, starts: int, seconds: float) -> None:
        """Note that some starts together took so long."""
        self._starts += [seconds / starts] * starts

    def left(self, cells: int, starts: int) -> str:
        """Return how much is left and how long that will take, in words."""
        cell_s = statistics.mean(self._cells or [self._guess_s])
        start_s = statistics.mean(self._starts or [START_S])
        return f"{cells} cells left, about {(cells * cell_s + starts * start_s) / 60:.0f} min"
