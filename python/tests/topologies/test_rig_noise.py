"""A clock that runs unevenly: noise that is the same in every run, and no tuple more or less."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.noise import UnevenClock
from rig.pace import Pace
from rig.schedule import Schedule

moments = st.floats(0, 10_000)
shares = st.floats(0.01, 1)


@given(shares, moments, moments)
def test_it_never_runs_back(noise: float, one: float, other: float) -> None:
    clock = UnevenClock(noise)
    first, second = sorted((one, other))
    assert clock.read(first) <= clock.read(second) + 1e-9


@given(shares, st.integers(0, 1000))
def test_every_minute_has_its_seconds(noise: float, minute: int) -> None:
    assert UnevenClock(noise).read(60.0 * minute) == pytest.approx(60 * minute)


@given(moments, moments)
def test_it_shows_the_same_whenever_it_is_looked_at(before: float, at: float) -> None:
    used = UnevenClock(0.3)
    used.read(before)
    assert used.read(at) == UnevenClock(0.3).read(at)


def test_seconds_differ_and_some_stand_still() -> None:
    clock = UnevenClock(0.3)
    lengths = [clock.read(second + 1) - clock.read(second) for second in range(3600)]
    assert sum(abs(length - 1) for length in lengths) / 3600 > 0.1
    assert 20 < sum(length < 1e-9 for length in lengths) < 120
    tens = [sum(lengths[first : first + 10]) for first in range(0, 3600, 10)]
    # What a look every 10 s sees still differs.
    assert sum(abs(ten - 10) for ten in tens) / len(tens) > 0.3


def test_a_source_that_follows_it_sends_every_tuple_of_a_minute() -> None:
    clock = UnevenClock(0.3)
    schedule = Schedule(Pace([20]), 0, 1, None, 0.0)
    sent = []
    for tenth in range(1, 600):
        due = schedule.due(clock.read(tenth / 10))
        sent += [each.ordinal for each in due]
    assert sent == list(range(len(sent)))
    assert 1180 < len(sent) <= 1200


def test_it_shows_what_the_one_in_java_shows() -> None:
    clock = UnevenClock(0.3)
    shown = [clock.read(10.5), clock.read(1234.25), clock.read(3333)]
    assert shown == pytest.approx([11.330592843, 1234.854449545, 3331.970268118])
