"""Counts over a sliding window of event time."""

from __future__ import annotations

from collections import Counter, defaultdict


class SlidingCounts:
    """Counts per key over the newest minute seen and the `minutes - 1` before it.

    The counts are a function of what was added, not of its order, as long as nothing was late.

    Attributes
    ----------
    late : int
        How many additions were already outside the window and therefore not counted.
    """

    def __init__(self, minutes: int) -> None:
        self.late = 0
        self.newest = -1
        self._minutes = minutes
        self._slices: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._totals: Counter[str] = Counter()

    def add(self, minute: int, key: str) -> dict[str, int]:
        """Count `key` in `minute`, move the window on if it is new.

        Returns
        -------
        dict
            The new count of every key whose count changed, 0 for one that left the window.
        """
        changed: set[str] = set()
        if minute > self.newest:
            self.newest = minute
            changed = self._expire()
        if minute <= self.newest - self._minutes:
            self.late += 1
            return {}
        self._slices[minute][key] += 1
        self._totals[key] += 1
        return {name: self._totals[name] for name in [*sorted(changed - {key}), key]}

    def _expire(self) -> set[str]:
        gone = [minute for minute in self._slices if minute <= self.newest - self._minutes]
        changed: set[str] = set()
        for minute in gone:
            expired = self._slices.pop(minute)
            self._totals.subtract(expired)
            changed |= expired.keys()
        for key in changed:
            if not self._totals[key]:
                del self._totals[key]
        return changed

    def counts(self) -> dict[str, int]:
        """Return all counts above 0."""
        return dict(self._totals)
