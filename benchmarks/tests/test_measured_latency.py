"""Tuple times on nodes with CPU to spare are those that a bench measured."""

import statistics

import pytest

from stormcut.lab.adapters.bench.kept_benches import journal
from stormcut.simulator.events import simulate


@pytest.mark.parametrize("topology", ["bigbench_linear", "pls_random"])
def test_means_and_medians_are_within_a_quarter(topology):
    measured = journal("bench-large-half")
    problem, placement = measured.solution(topology, "even")
    (found,) = simulate(problem, placement, containers=True, seconds=10.0).latency.values()
    windows = [
        each
        for each in measured.measurements()
        if (each.cell.topology, each.cell.scheduler) == (topology, "even")
    ]
    for told, name in ((found.mean, "mean_ms"), (found.p50, "p50_ms")):
        median = statistics.median(getattr(each, name) for each in windows)
        assert told == pytest.approx(median, rel=0.25)
