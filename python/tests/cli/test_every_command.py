"""What holds for every command: bounds of numbers, outputs checked first, help with examples."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from stormcut.cli.main import OTHER_NAMES, cli
from stormcut.cli.numbers import Finite
from stormcut.cli.outputs import OutputFile, OutputFolder

#: Paths that are read. Any other is written, and must be checked before the work.
READ = {
    "dag",
    "shapes",
    "models",
    "beside",
    "benches",
    "events_file",
    "load_trace",
    *(
        "auth_file",
        "config",
        "costs",
        "logs",
        "new_auth_file",
        "paths",
        "placement",
        "problem",
        "profile",
        "profiles",
        "tls",
    ),
    "storm_homes",
}
IMPORTS = ("storm", "flux", "loadgen", "ui")
READ_BY = {*(("import", kind, "--supervisors") for kind in IMPORTS), ("certs", "show", "folder")}


def commands(command=cli, path=()):
    """Yield every command with its path."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*path, name))


COMMANDS = dict(commands())


def parameters(*types):
    """Return path and parameter for every parameter of these types."""
    return [
        pytest.param(
            path,
            parameter,
            id=" ".join((*path, parameter.opts[0])),
        )
        for path, command in COMMANDS.items()
        for parameter in command.params
        if isinstance(parameter.type, types)
    ]


def assert_refused(result, *words):
    """Assert exit code 2, and one line of error that has all the words."""
    code, out, err = result
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert all(word in err for word in words), err


@pytest.mark.parametrize(
    ("path", "option"), parameters(click.types.IntParamType, click.types.FloatParamType)
)
def test_every_number_has_a_least_value(stormcut, path, option):
    kind = option.type
    assert isinstance(kind, click.IntRange | Finite)
    assert kind.min is not None
    below = kind.min if kind.min_open else kind.min - 1
    assert_refused(stormcut(*path, f"{option.opts[0]}={below}"), option.opts[0], "range")


@pytest.mark.parametrize(("path", "option"), parameters(click.types.FloatParamType))
@pytest.mark.parametrize("text", ["nan", "inf", "1e999"])
def test_no_amount_is_infinite_or_none(stormcut, path, option, text):
    assert isinstance(option.type, Finite)
    assert_refused(stormcut(*path, f"{option.opts[0]}={text}"), option.opts[0])


@pytest.mark.parametrize(("path", "parameter"), parameters(click.Path))
def test_what_a_command_writes_is_checked_before_its_work(stormcut, tmp_path, path, parameter):
    name = parameter.opts[0]
    if parameter.name in READ or (*path, name) in READ_BY:
        assert not isinstance(parameter.type, OutputFile | OutputFolder)
        return
    assert isinstance(parameter.type, OutputFile | OutputFolder)
    (tmp_path / "file").touch()
    for wrong in (tmp_path / "file" / "x", Path("/proc/x"), tmp_path / "missing" / "x"):
        if isinstance(parameter.type, OutputFolder) and wrong.is_relative_to(tmp_path / "missing"):
            continue  # it is made with all above it
        arguments = [f"{name}={wrong}"] if name.startswith("-") else [wrong]
        shown = name if name.startswith("-") else name.upper()
        assert_refused(stormcut(*path, *arguments), shown, str(wrong.parent))
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_device_is_not_replaced_by_a_file(stormcut):
    assert_refused(stormcut("place", "--output=/dev/null"), "/dev/null", "no regular file")
    assert Path("/dev/null").is_char_device()


def test_all_commands_fit_one_screen_in_whole_sentences():
    text = cli.get_help(click.Context(cli, info_name="stormcut", terminal_width=80))
    lines = text.splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 80
    for name in cli.list_commands(click.Context(cli)):
        (line,) = (each for each in lines if re.match(f"  {name}  ", each))
        assert re.search(r"[^.]\.$", line), line


