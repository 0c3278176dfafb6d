"""The components of load prediction."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from plugs.prediction import Loads
from plugs.reading import Unusable, reading
from rig.bolt import CountedBolt
from rig.schedule import Departure
from rig.source import Malformed, ReplayingSpout
from rig.table import Table, TableRecords

TABLE = "stormcut:smart-plugs"


class Source(ReplayingSpout):
    """Emits the readings that Redis holds; its first task has put them there."""

    outputs: ClassVar = ["house", "plug", "second", "milliwatts"]

    def open(self, conf: Mapping[str, Any]) -> Sequence[str]:
        """Return the records in Redis."""
        self._lines = self.records(conf)
        self._table = Table(conf["rig.redis"], TABLE, len(self._lines))
        self._start = first_time(self._lines)
        self._span = first_time(reversed(self._lines)) + 1 - self._start
        return TableRecords(self._table, len(self._lines), self.tasks)

    def tick(self) -> None:
        """Keep the table full."""
        if not self.index:
            self._table.fill({str(number): line for number, line in enumerate(self._lines)})

    def values(self, record: str, departure: Departure) -> list[Any]:
        """Return one reading; each replay follows the one before in time."""
        try:
            found = reading(record)
        except Unusable as unusable:
            raise Malformed(str(unusable)) from None
        replay = departure.ordinal // len(self._lines)
        second = found.timestamp - self._start + replay * self._span
        return [found.house, found.plug, second, found.milliwatts]


def first_time(lines: Iterable[str]) -> int:
    """Return when the first reading among lines was taken; 0 if there is none.

    Examples
    --------
    >>> first_time(["no reading", "6,1341306000,8.72,1,3,0,5"])
    1341306000
    """
    for line in lines:
        with suppress(Unusable):
            return reading(line).timestamp
    return 0


class Prediction(CountedBolt):
    """Predicts loads two slices ahead; what changed is passed on every other second."""

    outputs: ClassVar = ["who", "slice", "watts"]

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with no readings."""
        self._slice_s = conf["rig.slice.seconds"]
        self._loads = Loads(conf["rig.slices.per.day"])

    def handle(self, house: str, plug: str, second: int, milliwatts: int) -> None:
        """Take note of one reading."""
        self._loads.add(plug, second // self._slice_s, milliwatts)


class PlugPrediction(Prediction):
    """Predicts the load of every plug."""

    def tick(self) -> None:
        """Pass on the predictions that changed."""
        for plug, target in sorted(self._loads.changed()):
            watts = self._loads.predict(plug, target)
            if watts is not None:
                self.emit([f"plug {plug}", target, watts])


class HousePrediction(Prediction):
    """Predicts the load of every house: the sum over its plugs."""

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with no plugs."""
        super().prepare(conf)
        self._plugs: dict[str, set[str]] = {}

    def handle(self, house: str, plug: str, second: int, milliwatts: int) -> None:
        """Take note of one reading."""
        self._plugs.setdefault(house, set()).add(plug)
        super().handle(house, plug, second, milliwatts)

    def tick(self) -> None:
        """Pass on the predictions that changed."""
        changed = {(plug.split("/")[0], target) for plug, target in self._loads.changed()}
        for house, target in sorted(changed):
            loads = [self._loads.predict(plug, target) for plug in self._plugs[house]]
            known = [watts for watts in loads if watts is not None]
            if known:
                self.emit([f"house {house}", target, math.fsum(known)])


class Sink(CountedBolt):
    """Keeps the newest prediction of every plug and house for every slice."""

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with no predictions."""
        self._watts: dict[str, float] = {}

    def handle(self, who: str, slice_: int, watts: float) -> None:
        """Replace one prediction."""
        self._watts[f"{who} @{slice_}"] = watts

    def answer(self) -> dict[str, float]:
        """Return the predictions in watts, to the microwatt."""
        return {key: round(watts, 6) for key, watts in self._watts.items()}
