import pytest
from hypothesis import given
from hypothesis import strategies as st

from frequent_routes.schedule import BATCH, PATIENCE_S, Schedule, event_ms
from frequent_routes.settings import Settings
from frequent_routes.shape import Mode, Shape, shape_from_environment
from frequent_routes.source import launch_time, share

rates = st.floats(0.5, 5000)
sources = st.integers(1, 16)


def drain(schedule: Schedule, elapsed_s: float) -> list[int]:
    ordinals: list[int] = []
    while batch := schedule.due(elapsed_s):
        assert len(batch) <= BATCH
        ordinals += [departure.ordinal for departure in batch]
    return ordinals


@given(rates, sources, st.integers(0, 300), st.lists(st.floats(0.001, 0.9), max_size=20))
def test_all_sources_together_replay_every_trip_once_in_order(
    rate: float, count: int, end: int, pauses: list[float]
) -> None:
    everything: list[int] = []
    for index in range(count):
        schedule = Schedule(rate, index, count, end or None, 0.0)
        elapsed_s, own = 0.0, []
        for pause in pauses:
            elapsed_s += pause
            own += drain(schedule, elapsed_s)
        assert own == sorted(own)
        assert schedule.skipped == 0
        everything += own
    last = min(sum(pauses) * rate, end - 1 if end else float("inf"))
    if pauses:
        assert abs(len(everything) - 1 - last) <= 1
    assert sorted(everything) == list(range(len(everything)))


@given(rates, sources, st.floats(2, 1e6))
def test_a_source_that_joins_late_goes_on_from_now(
    rate: float, count: int, elapsed_s: float
) -> None:
    schedule = Schedule(rate, 0, count, None, elapsed_s)
    for departure in schedule.due(elapsed_s):
        assert elapsed_s - PATIENCE_S - 1e-6 <= departure.elapsed_s <= elapsed_s
    assert schedule.skipped == 0


@given(rates, sources, st.floats(2, 1000))
def test_a_source_that_cannot_keep_up_counts_what_it_skips(
    rate: float, count: int, stall_s: float
) -> None:
    schedule = Schedule(rate, 0, count, None, 0.0)
    emitted = drain(schedule, stall_s)
    # All ordinals of this source up to the next one were either emitted or skipped.
    assert (len(emitted) + schedule.skipped) * count == schedule.next_ordinal


@given(sources, st.integers(1, 100))
def test_as_fast_as_possible_has_something_due_at_any_moment(count: int, calls: int) -> None:
    schedule = Schedule(0.0, 0, count, None, 5.0)
    for call in range(calls):
        batch = schedule.due(5.0 + call)
        assert len(batch) == BATCH
        assert {departure.elapsed_s for departure in batch} == {5.0 + call}
    assert schedule.skipped == 0


def test_a_bounded_replay_ends_as_fast_as_possible_too() -> None:
    assert drain(Schedule(0.0, 1, 3, 100, 0.0), 1.0) == list(range(1, 100, 3))


def test_event_time_of_the_thesis_is_a_minute_in_a_tenth_of_a_second() -> None:
    assert event_ms(0.1, 600) == 60_000


def test_launch_time_is_the_end_of_the_topology_id() -> None:
    assert launch_time("taxi-rides-3-1795252629") == 1795252629


def test_share_counts_only_tasks_of_the_own_component() -> None:
    components = {"2": "source", "10": "source", "9": "source", "3": "preprocess"}
    assert share(9, "source", components) == (1, 3)
    assert share(10, "source", components) == (2, 3)


@pytest.mark.parametrize(
    ("scale", "tasks"),
    [("1", (16, 16, 8, 4, 1)), ("0.25", (4, 4, 2, 1, 1)), ("0.01", (1, 1, 1, 1, 1))],
)
def test_scale(scale: str, tasks: tuple[int, ...]) -> None:
    shape = shape_from_environment({"STORMCUT_TAXI_SCALE": scale, "STORMCUT_TAXI_MODE": "thesis"})
    assert shape == Shape(Mode.THESIS, *tasks)


@pytest.mark.parametrize(
    "environment",
    [
        {"STORMCUT_TAXI_SCALE": "big"},
        {"STORMCUT_TAXI_SCALE": "0"},
        {"STORMCUT_TAXI_SCALE": "nan"},
        {"STORMCUT_TAXI_MODE": "wrong"},
    ],
)
def test_a_shape_that_cannot_be_names_its_variable(environment: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="|".join(environment)):
        shape_from_environment(environment)


def test_settings_are_read_from_a_topology_configuration() -> None:
    conf = {"taxi.rate": 0, "taxi.window.minutes": 5, "topology.workers": 2, "taxi.replays": 1}
    assert Settings.from_conf(conf) == Settings(rate=0.0, window_minutes=5, replays=1)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("taxi.rate", "fast"),
        ("taxi.rate", -1),
        ("taxi.rate", float("nan")),
        ("taxi.rate", True),
        ("taxi.window.minutes", 0),
        ("taxi.window.minutes", 1.5),
        ("taxi.speedup", 0),
        ("taxi.replays", -1),
        ("taxi.rates", 100),
    ],
)
def test_settings_that_cannot_be_used_name_the_key(key: str, value: object) -> None:
    with pytest.raises(ValueError, match=key):
        Settings.from_conf({key: value})
