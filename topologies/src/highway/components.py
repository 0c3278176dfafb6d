"""The components of the toll query.

No result depends on the order in which reports come: late ones correct what they belong to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from highway.reports import PERIOD_S, SEGMENTS, reports
from rig.bolt import CountedBolt
from rig.source import FileSource

#: A car that reports one place so often in a row has stopped.
REPORTS_TO_STOP = 4
#: An accident keeps the toll of so many segments before it at zero.
REACH = 5
#: A toll is due below this average speed, in miles an hour, and above so many cars.
FREE_MPH = 40
FREE_CARS = 50


class Source(FileSource):
    """Emits position reports."""

    @classmethod
    def records(cls, conf: Mapping[str, Any]) -> Sequence[str]:
        """Return the reports."""
        return reports()


class Parse(CountedBolt):
    """Reads position reports; texts of another form are dropped."""

    outputs: ClassVar = ["car", "segment", "second", "mph", "feet"]

    def handle(self, line: str) -> None:
        """Read one report."""
        try:
            kind, second, car, mph, _, _, _, segment, feet = map(int, line.split(","))
        except ValueError:
            self.drop("malformed", line)
            return
        if kind:
            self.drop("not a position", line)
        else:
            self.emit([car, segment, second, mph, feet])


class Stopped(CountedBolt):
    """Finds cars that stand still: the same place in four reports in a row."""

    outputs: ClassVar = ["feet", "segment", "second", "car"]

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with no cars."""
        self._places: defaultdict[int, dict[int, int]] = defaultdict(dict)
        self._found: set[tuple[int, int]] = set()

    def handle(self, car: int, segment: int, second: int, mph: int, feet: int) -> None:
        """Look at every row of reports that this one is part of."""
        self._places[car][second] = feet
        for last in range(second, second + REPORTS_TO_STOP * PERIOD_S, PERIOD_S):
            if (car, last) not in self._found and self._stands(car, last):
                self._found.add((car, last))
                self.emit([feet, segment, last, car])

    def _stands(self, car: int, last: int) -> bool:
        row = range(last, last - REPORTS_TO_STOP * PERIOD_S, -PERIOD_S)
        return len({self._places[car].get(second, -second - 1) for second in row}) == 1


class Accidents(CountedBolt):
    """Finds accidents: two cars that stand at one place within a minute."""

    outputs: ClassVar = ["segment", "minute", "cars", "mph"]

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with no stopped cars."""
        self._cars: defaultdict[tuple[int, int], set[int]] = defaultdict(set)

    def handle(self, feet: int, segment: int, second: int, car: int) -> None:
        """Tell the segments that lead to an accident."""
        cars = self._cars[feet, second // 60]
        before = len(cars)
        cars.add(car)
        if before == 1 and len(cars) == 2:
            for behind in range(REACH):
                self.emit([(segment - behind) % SEGMENTS, second // 60, -1, 0.0])


class Statistics(CountedBolt):
    """Counts the cars of each segment and minute, and averages their speeds."""

    outputs: ClassVar = ["segment", "minute", "cars", "mph"]

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with no reports."""
        self._cars: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
        self._speeds: defaultdict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
        self._changed: set[tuple[int, int]] = set()

    def handle(self, car: int, segment: int, second: int, mph: int, feet: int) -> None:
        """Take note of one report."""
        key = segment, second // 60
        self._cars[key].add(car)
        speeds = self._speeds[key]
        speeds[0] += mph
        speeds[1] += 1
        self._changed.add(key)

    def tick(self) -> None:
        """Pass on the statistics that changed."""
        for key in sorted(self._changed):
            total, count = self._speeds[key]
            self.emit([*key, len(self._cars[key]), total / count])
        self._changed.clear()


class Toll(CountedBolt):
    """Sets the toll of each segment for the minute after one that was slow and crowded."""

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with no tolls."""
        self._crowded: dict[tuple[int, int], int] = {}
        self._accidents: set[tuple[int, int]] = set()

    def handle(self, segment: int, minute: int, cars: int, mph: float) -> None:
        """Take note of statistics, or of an accident, which has a negative number of cars."""
        key = segment, minute
        if cars < 0:
            self._accidents.add(key)
            return
        slow = mph < FREE_MPH and cars > FREE_CARS
        self._crowded[key] = 2 * (cars - FREE_CARS) ** 2 if slow else 0

    def answer(self) -> dict[str, int]:
        """Return the tolls above 0, in cents."""
        return {
            f"{segment} @{minute + 1}": toll
            for (segment, minute), toll in self._crowded.items()
            if toll and (segment, minute) not in self._accidents
        }
