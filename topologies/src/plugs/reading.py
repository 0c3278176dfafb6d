"""A reading of a smart plug, as the DEBS 2014 Grand Challenge writes it."""

from __future__ import annotations

from dataclasses import dataclass

COLUMNS = 7
#: The column `property`: power now, in watts; the other kind, 0, is energy so far.
LOAD = "1"


class Unusable(Exception):
    """A line without a load; its text says why."""


@dataclass(frozen=True)
class Reading:
    """The load of one plug; `plug` names house, household and plug."""

    house: str
    plug: str
    timestamp: int
    milliwatts: int


def reading(line: str) -> Reading:
    """Return the reading of a line `id,timestamp,value,property,plug,household,house`.

    Raises
    ------
    Unusable
        It is malformed, or not about a load.
    """
    fields = line.split(",")
    if len(fields) != COLUMNS:
        raise Unusable("malformed")
    _, timestamp, value, kind, plug, household, house = fields
    if kind != LOAD:
        raise Unusable("not a load")
    try:
        return Reading(
            house, f"{house}/{household}/{plug}", int(timestamp), round(float(value) * 1000)
        )
    except (ValueError, OverflowError):
        raise Unusable("malformed") from None
