"""The model that predicts loads, free of Storm."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass

#: Slices from the one whose average is known to the one that is predicted.
AHEAD = 2


@dataclass
class Average:
    """A sum of milliwatts, which is exact in any order, and of how many readings."""

    total: int = 0
    readings: int = 0

    @property
    def watts(self) -> float:
        """The average in watts."""
        return self.total / self.readings / 1000


class Loads:
    """Average loads of plugs per slice, and the loads predicted from them.

    The prediction for slice t is the mean of two values: the average of slice t - 2, and the
    median of the averages of the slices a whole number of days before t; if there is no such
    slice, it is the first value alone. A reading that comes late changes what it belongs to:
    the final predictions do not depend on the order of readings.

    Parameters
    ----------
    day : int
        Slices in a day.

    References
    ----------
    DEBS 2014 Grand Challenge, query 1; thesis, section 6.3.1.
    """

    def __init__(self, day: int) -> None:
        self._day = day
        self._slices: dict[str, dict[int, Average]] = {}
        self._touched: set[tuple[str, int]] = set()

    def add(self, plug: str, slice_: int, milliwatts: int) -> None:
        """Take note of one reading."""
        average = self._slices.setdefault(plug, {}).setdefault(slice_, Average())
        average.total += milliwatts
        average.readings += 1
        self._touched.add((plug, slice_))

    def changed(self) -> set[tuple[str, int]]:
        """Return plug and slice of each prediction that readings since the last call changed."""
        found = {
            (plug, target) for plug, slice_ in self._touched for target in self._uses(plug, slice_)
        }
        self._touched.clear()
        return found

    def predict(self, plug: str, target: int) -> float | None:
        """Return the load predicted for a slice in watts, None without its base."""
        slices = self._slices[plug]
        base = slices.get(target - AHEAD)
        if base is None:
            return None
        past = [slices[s].watts for s in range(target - self._day, -1, -self._day) if s in slices]
        return (base.watts + statistics.median(past)) / 2 if past else base.watts

    def _uses(self, plug: str, slice_: int) -> Iterator[int]:
        """Yield the slices whose prediction rests on the average of this one."""
        yield slice_ + AHEAD
        slices = self._slices[plug]
        for target in range(slice_ + self._day, max(slices) + AHEAD + 1, self._day):
            if target - AHEAD in slices:
                yield target
