"""Source: replays its share of the trips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from frequent_routes.trips import load_trips
from rig.schedule import Departure
from rig.source import ReplayingSpout


class Source(ReplayingSpout):
    """Emits the lines of the trips in order, again and again, each with its event time."""

    outputs: ClassVar = ["event_ms", "line"]

    @classmethod
    def records(cls, conf: Mapping[str, Any]) -> Sequence[str]:
        """Return the trips."""
        return load_trips(conf["rig.data"])

    def values(self, record: str, departure: Departure) -> list[Any]:
        """Return a trip with the event time of its departure."""
        return [event_ms(departure.elapsed_s, self.conf["rig.speedup"]), record]


def event_ms(elapsed_s: float, speedup: float) -> int:
    """Return the event time of a moment: milliseconds since the launch, `speedup` times faster."""
    return round(elapsed_s * speedup * 1000)
