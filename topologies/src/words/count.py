"""Count: how often each word came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from rig.bolt import CountedBolt


class Count(CountedBolt):
    """Counts the words that are grouped to this task."""

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with no words."""
        self._words: Counter[str] = Counter()

    def handle(self, word: str) -> None:
        """Count one word."""
        self._words[word] += 1

    def answer(self) -> dict[str, int]:
        """Return the counts."""
        return self._words
