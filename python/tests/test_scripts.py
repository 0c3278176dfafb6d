"""What the scripts say of themselves, before they do anything."""

import json
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


@pytest.mark.parametrize(
    "name", ["setup", "lock", "demo", "with-docker", "audit", "build-wheel", "try-wheel", "release"]
)
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_is_there_before_set_up(script, name, option):
    done = script(name, option)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Usage: scripts/{name}" in done.stdout
    assert not any(line.startswith("#") for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("setup", ["--halp"]),
        ("lock", ["now"]),
        ("with-docker", ["--halp"]),
        ("with-docker", []),
        ("audit", ["--halp"]),
        ("build-wheel", []),
        ("try-wheel", ["a.whl"]),
        ("release", ["now"]),
    ],
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


def told(*holes):
    """Return what pip-audit says of one package, and of one without holes."""
    packages = [{"name": "a", "version": "1", "vulns": list(holes)}]
    return {"dependencies": [*packages, {"name": "b", "version": "2", "vulns": []}]}


FIXED = {"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["1.1"]}


@pytest.mark.parametrize(
    ("says", "code", "line"),
    [
        (told(), 0, "audit: 2 packages, 0 vulnerabilities, 0 to be mended"),
        (told(FIXED), 1, "a 1: PYSEC-1: fixed in 1.1"),
        (told({**FIXED, "fix_versions": []}), 0, "a 1: PYSEC-1: no fix yet"),
        ({"dependencies": [{"name": "a", "skip_reason": "?"}]}, 69, "PyPI tells of 0 of 1"),
        ({}, 69, "audit: not made"),
    ],
    ids=["none", "fixed", "not fixed", "not told", "no answer"],
)
def test_the_audit_fails_of_what_has_a_fix_and_of_nothing_else(tmp_path, says, code, line):
    program = tmp_path / "pip-audit"
    program.write_text(f"#!/bin/sh\nprintf '%s' '{json.dumps(says)}'\n")
    program.chmod(0o700)
    done = subprocess.run([SCRIPTS / "audit", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (code, "")
    assert line in done.stdout


def test_the_audit_accepts_what_is_ignored_with_a_reason(tmp_path):
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "audit").write_bytes((SCRIPTS / "audit").read_bytes())
    (folder / "audit.ignored").write_text("# why\nCVE-1 only on Windows\nPYSEC-2\n")
    program = tmp_path / "pip-audit"
    program.write_text(f"#!/bin/sh\nprintf '%s' '{json.dumps(told(FIXED))}'\n")
    program.chmod(0o700)
    command = [sys.executable, folder / "audit", program]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "accepted: only on Windows" in done.stdout
