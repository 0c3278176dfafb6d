"""Options of algorithms: which numbers are allowed is stated beside each default.

A field's metadata holds ``help``, one line for people, and of a number ``bounds``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from stormcut.model.errors import InvalidInput

DEFAULT_SEED = 1
DEFAULT_ALGORITHM = "cut"


@dataclass(frozen=True)
class FiniteRange:
    """Finite numbers between two bounds; ``open_below`` and ``open_above`` exclude the bound."""

    least: float
    most: float = math.inf
    open_below: bool = False
    open_above: bool = False

    def __contains__(self, value: float) -> bool:
        """Return whether a number is allowed."""
        above = value > self.least if self.open_below else value >= self.least
        below = (
            value < self.most if self.open_above or math.isinf(self.most) else value <= self.most
        )
        return above and below

    def __str__(self) -> str:
        """Return the bounds in words that follow "must be"."""
        if self.most < math.inf and not self.open_below and not self.open_above:
            return f"from {self.least:g} to {self.most:g}"
        below = f"{'above' if self.open_below else 'at least'} {self.least:g}"
        if math.isinf(self.most):
            return below
        return f"{below} and {'below' if self.open_above else 'at most'} {self.most:g}"


NOT_NEGATIVE = FiniteRange(0)
POSITIVE = FiniteRange(0, open_below=True)
ONE_OR_MORE = FiniteRange(1)
FRACTION = FiniteRange(0, 1)
POSITIVE_FRACTION = FiniteRange(0, 1, open_below=True)


@dataclass(frozen=True)
class Bounded:
    """Options whose numbers are within the bounds of their fields; None is always allowed.

    Raises
    ------
    InvalidInput
        A number is not; names the option and its bounds.
    """

    def __post_init__(self) -> None:
        for field in fields(self):
            bounds, value = field.metadata.get("bounds"), getattr(self, field.name)
            if bounds is not None and value is not None and value not in bounds:
                raise InvalidInput(f"must be {bounds}, not {value:g}", f"option {field.name}")
