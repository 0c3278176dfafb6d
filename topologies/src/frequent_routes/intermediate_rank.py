"""Intermediate rank: the most frequent of the routes that are grouped to this task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from streamparse import Bolt

from frequent_routes.ranking import Count, RouteRanking, to_text
from frequent_routes.settings import Settings

#: Nearly every update of a busy route changes the ranking; this many go into one tuple.
UPDATES_PER_RANKING = 10


class IntermediateRank(Bolt):
    """Emits its ranking when it has changed: after every tenth update, and each second."""

    outputs: ClassVar = ["minute", "ranking"]
    config: ClassVar = {"topology.tick.tuple.freq.secs": 1}

    def initialize(self, storm_conf: Mapping[str, Any], context: Mapping[str, Any]) -> None:
        """Start with no routes."""
        self._ranking = RouteRanking(Settings.from_conf(storm_conf).window_minutes)
        self._updates = 0
        self._emitted: list[Count] = []

    def process(self, tup: Any) -> None:
        """Take note of one count."""
        self._ranking.update(*tup.values)
        self._updates += 1
        if self._updates >= UPDATES_PER_RANKING:
            self._emit_if_changed()

    def process_tick(self, tup: Any) -> None:
        """Emit what the last few updates changed, so that no change waits for the next ones."""
        if self._updates:
            self._emit_if_changed()

    def _emit_if_changed(self) -> None:
        self._updates = 0
        ranking = self._ranking.top()
        if ranking != self._emitted:
            self.emit([self._ranking.minute, to_text(ranking)])
            self._emitted = ranking
