"""Chicago's taxi trips: the file, and the route of a line."""

from __future__ import annotations

import csv

from frequent_routes.grid import CHICAGO, Grid
from rig.records import lines

TRIPS_FILE = "taxi-chicago/trips.csv.gz"

COLUMNS = 18
#: The columns pickup_latitude, pickup_longitude, dropoff_latitude, dropoff_longitude.
COORDINATES = slice(6, 10)

MALFORMED = "malformed"
MISSING_COORDINATE = "missing coordinate"
OUTSIDE_GRID = "outside the grid"


class UnusableTrip(Exception):
    """A line that has no route; its text is the reason, one of the three of this module."""


def load_trips(name: str = TRIPS_FILE) -> list[str]:
    """Return the lines of all trips in time order, without the header."""
    return lines(name)[1:]


def route(line: str, grid: Grid = CHICAGO) -> str:
    """Return the route of a trip, such as `55.38-57.36`: cell of the pick-up, of the drop-off.

    Raises
    ------
    UnusableTrip
        If the line is malformed, lacks a coordinate, or leaves the grid.
    """
    try:
        fields = next(csv.reader([line]), [])
    except csv.Error:
        raise UnusableTrip(MALFORMED) from None
    if len(fields) != COLUMNS:
        raise UnusableTrip(MALFORMED)
    latitude, longitude, to_latitude, to_longitude = map(_degrees, fields[COORDINATES])
    pickup = grid.cell(latitude, longitude)
    dropoff = grid.cell(to_latitude, to_longitude)
    if pickup is None or dropoff is None:
        raise UnusableTrip(OUTSIDE_GRID)
    return f"{pickup}-{dropoff}"


def _degrees(text: str) -> float:
    if not text:
        raise UnusableTrip(MISSING_COORDINATE)
    try:
        degrees = float(text)
    except ValueError:
        raise UnusableTrip(MALFORMED) from None
    if not abs(degrees) <= 180:
        raise UnusableTrip(MALFORMED)
    return degrees
