"""What the demo refuses before it starts anything; the rest is in integration-tests."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from stormcut.cli.main import cli
from stormcut.lab.cli import demo


@pytest.mark.parametrize("wrong", ["--until=never", "--report=/", "--no-limits=2"])
def test_what_makes_no_sense_is_refused(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "own_cluster", pytest.fail)
    done = CliRunner().invoke(cli, ["demo", wrong])
    assert done.exit_code == 2
    assert wrong.partition("=")[0] in done.output


def test_a_mistake_is_told_in_one_line() -> None:
    command = [sys.executable, "-m", "stormcut.cli.main", "demo", "--until", "never"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("stormcut: Invalid value for '--until': 'never' is not one of")
    assert line.endswith("demo --help)")


def test_the_staircase_climbs_and_the_shift_comes_after_it() -> None:
    for load in (demo.LIMITED, demo.UNLIMITED):
        assert list(load.rates) == sorted(load.rates)
        assert load.shift_s > load.full_s
