"""The linear query: which items are looked at together (in the manner of query 2)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, ClassVar

from retail.sources import Reader
from rig.bolt import CountedBolt


class Views(Reader):
    """Lets views pass."""

    outputs: ClassVar = ["customer", "session", "item"]

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Take note of how long a session is."""
        self._session_s = conf["rig.session.seconds"]

    def read(self, fields: list[str]) -> None:
        """Look at one click."""
        customer, item, kind, second = fields
        session = int(second) // self._session_s
        if kind == "view":
            self.emit([int(customer), session, int(item)])


class Sessions(CountedBolt):
    """Pairs each item with those that the same customer looked at in the same session."""

    outputs: ClassVar = ["pair"]

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with no sessions."""
        self._items: defaultdict[tuple[int, int], set[int]] = defaultdict(set)

    def handle(self, customer: int, session: int, item: int) -> None:
        """Emit a pair for every other item of the session."""
        items = self._items[customer, session]
        if item not in items:
            for other in sorted(items):
                self.emit([f"{min(item, other)}-{max(item, other)}"])
            items.add(item)


class Pairs(CountedBolt):
    """Counts pairs of items."""

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with no pairs."""
        self._pairs: Counter[str] = Counter()

    def handle(self, pair: str) -> None:
        """Count one pair."""
        self._pairs[pair] += 1

    def answer(self) -> dict[str, int]:
        """Return the counts."""
        return self._pairs
