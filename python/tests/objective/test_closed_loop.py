"""Rates against the equations that define them, solved in another way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormcut.objective.closed_loop import Background, ClosedLoop, Stations, settled


def steady(values, rates):
    """Return what does not follow rates, a column for each column of them."""
    return np.broadcast_to(
        values[(..., *[None] * (rates.ndim - 1))], (len(values), *rates.shape[1:])
    )


def no_background(stations):
    nothing = np.zeros(len(stations.in_order))
    return lambda rates: Background(steady(nothing, rates), steady(nothing, rates))


@st.composite
def networks(draw):
    """(stations, windows, background) of a few stations and sources."""
    count, sources = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (count, sources)
    used = random.random(shape) < 0.7
    used[0] = True
    busy = np.where(used, random.exponential(1e-3, shape), 0.0)
    visits = np.where(used, random.uniform(0.5, 3.0, shape), 0.0)
    stations = Stations(busy, visits, random.random(count) < 0.5)
    windows = np.array([draw(st.integers(1, 10_000)) for _ in range(sources)], dtype=float)
    loose = np.where(random.random(shape) < 0.3, random.exponential(3e-4, shape), 0.0)
    # At any rate it leaves a tenth of every station.
    loose *= 0.9 / max(0.9, float((loose / busy.max(axis=0)).sum(axis=1).max()))
    service = random.exponential(1e-3, count)
    return stations, windows, lambda rates: Background(loose @ rates, steady(service, rates))


@given(networks())
def test_the_tuples_on_their_way_fill_every_window(network):
    """By definition: queues of one rate each, from a linear system for each station."""
    stations, windows, background = network
    rates = settled(stations, windows, background)
    found = background(rates)
    on_their_way = np.zeros(len(rates))
    for at, in_order in enumerate(stations.in_order):
        busy, visits = stations.busy[at], stations.visits[at]
        left = 1 - found.share[at]
        own = np.diag(1 / windows)
        if in_order:
            service = np.divide(busy, visits, out=np.zeros_like(busy), where=visits > 0)
            alone = rates * (busy + visits * found.share[at] * found.service[at] / left)
            behind = (rates * visits / left)[:, None] * (service * (1 - own))
        else:
            alone = rates * busy / left
            behind = alone[:, None] * ((busy > 0) * (1 - own))
        queues = np.linalg.solve(np.eye(len(rates)) - behind, alone)
        assert (queues >= 0).all()
        on_their_way += queues
    assert on_their_way == pytest.approx(windows, rel=1e-5)


@given(networks(), st.floats(0.01, 0.8))
def test_slopes_are_those_of_small_differences(network, part):
    stations, windows, background = network
    loop = ClosedLoop(stations, windows, background)
    logs = np.log(part * settled(stations, windows, background))
    nudge = 1e-5
    for source, slopes in enumerate(loop.slopes(loop.at(logs), part).T):
        step = np.zeros(len(logs))
        step[source] = nudge
        before, after = (loop.at(each).excess(part) for each in (logs - step, logs + step))
        assert slopes == pytest.approx((after - before) / (2 * nudge), rel=1e-4, abs=1e-4)


@given(st.floats(1e-5, 1.0), st.integers(1, 1000), st.floats(0.0, 0.9))
def test_one_station_is_left_what_the_background_leaves(busy, window, taken):
    stations = Stations(np.array([[busy]]), np.array([[1.0]]), np.array([False]))
    share, service = np.array([taken]), np.array([busy])
    (rate,) = settled(
        stations,
        np.array([float(window)]),
        lambda rates: Background(steady(share, rates), steady(service, rates)),
    )
    assert rate == pytest.approx((1 - taken) / busy, rel=1e-6)


def test_in_order_small_tuples_wait_for_large_ones():
    """Two sources share a link; one's tuples are a hundred times as large."""
    busy, windows = np.array([[1e-3, 1e-5]]), np.array([50.0, 50.0])
    link = Stations(busy, np.ones((1, 2)), np.array([True]))
    in_turns = Stations(busy, np.ones((1, 2)), np.array([False]))
    large, small = settled(link, windows, no_background(link))
    assert small == pytest.approx(large, rel=0.05)
    large, small = settled(in_turns, windows, no_background(in_turns))
    assert small == pytest.approx(100 * large, rel=0.05)
