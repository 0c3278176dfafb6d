"""The star query: sales, clicks and reviews meet at their item and part by category."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar

from retail.events import CATEGORIES
from retail.sources import Reader
from rig.bolt import CountedBolt

#: What a line is about, by its number of fields, and where its item stands.
KINDS = {6: ("sale", 1), 4: ("click", 1), 2: ("review", 0)}


class Catalogue(Reader):
    """Finds the category of an event's item, and what the event is worth."""

    outputs: ClassVar = ["category", "kind", "value"]

    def read(self, fields: list[str]) -> None:
        """Emit category and value of one event."""
        if len(fields) not in KINDS:
            raise ValueError
        kind, position = KINDS[len(fields)]
        category = f"category-{int(fields[position]) % CATEGORIES}"
        self.emit([category, kind, _value(kind, fields)])


def _value(kind: str, fields: list[str]) -> int:
    if kind == "sale":
        return int(fields[4]) * int(fields[5])
    return int(fields[1]) if kind == "review" else 1


class Total(CountedBolt):
    """Adds up the values of one kind of event by category."""

    kind = ""

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start at 0."""
        self._totals: Counter[str] = Counter()

    def handle(self, category: str, kind: str, value: int) -> None:
        """Add one value."""
        if kind == self.kind:
            self._totals[category] += value

    def answer(self) -> dict[str, int]:
        """Return the totals."""
        return self._totals


class Revenue(Total):
    """Adds up what was paid."""

    kind = "sale"


class Interest(Total):
    """Counts clicks."""

    kind = "click"


class Rating(Total):
    """Adds up ratings."""

    kind = "review"
