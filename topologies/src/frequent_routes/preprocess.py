"""Preprocess: from a trip's line to its route."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar

from streamparse import Bolt

from frequent_routes.trips import MALFORMED, UnusableTrip, route


class Preprocess(Bolt):
    """Emits the route of each trip; trips without one are dropped, counted and logged."""

    outputs: ClassVar = ["event_ms", "route"]
    config: ClassVar = {"topology.tick.tuple.freq.secs": 60}

    def initialize(self, storm_conf: Mapping[str, Any], context: Mapping[str, Any]) -> None:
        """Start all counts at 0."""
        self._read = 0
        self._dropped: Counter[str] = Counter()

    def process(self, tup: Any) -> None:
        """Emit the route of one line."""
        event_ms, line = tup.values
        self._read += 1
        try:
            self.emit([event_ms, route(line)])
        except UnusableTrip as unusable:
            reason = str(unusable)
            if reason == MALFORMED and not self._dropped[MALFORMED]:
                self.logger.warning("first malformed line, dropped like all others: %r", line)
            self._dropped[reason] += 1

    def process_tick(self, tup: Any) -> None:
        """Log what was dropped so far."""
        reasons = ", ".join(f"{reason} {count}" for reason, count in self._dropped.most_common())
        self.logger.info("read %d trips, dropped: %s", self._read, reasons or "none")
