"""What the scripts say of themselves, before they do anything."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def script(tmp_path):
    """Return a function that runs a script of a checkout that has not been set up."""

    def run(name, *arguments):
        environment = {**os.environ, "STORMCUT_HOME": str(tmp_path / "home")}
        return subprocess.run(
            [SCRIPTS / name, *arguments], capture_output=True, text=True, env=environment
        )

    yield run
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["setup", "lock", "demo", "with-docker"])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_is_there_before_set_up(script, name, option):
    done = script(name, option)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Usage: scripts/{name}" in done.stdout
    assert not any(line.startswith("#") for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("setup", ["--halp"]), ("lock", ["now"]), ("with-docker", ["--halp"]), ("with-docker", [])],
)
def test_what_a_script_does_not_know_is_refused(script, name, arguments):
    done = script(name, *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"scripts/{name} --help" in done.stderr


def test_the_demos_help_lists_the_options_once_there_is_a_command(tmp_path):
    (tmp_path / "venv").symlink_to(sys.prefix)
    environment = {**os.environ, "STORMCUT_HOME": str(tmp_path)}
    done = subprocess.run(
        [SCRIPTS / "demo", "--keep", "--help"], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0
    assert "Usage: stormcut demo" in done.stdout


def test_no_script_fails_of_a_pipe_that_is_closed_early():
    """Under pipefail, what writes to a head that has read enough ends the script with 141."""
    root = SCRIPTS.parent
    texts = [path for folder in ("scripts", "docker") for path in (root / folder).iterdir()]
    early = re.compile(r"\|\s*(head\b|grep -\w*q|sed [^|]*\bq\b)")
    pipes = [path.name for path in texts if path.is_file() and early.search(path.read_text())]
    assert pipes == []
