"""Final rank: the most frequent routes of all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from frequent_routes.ranking import Count, MergedRanking, from_text
from rig.bolt import CountedBolt


class FinalRank(CountedBolt):
    """Logs the ten most frequent routes every other second, if they have changed."""

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with no rankings."""
        self._ranking = MergedRanking(conf["rig.window.minutes"])
        self._logged: list[Count] = []

    def handle(self, minute: int, text: str) -> None:
        """Take note of one task's ranking."""
        self._ranking.update(self.sender, minute, from_text(text))

    def tick(self) -> None:
        """Log the ranking as one line of JSON."""
        ranking = self._ranking.top()
        if ranking != self._logged:
            self._logged = ranking
            line = json.dumps({"minute": self._ranking.minute, "routes": ranking})
            self.logger.info("top routes %s", line)

    def answer(self) -> list[Count]:
        """Return the ranking."""
        return self._logged
