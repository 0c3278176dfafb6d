"""How fast sources emit: at a set rate, as fast as possible, or along a staircase."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def rates(value: Any) -> list[float]:
    """Return the rates that an option names: a number, a list, or a text such as `100,200`.

    Raises
    ------
    ValueError
        It names no rate, or one that cannot be used.
    """
    parts = value.split(",") if isinstance(value, str) else value
    parts = parts if isinstance(parts, list) else [parts]
    try:
        found = [float(part) for part in parts]
    except (TypeError, ValueError):
        raise ValueError(f"{value!r} must be a number, or several such as 100,200") from None
    if not found or not all(math.isfinite(rate) and rate >= 0 for rate in found):
        raise ValueError(f"{value!r} must be a number, 0 or more")
    if len(found) > 1 and not all(found):
        raise ValueError(f"{value!r}: the steps of a staircase must be above 0")
    return found


class Pace:
    """A staircase of rates; its last step lasts for ever.

    Parameters
    ----------
    steps : sequence of float
        Tuples per second of each step; a single 0 is as fast as possible.
    step_s : float
        Seconds that each step lasts.
    """

    def __init__(self, steps: Sequence[float], step_s: float = 1.0) -> None:
        self._steps = steps
        self._step_s = step_s
        self.unlimited = not steps[0]

    def due(self, elapsed_s: float) -> float:
        """Return how many tuples are due within so many seconds from the start."""
        step = self._step(elapsed_s / self._step_s)
        before = sum(self._steps[:step]) * self._step_s
        return before + (elapsed_s - step * self._step_s) * self._steps[step]

    def moment(self, ordinal: int) -> float:
        """Return how many seconds after the start tuple `ordinal` is due."""
        left = float(ordinal)
        for step, rate in enumerate(self._steps[:-1]):
            if left < rate * self._step_s:
                return step * self._step_s + left / rate
            left -= rate * self._step_s
        return (len(self._steps) - 1) * self._step_s + left / self._steps[-1]

    def _step(self, position: float) -> int:
        return max(0, min(math.floor(position), len(self._steps) - 1))
