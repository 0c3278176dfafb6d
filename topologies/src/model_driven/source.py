"""The source: numbered records, each with the sum 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rig.records import Generated
from rig.schedule import Departure
from rig.source import ReplayingSpout

#: Records in one replay.
RECORDS = 5_000


class NumberSource(ReplayingSpout):
    """Emits the sum 0 and the number of a record."""

    outputs: ClassVar = ["sum", "number"]

    @classmethod
    def records(cls, conf: Mapping[str, Any]) -> Sequence[str]:
        """Return the numbers."""
        return Generated(str, RECORDS)

    def values(self, record: str, departure: Departure) -> list[Any]:
        """Return what a record starts with."""
        return [0, int(record)]
