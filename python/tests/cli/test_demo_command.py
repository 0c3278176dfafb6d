"""What the demo refuses before it starts anything; the rest is in integration-tests."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from stormcut.application.place import DEFAULT_ALGORITHM
from stormcut.cli import demo
from stormcut.cli.main import cli
from stormcut.placement.registry import ALGORITHMS

WRONG = [
    "--scale=-1",
    "--scale=0",
    "--scale=nan",
    "--scale=1e9",
    "--rate=-1",
    "--rate=inf",
    "--seconds=0",
    "--seconds=1.5",
    "--supervisors=1",
    "--slots=0",
    "--max-executors=0",
    "--max-executors=-8",
]


@pytest.mark.parametrize("wrong", WRONG)
def test_numbers_that_make_no_sense_are_refused(
    wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "own_cluster", pytest.fail)
    done = CliRunner().invoke(cli, ["demo", wrong])
    assert done.exit_code == 2
    assert f"'{wrong.partition('=')[0]}'" in done.output


def test_a_mistake_is_told_in_one_line() -> None:
    command = [sys.executable, "-m", "stormcut.cli.main", "demo", "--scale", "-1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("stormcut: Invalid value for '--scale': -1.0 is not in the range")
    assert line.endswith("demo --help)")


def test_help_names_the_algorithm_that_is_used() -> None:
    text = " ".join(CliRunner().invoke(cli, ["demo", "--help"]).output.split()).lower()
    assert f"by its measured traffic with {DEFAULT_ALGORITHM}, measures again" in text
    others = {name for name in ALGORITHMS if name not in (DEFAULT_ALGORITHM, "default")}
    assert not [name for name in others if f" {name} " in f" {text} "]
