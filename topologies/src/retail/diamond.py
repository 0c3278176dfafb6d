"""The diamond query: whose spending moved from the shops to the web (like query 13)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, ClassVar

from retail.events import YEARS
from retail.sources import Reader
from rig.bolt import CountedBolt

#: Customers in the answer.
TOP = 20


class Channel(Reader):
    """Adds up what customers paid per year in one channel, as far as it comes to this task."""

    outputs: ClassVar = ["customer", "channel", "before", "after"]
    channel = ""

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with no sales."""
        self._paid: Counter[tuple[str, int]] = Counter()
        self._changed: set[str] = set()

    def read(self, fields: list[str]) -> None:
        """Add one sale."""
        customer, _, channel, year, quantity, price = fields
        paid = int(quantity) * int(price)
        if channel == self.channel:
            self._paid[customer, int(year)] += paid
            self._changed.add(customer)

    def tick(self) -> None:
        """Pass on the sums that changed."""
        for customer in sorted(self._changed):
            self.emit([customer, self.channel, *(self._paid[customer, year] for year in YEARS)])
        self._changed.clear()


class Store(Channel):
    """Adds up sales in shops."""

    channel = "store"


class Web(Channel):
    """Adds up sales on the web."""

    channel = "web"


class Growth(CountedBolt):
    """Joins the channels of each customer; passes on how much more the web grew."""

    outputs: ClassVar = ["customer", "growth"]

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with no customers."""
        self._parts: defaultdict[str, dict[int, int]] = defaultdict(dict)

    def handle(self, customer: str, channel: str, before: int, after: int) -> None:
        """Replace one task's part of the sums."""
        parts = self._parts[customer]
        parts[self.sender] = after - before if channel == "web" else before - after
        self.emit([customer, sum(parts.values())])


class Top(CountedBolt):
    """Keeps the customers whose spending moved most."""

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with no customers."""
        self._growth: dict[str, int] = {}

    def handle(self, customer: str, growth: int) -> None:
        """Replace one customer's growth."""
        self._growth[customer] = growth

    def answer(self) -> list[list[Any]]:
        """Return the customers in order."""
        ranking = sorted(self._growth.items(), key=lambda each: (-each[1], each[0]))
        return [list(each) for each in ranking[:TOP]]
