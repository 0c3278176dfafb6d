from hypothesis import given
from hypothesis import strategies as st

from frequent_routes.source import event_ms
from rig.pace import Pace
from rig.schedule import BATCH, PATIENCE_S, Schedule

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
        schedule = Schedule(Pace([rate]), index, count, end or None, 0.0)
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
    schedule = Schedule(Pace([rate]), 0, count, None, elapsed_s)
    for departure in schedule.due(elapsed_s):
        assert elapsed_s - PATIENCE_S - 1e-6 <= departure.elapsed_s <= elapsed_s
    assert schedule.skipped == 0


@given(rates, sources, st.floats(2, 1000))
def test_a_source_that_cannot_keep_up_counts_what_it_skips(
    rate: float, count: int, stall_s: float
) -> None:
    schedule = Schedule(Pace([rate]), 0, count, None, 0.0)
    emitted = drain(schedule, stall_s)
    # All ordinals of this source up to the next one were either emitted or skipped.
    assert (len(emitted) + schedule.skipped) * count == schedule.next_ordinal


@given(sources, st.integers(1, 100))
def test_as_fast_as_possible_has_something_due_at_any_moment(count: int, calls: int) -> None:
    schedule = Schedule(Pace([0.0]), 0, count, None, 5.0)
    for call in range(calls):
        batch = schedule.due(5.0 + call)
        assert len(batch) == BATCH
        assert {departure.elapsed_s for departure in batch} == {5.0 + call}
    assert schedule.skipped == 0


def test_a_bounded_replay_ends_as_fast_as_possible_too() -> None:
    assert drain(Schedule(Pace([0.0]), 1, 3, 100, 0.0), 1.0) == list(range(1, 100, 3))


def test_event_time_of_the_thesis_is_a_minute_in_a_tenth_of_a_second() -> None:
    assert event_ms(0.1, 600) == 60_000
