"""The sources of the shop's events, and the bolt that reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from retail.events import GAP_S, clicks, reviews, sales
from rig.bolt import CountedBolt
from rig.schedule import Departure
from rig.source import FileSource


class Sales(FileSource):
    """Emits sales."""

    @classmethod
    def records(cls, conf: Mapping[str, Any]) -> Sequence[str]:
        """Return the sales."""
        return sales()


class Clicks(FileSource):
    """Emits clicks; those of a replay come after those of the one before."""

    @classmethod
    def records(cls, conf: Mapping[str, Any]) -> Sequence[str]:
        """Return the clicks."""
        return clicks()

    def values(self, record: str, departure: Departure) -> list[Any]:
        """Return a click at the second of its departure."""
        # The same sessions in every replay would hold no new pair after the first.
        customer, item, kind, _ = record.split(",")
        return [f"{customer},{item},{kind},{departure.ordinal * GAP_S}"]


class Reviews(FileSource):
    """Emits reviews."""

    @classmethod
    def records(cls, conf: Mapping[str, Any]) -> Sequence[str]:
        """Return the reviews."""
        return reviews()


class Reader(CountedBolt):
    """Reads lines of fields; those that cannot be read are dropped."""

    def read(self, fields: list[str]) -> None:
        """Use the fields of one line; a ValueError drops it."""
        raise NotImplementedError

    def handle(self, line: str) -> None:
        """Read one line."""
        try:
            self.read(line.split(","))
        except ValueError:
            self.drop("malformed", line)
