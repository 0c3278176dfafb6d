"""The grid of 500 m cells that turns coordinates into cell names."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Metres of one degree on the equator of WGS 84, as in the cells of the challenge.
METRES_PER_DEGREE = 111_319.49


@dataclass(frozen=True)
class Grid:
    """Square cells, numbered east.south from 1.1 in the north-west.

    Attributes
    ----------
    latitude, longitude : float
        Centre of cell 1.1, degrees.
    cell_metres : float
        Side of a cell at `latitude_of_scale`, where a degree of longitude is measured.
    cells : int
        Cells along each side.

    References
    ----------
    DEBS 2015 Grand Challenge, query 1: 300 x 300 cells of 500 m over New York.
    """

    latitude: float
    longitude: float
    latitude_of_scale: float
    cells: int
    cell_metres: float = 500.0

    def cell(self, latitude: float, longitude: float) -> str | None:
        """Return the name of the cell around a place, None outside the grid."""
        height = self.cell_metres / METRES_PER_DEGREE
        width = height / math.cos(math.radians(self.latitude_of_scale))
        east = math.floor((longitude - self.longitude) / width + 0.5) + 1
        south = math.floor((self.latitude - latitude) / height + 0.5) + 1
        if 1 <= east <= self.cells and 1 <= south <= self.cells:
            return f"{east}.{south}"
        return None


#: 50 km x 50 km: the city (41.644..42.023 N, 87.524..87.940 W) with a margin on each side.
CHICAGO = Grid(latitude=42.05, longitude=-87.97, latitude_of_scale=41.83, cells=100)
