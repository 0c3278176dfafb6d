"""What the shell completes: names that exist, of what was typed so far."""

from __future__ import annotations

import time

import pytest
from click.shell_completion import ShellComplete

from stormcut.cli.main import cli


def completed(*words: str) -> list[str]:
    *before, last = words
    shell = ShellComplete(cli, {}, "stormcut", "_STORMCUT_COMPLETE")
    return [item.value for item in shell.get_completions(list(before), last)]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("place", "--algorithm", "strom"), ["stromax"]),
        (("compare", "p.json", "--algorithms", "even,r-storm-"), ["even,r-storm-distance"]),
        (("place", "--algorithm", "dsm", "--option", "sl"), []),
        (("place", "--option", "objec"), ["objective="]),
        (("place", "--algorithm", "p-scheduler", "--option", "cpu_"), ["cpu_share="]),
        (("algorithms", "bfr"), ["bframework"]),
        (("topologies", "run", "word_"), ["word_count"]),
        (("bench", "--topologies", "linear,word_"), ["linear,word_count"]),
        (("bench", "--setting", "local-"), ["local-cpu", "local-network"]),
        (("bench", "--schedulers", "ols-"), ["ols-offline"]),
    ],
    ids=lambda value: "-".join(value),
)
def test_names_that_exist_are_completed(words: tuple[str, ...], found: list[str]) -> None:
    assert completed(*words) == found


@pytest.mark.parametrize("command", ["undo", "stop", "release", "drain", "undrain"])
def test_without_zookeeper_nothing_is_completed_and_nobody_waits(
    monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.delenv("STORMCUT_ZOOKEEPER", raising=False)
    began = time.monotonic()
    assert completed(command, "") == []
    monkeypatch.setenv("STORMCUT_ZOOKEEPER", "127.0.0.1:1")
    monkeypatch.setenv("STORMCUT_AUTH_FILE", "/nowhere")
    assert completed(command, "") == []
    assert time.monotonic() - began < 10
