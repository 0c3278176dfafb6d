"""A bench on a real cluster: interrupted, resumed, and nothing of it left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from stage import DEFAULT_SIGNAL

from stormcut.application.waiting import wait_until
from stormcut.lab.adapters.clusters.docker.engine import containers_of, engine, networks_of

pytestmark = [pytest.mark.docker, pytest.mark.full, pytest.mark.timeout(3600)]

NAME = f"bench-{os.getpid()}"
SETTING = """
summary: as small as it can be
nodes: 2
cpus: 0.5
bandwidth: 20mbit
topologies:
  linear: {language: java, tasks: 2, bolts: 1, payload: 500, topology.acker.executors: 1}
"""


def bench(folder: Path) -> subprocess.Popen[str]:
    setting = folder / "tiny.yaml"
    setting.write_text(SETTING)
    command = [sys.executable, "-m", "stormcut.cli.main", "bench", "--setting", str(setting)]
    command += ["--schedulers", "even,cut", "--repetitions", "1", "--window", "6"]
    command += ["--output", str(folder / "results"), "--name", NAME]
    return subprocess.Popen(
        [*DEFAULT_SIGNAL, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def nothing_is_left() -> bool:
    with engine() as client:
        return not containers_of(client, NAME) and not networks_of(client, NAME)


def test_a_bench_goes_on_where_it_was_interrupted(storm_image: str, tmp_path: Path) -> None:
    results = tmp_path / "results"
    first = bench(tmp_path)
    try:
        wait_until(
            lambda: lines(results / "cells.jsonl") or first.poll() is not None, 600, "one cell"
        )
        first.send_signal(signal.SIGINT)
        said, _ = first.communicate(timeout=600)
    finally:
        first.kill()
    assert first.returncode == 130, said
    assert nothing_is_left()
    before = lines(results / "cells.jsonl")
    assert len(before) == 1

    second = bench(tmp_path)
    try:
        said, _ = second.communicate(timeout=1800)
    finally:
        second.kill()
    assert second.returncode == 0, said
    assert nothing_is_left()
    cells = lines(results / "cells.jsonl")
    assert cells[0] == before[0], "what was measured stays"
    assert {each["cell"]["scheduler"] for each in cells} == {"even", "cut"}
    assert all(each["tuples_per_10s"] > 0 for each in cells if not each["unsteady"])
    placed = {each["scheduler"]: each for each in lines(results / "placements.jsonl")}
    assert 0 < placed["cut"]["kept"] <= 1
    # Where links are full, more tuples may cross if they are smaller.
    assert placed["cut"]["reachable"] >= 0.99 * placed["even"]["reachable"]
    for name in ("bench.html", "bench.md", "cells.parquet"):
        assert (results / name).stat().st_size > 500
