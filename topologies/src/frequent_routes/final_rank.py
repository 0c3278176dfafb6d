"""Final rank: the most frequent routes of all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from streamparse import Bolt

from frequent_routes.ranking import Count, MergedRanking, from_text
from frequent_routes.settings import Settings


class FinalRank(Bolt):
    """Logs the ten most frequent routes every five seconds, if they have changed."""

    config: ClassVar = {"topology.tick.tuple.freq.secs": 5}

    def initialize(self, storm_conf: Mapping[str, Any], context: Mapping[str, Any]) -> None:
        """Start with no rankings."""
        self._ranking = MergedRanking(Settings.from_conf(storm_conf).window_minutes)
        self._logged: list[Count] = []

    def process(self, tup: Any) -> None:
        """Take note of one task's ranking."""
        minute, text = tup.values
        self._ranking.update(tup.task, minute, from_text(text))

    def process_tick(self, tup: Any) -> None:
        """Log the ranking as one line of JSON."""
        ranking = self._ranking.top()
        if ranking != self._logged:
            self._logged = ranking
            line = json.dumps({"minute": self._ranking.minute, "routes": ranking})
            self.logger.info("top routes %s", line)
