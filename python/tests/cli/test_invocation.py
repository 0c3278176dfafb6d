"""The path in hints: what is printed can be run as it is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stormcut.cli.invocation import command

SCRIPTS = Path(sys.prefix) / "bin"


def test_on_path_the_bare_name_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(SCRIPTS), prepend=os.pathsep)
    assert command() == "stormcut"


def test_another_installation_on_path_is_not_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "stormcut"
    other.write_text("#!/bin/sh\nexit 9\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert command() != "stormcut"


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["here", "elsewhere", "with a space"])
def test_what_is_printed_runs_without_path(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = Path(sys.prefix) if folder == "here" else tmp_path / folder
    where.mkdir(exist_ok=True)
    if folder == "with a space":
        (where / "venv").symlink_to(sys.prefix)
        monkeypatch.setattr(sys, "prefix", str(where / "venv"))
    monkeypatch.chdir(tmp_path if folder == "with a space" else where)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    typed = command()
    assert Path(typed.split()[0]).is_absolute() is (folder == "elsewhere")
    ran = subprocess.run(["sh", "-c", f"{typed} --version"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("stormcut")
