"""What a rate will be in the next minutes, by exponential smoothing.

Who follows each change at once is right where changes last, and chases every peak where they pass.
Which of them a topology is, its last hour tells: each of a few smoothings is judged by how far its
forecasts were from what came (rolling origin), and the best one is believed. The last value is the
forecast until another one has proved clearly better: a change is then followed at once.

References
----------
R. J. Hyndman and G. Athanasopoulos, "Forecasting: Principles and Practice", 3rd edition, chapters
5.8 (evaluation), 5.10 (rolling origin), 8 (exponential smoothing, damped trend).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

#: What a forecast is for, and what it is made of, in seconds.
AHEAD_SECONDS, MEMORY_SECONDS = 300.0, 3600.0
#: Values in ``AHEAD_SECONDS`` at least, and values in memory at most.
MIN_VALUES, MAX_VALUES = 3, 720
#: For so long forecasts must have been judged before another than the last value is believed.
JUDGED_SECONDS = 1200.0
#: An error of this share of what came is none: noise alone must not make a smoothing the best.
SMALL = 0.1
#: Another one is believed whose errors are at most this share of those of the last value.
CLEARLY_BETTER = 0.8
#: Weights of the last value in a smoothing; 1 is the last value itself.
LEVELS = (0.3, 0.1, 0.03)
#: Weights of level, slope, and how much of a slope lasts from one value to the next.
TRENDS = ((0.5, 0.2, 0.9), (0.8, 0.4, 0.95))

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Expected:
    """A mean that is to be expected, and how far on the mean such forecasts were from what came."""

    mean: float
    error: float

    def is_about(self, value: float) -> bool:
        """Return whether it differs from a value by no more than it may be wrong."""
        return abs(self.mean - value) <= max(self.error, SMALL * value)


class Forecast:
    """The last hour of a rate, and what is better to be expected of it than the last value.

    Time of `expected` and memory are linear in the values kept.
    """

    def __init__(self) -> None:
        self._values: deque[tuple[float, float]] = deque(maxlen=MAX_VALUES)

    def add(self, at_s: float, value: float) -> None:
        """Take note of a value at a moment."""
        self._values.append((at_s, value))
        while self._values[0][0] < at_s - MEMORY_SECONDS:
            self._values.popleft()

    def expected(self) -> Expected | None:
        """Return the mean of the next `AHEAD_SECONDS`; None: as far as known the last value."""
        values = np.array([value for _, value in self._values])
        ahead = self._ahead()
        if ahead < MIN_VALUES or len(values) - ahead < ahead * JUDGED_SECONDS / AHEAD_SECONDS:
            return None
        came = np.lib.stride_tricks.sliding_window_view(values[1:], ahead).mean(axis=1)
        best, least = None, CLEARLY_BETTER * _error(values, came)
        for forecasts in _candidates(values, ahead):
            error = _error(forecasts, came)
            if error < least:
                best, least = forecasts, error
        if best is None:
            return None
        wrong = np.abs(best[: len(came)] - came).mean()
        return Expected(max(float(best[-1]), 0.0), float(wrong))

    def _ahead(self) -> int:
        """Return how many values come in the time that is forecast."""
        moments = [moment for moment, _ in self._values]
        if len(moments) < 2 or moments[-1] <= moments[0]:
            return 0
        return round(AHEAD_SECONDS * (len(moments) - 1) / (moments[-1] - moments[0]))


def _error(forecasts: Values, came: Values) -> float:
    """Return the mean error of the forecasts of which it is known what came, beyond `SMALL`."""
    return float(np.maximum(np.abs(forecasts[: len(came)] - came) - SMALL * came, 0.0).mean())


def _candidates(values: Values, ahead: int) -> Iterator[Values]:
    """Yield forecasts made at each value by each smoothing, of the mean of what follows it."""
    for level in LEVELS:
        yield _smoothed(values, level)[0]
    for level, slope, lasting in TRENDS:
        levels, slopes = _smoothed(values, level, slope, lasting)
        yield levels + np.mean(np.cumsum(lasting ** np.arange(1, ahead + 1))) * slopes


def _smoothed(
    values: Values, level_weight: float, slope_weight: float = 0.0, lasting: float = 0.0
) -> tuple[Values, Values]:
    """Return level and slope after each value, by Holt's method with a damped trend.

    It begins at the first value with no slope.
    """
    level, slope = float(values[0]), 0.0
    states = []
    for value in values.tolist():
        before, rise = level, lasting * slope
        level = level_weight * value + (1 - level_weight) * (before + rise)
        slope = slope_weight * (level - before) + (1 - slope_weight) * rise
        states.append((level, slope))
    levels, slopes = np.array(states).T
    return levels, slopes
