"""Results are made by commands, and name no path of the machine that made them."""

import re
from pathlib import Path

import pytest

from stormcut.adapters.machine.needs import command_line

RESULTS = Path(__file__).parents[2] / "docs" / "results"
OF_A_MACHINE = re.compile(r"/(?:tmp|home|root|work|Users)/")


def test_no_result_names_a_path_of_the_machine_that_made_it():
    texts = [path for path in RESULTS.rglob("*") if path.suffix in (".md", ".json", ".jsonl")]
    assert texts
    naming = [path.name for path in texts if OF_A_MACHINE.search(path.read_text("utf-8"))]
    assert naming == []


@pytest.mark.parametrize("output", [["--output", "/tmp/a"], ["--output=/tmp/a"], []])
def test_a_command_is_told_without_where_its_results_went(output):
    told = command_line("stormcut", ["bench", *output, "--setting", "cpu"])
    assert told == "stormcut bench --setting cpu"
