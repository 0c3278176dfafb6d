"""The command line, run in this process: a process of its own takes a second to start."""

import sys

import pytest

from stormcut.cli.main import main


@pytest.fixture
def stormcut(monkeypatch, capsys):
    """Return a function that runs the command and returns (exit code, stdout, stderr)."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["stormcut", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        captured = capsys.readouterr()
        return caught.value.code or 0, captured.out, captured.err

    return run
