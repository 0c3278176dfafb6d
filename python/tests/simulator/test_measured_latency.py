"""Tuple times on nodes with CPU to spare are those that a bench measured."""

import statistics
from pathlib import Path

import pytest

from stormcut.adapters.bench.journal import FileJournal
from stormcut.simulator.events import simulate

BENCH = Path(__file__).parents[3] / "docs" / "results" / "bench-large-half"


@pytest.mark.parametrize("topology", ["bigbench_linear", "pls_random"])
def test_means_and_medians_are_within_a_quarter(topology):
    journal = FileJournal(BENCH)
    problem, placement = journal.solution(topology, "even")
    (found,) = simulate(problem, placement, containers=True, seconds=10.0).latency.values()
    windows = [
        each
        for each in journal.measurements()
        if (each.cell.topology, each.cell.scheduler) == (topology, "even")
    ]
    for told, name in ((found.mean, "mean_ms"), (found.p50, "p50_ms")):
        measured = statistics.median(getattr(each, name) for each in windows)
        assert told == pytest.approx(measured, rel=0.25)
