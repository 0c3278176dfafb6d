"""The linear query: which items are looked at together (in the manner of query 2)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, ClassVar

from retail.sources import Reader
from rig.bolt import CountedBolt

#: Sessions to which a click may still come late: more than begin before it is sent again.
KEPT_SESSIONS = 1000


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
        self._items: dict[int, defaultdict[int, set[int]]] = {}

    def handle(self, customer: int, session: int, item: int) -> None:
        """Emit a pair for every other item of the session."""
        items = self._customers(session)[customer]
        if item not in items:
            for other in sorted(items):
                self.emit([f"{min(item, other)}-{max(item, other)}"])
            items.add(item)

    def _customers(self, session: int) -> defaultdict[int, set[int]]:
        """Return what each customer looked at in a session; forget the oldest for a new one."""
        if session not in self._items:
            if len(self._items) == KEPT_SESSIONS:
                del self._items[min(self._items)]
            self._items[session] = defaultdict(set)
        return self._items[session]


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
