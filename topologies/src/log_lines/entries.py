"""What is done with log entries: an index of their terms, and counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from rig.bolt import CountedBolt

TERM = re.compile(r"[a-z0-9_]+")


class Index(CountedBolt):
    """Indexes entries: how many of those that came here hold each term."""

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with no terms."""
        self._entries: Counter[str] = Counter()

    def handle(self, level: str, program: str, text: str) -> None:
        """Index one entry."""
        self._entries.update(set(TERM.findall(text.lower())))

    def answer(self) -> dict[str, int]:
        """Return the entries of each term."""
        return self._entries


class Counts(CountedBolt):
    """Counts entries by level and program."""

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start at 0."""
        self._entries: Counter[str] = Counter()

    def handle(self, level: str, program: str, text: str) -> None:
        """Count one entry."""
        self._entries[f"{level} {program}"] += 1

    def answer(self) -> dict[str, int]:
        """Return the counts."""
        return self._entries
