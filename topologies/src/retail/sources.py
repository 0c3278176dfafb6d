"""The sources of the shop's events, and the bolt that reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from retail.events import clicks, reviews, sales
from rig.bolt import CountedBolt
from rig.source import FileSource


class Sales(FileSource):
    """Emits sales."""

    @classmethod
    def records(cls, conf: Mapping[str, Any]) -> Sequence[str]:
        """Return the sales."""
        return sales()


class Clicks(FileSource):
    """Emits clicks."""

    @classmethod
    def records(cls, conf: Mapping[str, Any]) -> Sequence[str]:
        """Return the clicks."""
        return clicks()


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
