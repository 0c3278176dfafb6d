"""Screens of commands at all widths of a terminal, and their figures as CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from stormcut.cli.main import cli

EXAMPLE = Path(__file__).parents[3] / "examples" / "star.json"
WIDTHS = (60, 80, 100, 137, 200)


@pytest.fixture(scope="module")
def placement(tmp_path_factory):
    path = tmp_path_factory.mktemp("placed") / "placement.json"
    options = ["--algorithm", "even", "--output", str(path)]
    assert CliRunner().invoke(cli, ["place", str(EXAMPLE), *options]).exit_code == 0
    return path


def tables(text):
    """The lines of the tables on a screen: those from a rule on, up to one that is prose."""
    return [line for line in text.splitlines() if "  " in line or "─" in line]


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", EXAMPLE, "--algorithms", "even,r-storm"),
        ("score", EXAMPLE, "PLACEMENT"),
        ("score", EXAMPLE, "PLACEMENT", "--streams"),
        ("explain", EXAMPLE, "PLACEMENT"),
        ("explain", EXAMPLE, "PLACEMENT", "hub[1]"),
        ("simulate", EXAMPLE, "PLACEMENT", "--engine", "fluid"),
        ("simulate", EXAMPLE, "PLACEMENT", "--every", "1", "--seconds", "3"),
        ("algorithms",),
        ("algorithms", "stromax"),
        ("topologies", "list"),
        ("topologies", "list", "linear"),
    ],
    ids=lambda given: "-".join(str(each).rsplit("/", 1)[-1] for each in given[:4]),
)
def test_no_table_is_wider_than_the_terminal_nor_loses_a_digit(
    stormcut, monkeypatch, placement, arguments, width
):
    monkeypatch.setenv("COLUMNS", str(width))
    given = [placement if each == "PLACEMENT" else each for each in arguments]
    code, out, _ = stormcut(*given)
    assert code == 0
    assert max(cell_len(line.rstrip()) for line in tables(out)) <= width
    assert not re.search(r"\d…(\s|$)", out), "a figure is cut"


@pytest.mark.slow
def test_wide_shows_what_a_narrow_terminal_leaves_out(stormcut, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    _, out, _ = stormcut("compare", EXAMPLE, "--algorithms", "even,r-storm")
    assert "--wide also shows: between workers t/s" in out
    _, out, _ = stormcut("compare", EXAMPLE, "--algorithms", "even,r-storm", "--wide")
    assert "--wide" not in out
    assert "gap" in out


@pytest.mark.slow
def test_csv_has_what_json_has(stormcut):
    command = ("compare", EXAMPLE, "--algorithms", "even,r-storm")
    rows = list(csv.DictReader(io.StringIO(stormcut(*command, "--csv")[1])))
    documents = json.loads(stormcut(*command, "--json")[1])
    assert [row["algorithm"] for row in rows] == [each["algorithm"] for each in documents]
    for row, document in zip(rows, documents, strict=True):
        assert float(row["headroom.value"]) == document["headroom"]["value"]
        assert int(row["metrics.nodes_used"]) == document["metrics"]["nodes_used"]


@pytest.mark.parametrize("options", [("--engine", "fluid"), ("--every", "1", "--seconds", "3")])
def test_a_simulation_as_csv(stormcut, placement, options):
    code, out, _ = stormcut("simulate", EXAMPLE, placement, *options, "--csv")
    assert code == 0
    assert len(list(csv.DictReader(io.StringIO(out)))) >= 3


@pytest.mark.slow
def test_a_picture_as_pdf_is_the_same_each_time(stormcut, tmp_path):
    pictures = []
    for name in ("a.pdf", "b.pdf"):
        options = ("--algorithms", "even", "--picture", tmp_path / name)
        assert stormcut("compare", EXAMPLE, *options)[0] == 0
        pictures.append((tmp_path / name).read_bytes())
    assert pictures[0].startswith(b"%PDF")
    assert pictures[0] == pictures[1]


@pytest.mark.slow
def test_rows_that_kept_what_runs_are_named_and_from_scratch_places_anew(stormcut, tmp_path):
    placed, problem = tmp_path / "placed.json", tmp_path / "running.json"
    assert stormcut("place", EXAMPLE, "--output", placed)[0] == 0
    current = json.loads(placed.read_text())["assignments"]
    problem.write_text(json.dumps({**json.loads(EXAMPLE.read_text()), "current": current}))
    command = ("compare", problem, "--algorithms", "cut,pipeline-linear")
    assert "kept what runs: cut (--from-scratch places again)" in stormcut(*command)[1]
    documents = json.loads(stormcut(*command, "--json")[1])
    assert [each["kept"] for each in documents] == [True, False]
    assert documents[1]["metrics"]["workers_restarted"] > 0
    for each in json.loads(stormcut(*command, "--from-scratch", "--json")[1]):
        assert not each["kept"]
        assert each["metrics"]["workers_restarted"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--option", "objective=headroom")])
def test_explain_names_the_objective_that_was_used(stormcut, tmp_path, options):
    path = tmp_path / "placement.json"
    assert stormcut("place", EXAMPLE, *options, "--output", path)[0] == 0
    chosen = "headroom" if options else "auto"
    for executor in ((), ("hub[1]",)):
        out = stormcut("explain", EXAMPLE, path, *executor)[1]
        assert f"Placed by cut, objective={chosen}: " in out
        assert json.loads(stormcut("explain", EXAMPLE, path, *executor, "--json")[1])[0][
            "objective"
        ] == (chosen)
