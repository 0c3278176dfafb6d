"""Medians, spreads and paired ratios of whole and partial benches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormcut.lab.experiment.bench.cells import BenchRun, Cell, Measurement, Placed
from stormcut.lab.experiment.bench.summary import (
    Spread,
    mean_ms,
    ratio,
    summarise,
)

RUN = BenchRun("network-bound", "", ("even", "ols", "cut"), ("linear", "star"), 5, {}, {}, {})


def measured(
    scheduler: str, repetition: int, rate: float, tpt: float | None = None, unsteady: str = ""
) -> Measurement:
    cell = Cell("linear", repetition, scheduler)
    return Measurement(
        cell, 0.0, 10.0, rate, tpt, tpt, tpt, tpt, 20.0, (0.25, 0.5), 0.1, 3, unsteady
    )


def test_unsteady_windows_are_counted_and_enter_no_figure() -> None:
    cells = [
        measured("even", 1, 100, 8),
        measured("even", 2, 300, 4),
        measured("even", 3, 9, 99, unsteady="still rising after 20 s"),
        measured("even", 5, 110, None),
    ]
    placed = Placed("linear", "even", "", ("node-1",), 30.0, 40.0, 0.3)
    refused = Placed("linear", "cut", "no feasible placement", (), 0.0, 0.0)
    found = summarise(RUN, cells, [placed, refused])
    assert [(each.topology, each.scheduler) for each in found] == [
        (topology, scheduler) for topology in RUN.topologies for scheduler in RUN.schedulers
    ]
    even, ols, cut = found[:3]
    assert (even.used, even.unsteady) == (3, 1)
    assert even.tuples_per_10s == Spread(110, 100, 300)
    assert even.mean_ms == Spread(6, 4, 8)
    assert even.cores == Spread(0.75, 0.75, 0.75)
    assert even.fullest == Spread(0.5, 0.5, 0.5)
    assert (even.other_cores, even.replayed, even.kept) == (0.1, 9, 0.3)
    assert even.predicted_remote == pytest.approx(0.75)
    assert (ols.used, ols.unsteady, ols.tuples_per_10s, ols.other_cores) == (0, 0, None, None)
    assert (cut.refusal, cut.predicted_remote) == ("no feasible placement", None)


def test_ratios_pair_windows_of_the_same_repetition() -> None:
    cells = [
        *(measured("even", repetition, 100 * repetition) for repetition in range(1, 6)),
        *(measured("cut", repetition, 200 * repetition) for repetition in (1, 2, 4)),
        measured("cut", 3, 7, unsteady="stalled"),
        measured("cut", 6, 7),
    ]
    found = ratio(cells, "linear", "cut", "even")
    assert found is not None
    assert (found.pairs, found.spread) == (3, Spread(2, 2, 2))
    assert not found.beyond_noise, "three pairs are too few to tell"
    assert ratio(cells, "linear", "cut", "ols") is None
    assert ratio(cells, "star", "cut", "even") is None


def test_any_figure_of_a_window_has_a_ratio() -> None:
    cells = [measured("even", 1, 0, 100), measured("cut", 1, 100, 63)]
    found = ratio(cells, "linear", "cut", "even", figure=mean_ms)
    assert found is not None
    assert found.spread.median == pytest.approx(0.63)
    assert ratio(cells, "linear", "cut", "even") is None, "nothing over zero"


@given(st.lists(st.tuples(st.floats(1, 1e6), st.floats(1, 1e6)), min_size=1, max_size=9))
def test_beyond_noise_is_all_of_at_least_five_pairs_on_one_side(
    pairs: list[tuple[float, float]],
) -> None:
    cells = [
        measured(scheduler, repetition, rate)
        for repetition, rates in enumerate(pairs, start=1)
        for scheduler, rate in zip(("cut", "even"), rates, strict=True)
    ]
    found = ratio(cells, "linear", "cut", "even")
    assert found is not None
    one_side = all(a > b for a, b in pairs) or all(a < b for a, b in pairs)
    assert found.beyond_noise == (one_side and len(pairs) >= 5)
    assert found.spread.lowest <= found.spread.median <= found.spread.highest
