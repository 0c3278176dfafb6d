"""What the command line loads before it does anything: counted in modules, which no load bends."""

import json
import subprocess
import sys

import pytest

from stormcut.cli.groups import summary
from stormcut.cli.main import COMMANDS, cli

#: Takes arguments; prints what was loaded once the command has ended.
PROGRAM = """
import json, sys
sys.argv[0] = "stormcut"
from stormcut.cli.main import main
try:
    main()
except SystemExit:
    pass
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
"""
#: Everything that takes long to load.
SLOW = {"kazoo", "networkx", "numpy", "ortools", "pandas", "pydantic", "pyspark", "rich", "scipy"}


def loaded(*arguments, **environment):
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_help_loads_no_command():
    assert not loaded("--help") & SLOW
    assert not loaded("--version") & (SLOW - {"kazoo"})


#: Commands whose options need arrays, for the algorithms or the history that they name.
WITH_ARRAYS = {
    *("algorithms", "bench", "calibrate", "check", "compare", "explain"),
    *("place", "score", "simulate"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_of_a_command_loads_little(name):
    heavy = SLOW - {"kazoo", "rich"} - ({"numpy"} if name in WITH_ARRAYS else set())
    assert not loaded(name, "--help") & heavy


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["brain", "capacity", "config", "import", "model", "operate", "profile", "reproduce"]
)
def test_help_of_a_command_loads_not_what_it_works_with(name):
    assert not loaded(name, "--help") & {"kazoo", "numpy"}


def test_completion_of_commands_loads_none():
    asked = {"_STORMCUT_COMPLETE": "bash_complete", "COMP_WORDS": "stormcut pl", "COMP_CWORD": "1"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=asked)
    assert {line.partition(",")[2] for line in done.stdout.split()} == {"place", "plan", "plugin"}
    assert not set(json.loads(done.stderr.splitlines()[-1])) & SLOW


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_list_of_commands_says_what_their_help_does(name, capsys):
    command = cli.get_command(None, name)
    cli.main(["--help"], standalone_mode=False)
    listed = " ".join(capsys.readouterr().out.split())
    assert f" {name} {summary(command)}" in listed
