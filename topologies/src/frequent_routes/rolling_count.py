"""Rolling count: how often each route was taken in the sliding window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from frequent_routes.window import SlidingCounts
from rig.bolt import CountedBolt

#: Milliseconds in a minute of event time.
MINUTE_MS = 60_000


class RollingCount(CountedBolt):
    """Emits each count that changes; trips that come after their window are dropped and counted."""

    outputs: ClassVar = ["minute", "route", "count"]

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with an empty window."""
        self._window = SlidingCounts(conf["rig.window.minutes"])

    def handle(self, event_ms: int, route: str) -> None:
        """Count one trip."""
        late = self._window.late
        for changed, count in self._window.add(event_ms // MINUTE_MS, route).items():
            self.emit([self._window.newest, changed, count])
        if self._window.late > late:
            self.drop("late", route)
