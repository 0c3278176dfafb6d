"""Preprocess: from a trip's line to its route."""

from __future__ import annotations

from typing import ClassVar

from frequent_routes.trips import UnusableTrip, route
from rig.bolt import CountedBolt


class Preprocess(CountedBolt):
    """Emits the route of each trip; trips without one are dropped and counted."""

    outputs: ClassVar = ["event_ms", "route"]

    def handle(self, event_ms: int, line: str) -> None:
        """Emit the route of one line."""
        try:
            self.emit([event_ms, route(line)])
        except UnusableTrip as unusable:
            self.drop(str(unusable), line)
