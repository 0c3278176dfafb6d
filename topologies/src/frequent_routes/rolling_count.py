"""Rolling count: how often each route was taken in the last half hour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from streamparse import Bolt

from frequent_routes.settings import Settings
from frequent_routes.window import SlidingCounts

MS_PER_MINUTE = 60_000


class RollingCount(Bolt):
    """Emits a route's count for every trip, and the counts that fall when a minute has passed.

    A trip enters a count once and leaves it once, so there are at most two tuples out for one in.
    """

    outputs: ClassVar = ["minute", "route", "count"]
    config: ClassVar = {"topology.tick.tuple.freq.secs": 60}

    def initialize(self, storm_conf: Mapping[str, Any], context: Mapping[str, Any]) -> None:
        """Start with an empty window."""
        self._counts = SlidingCounts(Settings.from_conf(storm_conf).window_minutes)
        self._reported_late = 0

    def process(self, tup: Any) -> None:
        """Count one trip."""
        event_ms, route = tup.values
        changed = self._counts.add(event_ms // MS_PER_MINUTE, route)
        for name, count in changed.items():
            self.emit([self._counts.newest, name, count])

    def process_tick(self, tup: Any) -> None:
        """Log how many trips came too late to be counted."""
        if self._counts.late > self._reported_late:
            self._reported_late = self._counts.late
            self.logger.warning(
                "%d trips so far came after their window had passed and were not counted",
                self._counts.late,
            )
