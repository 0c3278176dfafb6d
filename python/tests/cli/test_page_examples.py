"""What pages tell to type works: `docs/engine.md`'s Python, the README's commands on files."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def _blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("block", _blocks("docs/engine.md", "python"))
def test_the_engines_example_runs(block, capsys):
    exec(block, {})
    value = capsys.readouterr().out.split()[0]
    assert float(value) > 0


@pytest.mark.slow
def test_the_readmes_commands_run(stormcut, tmp_path, monkeypatch):
    (commands,) = (each for each in _blocks("README.md", "") if "place examples/" in each)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    for line in commands.splitlines():
        name, *arguments = shlex.split(line, comments=True)
        assert name == "stormcut"
        assert stormcut(*arguments)[0] == 0, line
