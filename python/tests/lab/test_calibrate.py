"""Costs that made the measurements are found again; predictions stand beside what was measured."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from measured_windows import NODES, observed, problem

from stormcut.lab.experiment.bench.cells import BenchRun, Cell, Measurement
from stormcut.lab.experiment.calibrate import (
    BATCHES,
    NAMES,
    calibrate,
)
from stormcut.lab.experiment.prediction import (
    Prediction,
    Quality,
    median_error,
    predictions,
    quality,
)
from stormcut.model.errors import InvalidInput
from stormcut.model.network import SHIPPED, Costs, Link
from stormcut.model.placement import Placement


@pytest.mark.slow
@given(
    st.tuples(*[st.floats(1, 80)] * 5, st.sampled_from(BATCHES), st.floats(0, 20)),
    st.lists(
        st.tuples(st.lists(st.integers(0, NODES - 1), min_size=7, max_size=7), st.floats(0.3, 3.0)),
        min_size=12,
        max_size=20,
        unique_by=lambda each: tuple(each[0]),
    ),
)
def test_costs_that_made_the_measurements_explain_them(constants, windows):
    costs = Costs(*constants)
    cells = [observed(costs, slots, growth) for slots, growth in windows]
    if all(len(set(slots)) == 1 for slots, _ in windows):
        return
    found = calibrate(cells, "made up")
    assert found.cpu_r2 == pytest.approx(1, abs=1e-6)
    assert found.link_r2 == pytest.approx(1, abs=1e-6)
    assert found.costs.link_bytes_per_tuple == pytest.approx(costs.link_bytes_per_tuple, rel=1e-3)
    assert found.cells == len(cells)


def test_with_enough_placements_every_constant_is_found_within_its_interval():
    costs, rng = Costs(31.0, 7.0, 12.0, 3.0, 40.0, 40.0, 7.5), np.random.default_rng(3)
    cells = [
        observed(costs, rng.integers(0, NODES, 7).tolist(), rng.uniform(0.5, 2)) for _ in range(60)
    ]
    found = calibrate(cells, "made up")
    assert found.intervals.keys() == set(NAMES)
    for name in NAMES:
        wanted = getattr(costs, name)
        interval = found.intervals[name]
        assert interval.value == pytest.approx(wanted, rel=1e-3)
        assert interval.low - 1e-3 <= interval.value <= interval.high + 1e-3
    assert found.costs.source == "made up"


def test_noise_widens_the_intervals():
    costs, rng = SHIPPED, np.random.default_rng(3)
    cells = [observed(costs, rng.integers(0, NODES, 7).tolist(), 1.0) for _ in range(40)]
    noisy = [replace(each, cpu=each.cpu + rng.normal(0, 1, NODES)) for each in cells]
    clean, wide = (
        calibrate(some, "made up").intervals["send_us_per_tuple"] for some in (cells, noisy)
    )
    assert wide.high - wide.low > 10 * (clean.high - clean.low)


def test_what_nothing_can_be_fitted_to_is_refused():
    cell = observed(SHIPPED, [0] * 7, 1.0)
    with pytest.raises(InvalidInput, match="at least 2"):
        calibrate([cell], "made up")
    with pytest.raises(InvalidInput, match="nothing crosses nodes"):
        calibrate([cell, cell], "made up")
    at = problem()
    (topology,) = at.topologies
    silent = replace(at, topologies=(replace(topology, measured=topology.measured[:8]),))
    with pytest.raises(InvalidInput, match="nothing to ackers"):
        calibrate([replace(cell, problem=silent)] * 2, "made up")


def test_predictions_stand_beside_the_median_measured_ratio():
    at = problem(Link(2.0, 2.0))
    apart, packed = Placement(np.array([0, 1, 2, 0, 1, 2, 0])), Placement(np.zeros(7, dtype=int))
    placed = {"even": apart, "cut": packed}
    run = BenchRun("s", "", ("even", "cut", "absent"), ("t",), 2, {}, {}, {})
    cells = [
        Measurement(
            Cell("t", repetition, scheduler), 0, 10, rate, *[None] * 4, 1.0, (0.1,) * 3, 0.0, 0
        )
        for scheduler, rates in (("even", (100.0, 100.0)), ("cut", (300.0, 500.0)))
        for repetition, rate in enumerate(rates, start=1)
    ]
    solutions = {("t", name): (at, where) for name, where in placed.items()}
    (found,) = predictions(run, cells, lambda *key: solutions.get(key), lambda _: SHIPPED, "even")
    assert (found.scheduler, found.measured) == ("cut", 4.0)
    assert (found.lowest, found.highest) == (3.0, 5.0)
    assert found.predicted > 1
    assert found.error == pytest.approx(found.predicted / 4.0 - 1)
    assert median_error([found]) == abs(found.error)
    assert median_error([]) is None


@pytest.mark.slow
def test_the_costs_without_a_topology_are_those_of_the_others():
    rng, true = np.random.default_rng(3), {"a": SHIPPED, "b": replace(SHIPPED, worker_percent=20.0)}
    cells = [
        replace(observed(costs, rng.integers(0, NODES, 7).tolist(), 1.0), of=of)
        for of, costs in true.items()
        for _ in range(30)
    ]
    found = calibrate(cells, "made up").without
    assert found["a"].worker_percent == pytest.approx(20.0, rel=1e-3)
    assert found["b"].worker_percent == pytest.approx(SHIPPED.worker_percent, rel=1e-3)
    assert calibrate(cells[:30], "made up").without == {}


def prediction(topology, predicted, measured):
    return Prediction(topology, "cut", predicted, measured, measured, measured)


def test_quality_is_by_logarithms_and_ranks_within_topologies():
    right = [prediction("a", each, each) for each in (0.5, 2.0, 3.0)]
    assert quality(right) == Quality(0.0, 1.0, 0.0)
    twice = [prediction("b", 2 * each, each) for each in (0.6, 0.7, 1.5)]
    assert quality(twice).rms == pytest.approx(np.log(2))
    assert quality(twice).bias == pytest.approx(np.log(2))
    # The baseline's 1 is predicted below all, and was above two of them.
    assert quality(twice).rank == pytest.approx(0.4)
    assert quality([*right, *twice]).rank == pytest.approx(0.7)
    assert quality([prediction("a", 1.0, 2.0)]).rank is None
    assert quality([]) is None
