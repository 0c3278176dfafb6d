"""A forecast follows what lasts, and knows what passes once it has seen it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormcut.profile.forecast import LEVELS, MAX_VALUES, TRENDS, Forecast, _smoothed

#: Seconds from one value to the next.
EVERY_S = 10.0


def after(values):
    forecast = Forecast()
    for number, value in enumerate(values):
        forecast.add(EVERY_S * number, value)
    return forecast.expected()


def mean_after(values):
    found = after(values)
    return None if found is None else found.mean


def test_nothing_is_better_than_the_last_value_at_first_and_where_changes_last():
    assert after([]) is None
    assert after([100.0] * 20) is None
    assert after([100.0] * 300 + [300.0]) is None
    steps = [100.0 * (1 + number // 90 % 2) for number in range(360)]
    assert after(steps) is None


def test_noise_alone_makes_no_smoothing_the_better_one():
    values = 100 * np.random.default_rng(0).uniform(0.95, 1.05, 350)
    assert after([*values, 300.0]) is None


@pytest.mark.parametrize("length", [3, 6])
def test_peaks_that_have_passed_are_expected_to_pass(length):
    values = [300.0 if number % 30 < length else 100.0 for number in range(361)]
    assert values[-1] == 300.0
    mean = (300 * length + 100 * (30 - length)) / 30
    assert mean_after(values) == pytest.approx(mean, rel=0.25)


@given(st.lists(st.floats(0, 1e9), max_size=60), st.integers(0, 4))
def test_any_rates_give_a_number_or_none(values, repeated):
    found = mean_after(values * (1 + repeated))
    assert found is None or (np.isfinite(found) and found >= 0)


@pytest.mark.slow
@pytest.mark.parametrize("weights", [*((level, 0.0, 0.0) for level in LEVELS), *TRENDS])
def test_smoothing_is_that_of_statsmodels(weights):
    from statsmodels.tsa.api import Holt

    level, slope, lasting = weights
    values = np.random.default_rng(0).uniform(10, 100, 200)
    begin = {"initialization_method": "known", "initial_level": values[0], "initial_trend": 0.0}
    theirs = Holt(values, damped_trend=True, **begin).fit(
        level, slope, damping_trend=lasting or 1e-12, optimized=False
    )
    levels, slopes = _smoothed(values, *weights)
    np.testing.assert_allclose(levels, theirs.level, rtol=1e-9)
    np.testing.assert_allclose(slopes, theirs.trend, rtol=1e-9, atol=1e-9)


def test_memory_is_bounded():
    forecast = Forecast()
    for number in range(5000):
        forecast.add(number, 100.0 + number % 7)
    assert len(forecast._values) == MAX_VALUES
