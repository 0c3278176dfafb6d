import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frequent_routes.grid import CHICAGO, METRES_PER_DEGREE
from frequent_routes.trips import (
    COLUMNS,
    MALFORMED,
    MISSING_COORDINATE,
    OUTSIDE_GRID,
    UnusableTrip,
    load_trips,
    route,
)

HEIGHT = CHICAGO.cell_metres / METRES_PER_DEGREE
WIDTH = HEIGHT / math.cos(math.radians(CHICAGO.latitude_of_scale))
cell_numbers = st.integers(1, CHICAGO.cells)
# Not at the very edge: rounding decides there, and no trip is that exact.
offsets = st.floats(-0.49, 0.49)


def line(*coordinates: str) -> str:
    fields = [""] * COLUMNS
    fields[6:10] = coordinates
    return ",".join(fields)


@given(cell_numbers, cell_numbers, offsets, offsets)
def test_every_place_lies_in_the_cell_whose_centre_is_nearest(
    east: int, south: int, to_east: float, to_south: float
) -> None:
    latitude = CHICAGO.latitude - (south - 1 + to_south) * HEIGHT
    longitude = CHICAGO.longitude + (east - 1 + to_east) * WIDTH
    assert CHICAGO.cell(latitude, longitude) == f"{east}.{south}"


@pytest.mark.parametrize(("steps_east", "steps_south"), [(-1, 0), (0, -1), (100, 0), (0, 100)])
def test_places_one_step_outside_have_no_cell(steps_east: int, steps_south: int) -> None:
    latitude = CHICAGO.latitude - steps_south * HEIGHT
    longitude = CHICAGO.longitude + steps_east * WIDTH
    assert CHICAGO.cell(latitude, longitude) is None


def test_one_cell_is_500_m_to_a_thousandth() -> None:
    radius = 6_371_008.8 * math.pi / 180
    assert math.isclose(HEIGHT * radius, 500, rel_tol=2e-3)
    assert math.isclose(
        WIDTH * radius * math.cos(math.radians(CHICAGO.latitude_of_scale)), 500, rel_tol=2e-3
    )


def test_the_file_has_every_trip_and_the_grid_covers_the_city() -> None:
    outcomes: Counter[str] = Counter()
    trips = load_trips()
    for trip in trips:
        try:
            route(trip)
            outcomes["route"] += 1
        except UnusableTrip as unusable:
            outcomes[str(unusable)] += 1
    assert len(trips) == 12_001
    assert outcomes == {"route": 11_613, MISSING_COORDINATE: 388}


def test_trips_are_in_time_order() -> None:
    starts = [int(trip.split(",")[5]) for trip in load_trips()]
    assert starts == sorted(starts)


@pytest.mark.parametrize(
    ("trip", "reason"),
    [
        ("", MALFORMED),
        ("41.9,-87.6", MALFORMED),
        (line("41.9", "-87.6", "north", "-87.6"), MALFORMED),
        (line("41.9", "-87.6", "nan", "-87.6"), MALFORMED),
        (line("41.9", "-87.6", "", ""), MISSING_COORDINATE),
        (line("", "", "41.9", "-87.6"), MISSING_COORDINATE),
        (line("40.7", "-74.0", "41.9", "-87.6"), OUTSIDE_GRID),
        (line("41.9", "-87.6", "1e300", "-87.6"), MALFORMED),
    ],
)
def test_a_trip_without_a_route_says_why(trip: str, reason: str) -> None:
    with pytest.raises(UnusableTrip, match=reason):
        route(trip)


@given(st.text() | st.lists(st.text(), min_size=COLUMNS, max_size=COLUMNS).map(",".join))
def test_any_text_has_a_route_or_a_reason(text: str) -> None:
    try:
        assert "-" in route(text)
    except UnusableTrip as unusable:
        assert str(unusable) in {MALFORMED, MISSING_COORDINATE, OUTSIDE_GRID}
