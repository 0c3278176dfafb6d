"""Intermediate rank: the most frequent of the routes that are grouped to this task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from frequent_routes.ranking import Count, RouteRanking, to_text
from rig.bolt import CountedBolt

#: Nearly every update of a busy route changes the ranking; this many go into one tuple.
UPDATES_PER_RANKING = 10


class IntermediateRank(CountedBolt):
    """Emits its ranking when it has changed: after every tenth update, and each second."""

    outputs: ClassVar = ["minute", "ranking"]
    config: ClassVar = {"topology.tick.tuple.freq.secs": 1}

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with no routes."""
        self._ranking = RouteRanking(conf["rig.window.minutes"])
        self._updates = 0
        self._last: list[Count] = []

    def handle(self, minute: int, route: str, count: int) -> None:
        """Take note of one count."""
        self._ranking.update(minute, route, count)
        self._updates += 1
        if self._updates >= UPDATES_PER_RANKING:
            self._emit_if_changed()

    def tick(self) -> None:
        """Emit what the last few updates changed, so that no change waits for the next ones."""
        if self._updates:
            self._emit_if_changed()

    def _emit_if_changed(self) -> None:
        self._updates = 0
        ranking = self._ranking.top()
        if ranking != self._last:
            self.emit([self._ranking.minute, to_text(ranking)])
            self._last = ranking
