"""Results are made by commands, and name no path of the machine that made them."""

import re
from pathlib import Path

import pytest

from stormcut.adapters.machine.needs import command_line
from stormcut.lab.papers.library import PAPER_NAMES, find_paper

CHECKOUT = Path(__file__).parents[2]
RESULTS = CHECKOUT / "docs" / "results"
OF_A_MACHINE = re.compile(r"/(?:tmp|home|root|work|Users)/")


def test_no_result_names_a_path_of_the_machine_that_made_it():
    texts = [*RESULTS.rglob("*.md"), *(CHECKOUT / "benchmarks" / "data").glob("*.json*")]
    assert {path.suffix for path in texts} == {".md", ".json", ".jsonl"}
    naming = [path.name for path in texts if OF_A_MACHINE.search(path.read_text("utf-8"))]
    assert naming == []


@pytest.mark.parametrize("name", PAPER_NAMES)
def test_a_paper_s_page_has_all_its_figures(name):
    """A run of one figure had taken the place of a whole page."""
    page = (RESULTS / "papers" / f"{name}.md").read_text("utf-8")
    for figure in find_paper(name).figures:
        heading = f"## {figure.number}: {figure.title}\n"
        assert (heading if figure.cases else f"| {figure.number} | {figure.title} |") in page


@pytest.mark.parametrize("output", [["--output", "/tmp/a"], ["--output=/tmp/a"], []])
def test_a_command_is_told_without_where_its_results_went(output):
    told = command_line("stormcut", ["bench", *output, "--setting", "cpu"])
    assert told == "stormcut bench --setting cpu"