@pytest.mark.parametrize(
    ("words", "completed"), [("stormcut app", "approve"), ("stormcut config ch", "check")]
)
def test_bash_completes_commands(words, completed):
    asks = {"_STORMCUT_COMPLETE": "bash_complete", "COMP_WORDS": words}
    asks["COMP_CWORD"] = str(len(words.split()) - 1)
    script = "import sys; sys.argv[0] = 'stormcut'; from stormcut.cli.main import main; main()"
    found = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | asks,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == [f"plain,{completed}"]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_help_has_examples_that_the_command_understands(path):
    command = COMMANDS[path]
    text = command.get_help(click.Context(command, info_name="stormcut"))
    examples = text.partition("Example")[2].partition("\nOptions")[0].replace("\\\n", " ")
    found = re.findall(r"^[: ]*(?:eval \"\$\()?stormcut ([^)\n]*)", examples, re.MULTILINE)
    assert found, text
    assert found[0].startswith(" ".join(path))
    for example in found:
        words = shlex.split(example, comments=True)
        called, depth = max(
            ((COMMANDS[tuple(words[:n])], n) for n in (0, 1, 2) if tuple(words[:n]) in COMMANDS),
            key=lambda each: each[1],
        )
        assert not isinstance(called, click.Group), example
        words = words[depth:]
        called.make_parser(click.Context(called)).parse_args(words[: shell_ends(words)])


def shell_ends(words):
    """Return how many words come before a redirection."""
    return next((i for i, word in enumerate(words) if word.startswith(">")), len(words))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("place",), "place --help"),
        (("nope",), "No such command 'nope'"),
        (("topologie",), "did you mean topologies?"),
        (("cluster", "up", "--slot", "3"), "cluster up --help"),
        (("docker", "limits", "maybe"), "'on', 'off'"),
        (("docker", "limits"), "Choose from: on, off"),
        (("cluster", "restart", "nimbus", "--name", "none"), "cluster up --name none` starts it"),
        (("history", "--zookeeper", "", "--auth-file", "{auth}"), "HOST:PORT"),
        (("history", "--zookeeper", "zk:x", "--auth-file", "{auth}"), "HOST:PORT"),
        (("history", "--zookeeper", "zk", "--auth-file", "/missing"), "create it with"),
        (("history", "--zookeeper", "zk", "--auth-file", "/"), "cannot be read: Is a directory"),
        (("history", "--root", "nope"), "absolute path"),
        (("status", "--brain", "127.0.0.1:1"), "--brain needs --tls"),
        (("status", "--brain", "127.0.0.1"), "is not HOST:PORT"),
        (("profile", "/", "--output", "{output}", "--from", "5", "--to", "5"), "before --to 5"),
        (("place", "/missing", "--output", "{output}", "--option", "x=1"), "no such option"),
        (("place", "/missing", "--output", "{output}", "--algorithm", "x"), "no algorithm 'x'"),
        (
            ("publish", "/missing", "--zookeeper", "zk", "--auth-file", "{auth}"),
            "cannot be read: No such file",
        ),
        (("cluster", "up", "--set", "storm.scheduler=mine"), "--no-plugin"),
    ],
    ids=lambda each: " ".join(each[:4]) if isinstance(each, tuple) else "",
)
def test_a_mistake_is_told_in_one_line(stormcut, auth_file, tmp_path, arguments, words):
    output = tmp_path / "output"
    given = [each.format(auth=auth_file, output=output) for each in arguments]
    code, out, err = stormcut(*given)
    told = [line for line in err.splitlines() if not line.startswith("cluster: ")]
    assert (code, out, len(told)) == (2, "", 1), err
    assert words in told[0]
    assert not output.exists()


def test_hints_name_what_can_be_typed_here(monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    command = [sys.executable, "-m", "stormcut.cli.main", "cluster", "status", "--name", "none"]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    hint = re.search(r"`(.*) cluster up --name none`", told)
    assert hint, told
    version = subprocess.run(
        [*shlex.split(hint[1]), "--version"], capture_output=True, text=True, check=True
    )
    assert "stormcut" in version.stdout


@pytest.mark.parametrize(("name", "own"), OTHER_NAMES.items())
def test_what_people_call_it_elsewhere_is_the_same_command(name, own):
    assert cli.get_command(click.Context(cli), name) is cli.get_command(click.Context(cli), own)
    assert name not in cli.list_commands(click.Context(cli))


#: What takes as long to import as all else that they need.
SLOW_TO_IMPORT = ("matplotlib", "ortools", "pandas", "pyspark", "scipy.stats")


def test_what_operators_type_most_starts_soon():
    names = ("approve", "history", "operate", "pause", "plan", "status", "undo")
    modules = [COMMANDS[(name,)].callback.__module__ for name in names]
    script = f"""
import importlib, sys
for name in {modules}: importlib.import_module(name)
print(*(name for name in {SLOW_TO_IMPORT} if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.split() == [], done.stderr
    assert done.returncode == 0, done.stderr
