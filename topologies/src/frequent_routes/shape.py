"""How many tasks each component has, and how trips are grouped: known at submission only."""

from __future__ import annotations

import enum
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass

SCALE_VARIABLE = "STORMCUT_TAXI_SCALE"
MODE_VARIABLE = "STORMCUT_TAXI_MODE"


class Mode(enum.Enum):
    """How trips reach Rolling count."""

    #: Fields grouping on the route: all trips of a route meet in one task, counts are right.
    CORRECT = "correct"
    #: Shuffle grouping, as printed: traffic is even, but a route's count is split over the tasks.
    THESIS = "thesis"


@dataclass(frozen=True)
class Shape:
    """Tasks per component, and the mode.

    References
    ----------
    Thesis, section 6.3.2: 16, 16, 8, 4 and 1 tasks.
    """

    mode: Mode = Mode.CORRECT
    source: int = 16
    preprocess: int = 16
    rolling_count: int = 8
    intermediate_rank: int = 4
    final_rank: int = 1

    def scaled(self, scale: float) -> Shape:
        """Return the same shape with `scale` times the tasks, at least one of each component.

        Final rank stays one task: it is what makes the ranking global.
        """
        if not (math.isfinite(scale) and scale > 0):
            raise ValueError(f"{SCALE_VARIABLE}: {scale} must be a number above 0, such as 0.25")

        def tasks(full_size: int) -> int:
            return max(1, round(full_size * scale))

        return Shape(
            self.mode,
            tasks(self.source),
            tasks(self.preprocess),
            tasks(self.rolling_count),
            tasks(self.intermediate_rank),
        )


def shape_from_environment(environment: Mapping[str, str] = os.environ) -> Shape:
    """Return the shape that the environment of `sparse submit` asks for.

    Raises
    ------
    ValueError
        If a variable has a value that cannot be used.
    """
    scale = environment.get(SCALE_VARIABLE, "1")
    mode = environment.get(MODE_VARIABLE, Mode.CORRECT.value)
    if mode not in {known.value for known in Mode}:
        raise ValueError(f"{MODE_VARIABLE}: {mode!r} must be correct or thesis")
    try:
        factor = float(scale)
    except ValueError:
        raise ValueError(f"{SCALE_VARIABLE}: {scale!r} must be a number, such as 0.25") from None
    return Shape(Mode(mode)).scaled(factor)
