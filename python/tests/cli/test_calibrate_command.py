"""`stormcut calibrate` over a bench's folder: tables, a costs file, and what it cannot use."""

import json
from dataclasses import replace

import numpy as np
import pytest
from bench_runs import RUN, measured
from measured_windows import observed, problem

from stormcut.adapters.files.costs_file import read_costs
from stormcut.lab.adapters.bench.journal import FileJournal
from stormcut.model.errors import InvalidInput
from stormcut.model.network import Costs
from stormcut.objective.headroom import headroom
from stormcut.objective.metrics import measure
from stormcut.placement.solve import Solution

COSTS = Costs(31.0, 7.0, 12.0, 3.0, 40.0)


@pytest.fixture
def bench(tmp_path):
    """The folder of a bench whose nodes used what the costs say."""
    journal, rng, at = (
        FileJournal.open(tmp_path / "bench", RUN),
        np.random.default_rng(1),
        problem(),
    )
    for scheduler in RUN.schedulers:
        cell = observed(COSTS, rng.integers(0, 3, 7).tolist(), 1.5)
        metrics, room = measure(at, cell.placement), headroom(at, cell.placement)
        solution = Solution(scheduler, {}, cell.placement, metrics, room, None, ())
        journal.add_solution("linear", scheduler, at, solution)
        for repetition in (1, 2, 3):
            window = replace(
                measured(scheduler, repetition),
                tuples_per_10s=10 * cell.trees_per_s,
                node_cores=tuple((cell.cpu / 100).tolist()),
                node_sent_mbit_s=tuple(cell.sent.tolist()),
                node_received_mbit_s=tuple(cell.received.tolist()),
            )
            journal.add_measurement(window)
    return journal.folder


def test_costs_are_fitted_told_and_written(stormcut, bench, tmp_path):
    costs, page = tmp_path / "costs.json", tmp_path / "page.md"
    code, out, err = stormcut("calibrate", bench, "--output", costs, "--page", page)
    assert (code, err) == (0, "")
    assert "| link_bytes_per_tuple | 26 | 40 |" in out
    assert max(map(len, out.splitlines())) <= 100
    assert page.read_text().startswith("# What transfer costs, fitted")
    assert read_costs(costs).link_bytes_per_tuple == pytest.approx(40)
    assert read_costs(costs).source == str(costs)


def test_json_has_every_prediction(stormcut, bench):
    code, out, _ = stormcut("calibrate", bench, "--json", "--schedulers", "even")
    assert code == 0
    found = json.loads(out)
    assert found["cells"] == 3
    assert [each["scheduler"] for each in found["predictions"]] == ["cut"]


def test_a_topology_is_left_out(stormcut, bench, tmp_path):
    again = bench.rename(tmp_path / "again")
    code, _, err = stormcut("calibrate", again, "--except", "bench/linear")
    assert (code, err.count("\n")) == (2, 1)
    assert "--except bench/linear: no topology of these benches" in err
    code, _, err = stormcut("calibrate", again, "--except", "again/linear")
    assert code == 2
    assert "no steady window" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "older benches kept none"),
        (("--schedulers", "caps"), "no steady window"),
    ],
)
def test_a_bench_without_what_it_needs_is_refused(stormcut, tmp_path, arguments, words):
    folder = FileJournal.open(tmp_path / "old", RUN).folder
    code, out, err = stormcut("calibrate", folder, *arguments)
    assert (code, out) == (2, "")
    assert words in err and str(folder) in err


@pytest.mark.parametrize(
    "content", ["{}", '{"format": "stormcut-costs/1", "costs": {"send_us_per_tuple": -1}}', "["]
)
def test_a_costs_file_is_read_strictly(tmp_path, content):
    path = tmp_path / "costs.json"
    path.write_text(content)
    with pytest.raises(InvalidInput, match=r"costs\.json"):
        read_costs(path)


def test_the_brain_begins_with_a_costs_file(stormcut, bench, tmp_path):
    """It reads the file before anything else; then it misses the file with the secret."""
    costs, secret = tmp_path / "costs.json", tmp_path / "none"
    place = ("--zookeeper", "localhost:1", "--auth-file", secret)
    code, out, err = stormcut("brain", "--costs", costs, *place)
    assert (code, out) == (2, "")
    assert str(costs) in err and str(secret) not in err
    assert stormcut("calibrate", bench, "--output", costs)[0] == 0
    code, out, err = stormcut("brain", "--costs", costs, *place)
    assert (code, out) == (2, "")
    assert str(secret) in err
