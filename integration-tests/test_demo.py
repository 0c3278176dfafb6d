"""The demo as a user runs it: it proves its prediction, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from stage import DEFAULT_SIGNAL, read_until

from stormcut.adapters.clusters.local import LocalCluster
from stormcut.adapters.machine import home

pytestmark = pytest.mark.cluster

NAME = f"demo-test-{os.getpid()}"
MARK = "STORMCUT_TEST_DEMO"
ENVIRONMENT = {**os.environ, MARK: NAME}
DEMO = [*DEFAULT_SIGNAL, sys.executable, "-m", "stormcut.cli.main", "demo", "--name", NAME]


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    yield
    LocalCluster.clear(NAME)


def processes_started() -> list[psutil.Process]:
    """Return what inherited the mark: the demo, Spark, daemons, workers, their subprocesses."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.AccessDenied, psutil.NoSuchProcess):
            if process.environ().get(MARK) == NAME:
                found.append(process)
    return found


def test_the_drop_is_as_predicted(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    command = [*DEMO, "--seconds", "20", "--report", str(report), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["agrees"]
    assert [drop["unit"] for drop in figures["drops"]] == ["bytes", "tuples"]
    assert all(drop["measured"] > 0.25 for drop in figures["drops"])
    before, after = figures["before"], figures["after"]
    assert after["between_nodes_per_s"]["tuples"] > 0, "all on one node proves nothing"
    # The metrics consumer too: fifteen executors of eight a node need two.
    assert 2 == after["nodes_used"] < before["nodes_used"]
    # The hook's own count of tuples that stayed in a worker, against where tasks really ran.
    for phase in (before, after):
        assert phase["between_workers_by_hook_per_s"] == pytest.approx(
            phase["between_workers_per_s"]["tuples"], rel=0.02
        )
    predicted = figures["predicted_between_nodes_per_s"]["tuples"]
    now = before["between_nodes_per_s"]["tuples"]
    assert f"{now:.1f} -> {predicted:.1f} tuples/s" in figures["reason"], "the brain's own figures"
    text = report.read_text(encoding="utf-8")
    assert f"on {after['nodes_used']} nodes" in text
    assert text.split("<figure>")[2].count('<rect class="node"') == after["nodes_used"]
    assert processes_started() == []
    assert not (home.home() / "clusters" / NAME).exists()


@pytest.mark.parametrize(
    "moment",
    [
        "starting Storm",
        pytest.param("starting Spark", marks=pytest.mark.full),
        pytest.param("warming up", marks=pytest.mark.full),
    ],
)
def test_ctrl_c_leaves_nothing(tmp_path: Path, moment: str) -> None:
    process = subprocess.Popen(
        [*DEMO, "--report", str(tmp_path / "report.html")],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        cwd=tmp_path,
        env=ENVIRONMENT,
    )
    try:
        read_until(process, moment, process.stderr)
        assert processes_started()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert processes_started() == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_what_the_brain_does_not_move_is_told_with_its_reason_and_the_logs_stay(
    tmp_path: Path,
) -> None:
    """Four nodes of three executors hold no fifteen: no plan can be made."""
    command = [*DEMO, "--seconds", "15", "--max-executors", "3"]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("stormcut: the brain moves nothing: ")
    assert "executors" in last.removeprefix("stormcut: the brain moves nothing: ")
    (kept,) = re.findall(r"The logs are kept: (.*)", done.stderr)
    logs = Path(kept)
    try:
        assert "leader:" in (logs / "brain" / "brain.log").read_text(encoding="utf-8")
        assert (logs / "nimbus" / "nimbus.log").is_file()
        assert list(logs.glob("supervisor-*/workers-artifacts/*/*/worker.log"))
    finally:
        shutil.rmtree(logs)
    assert processes_started() == []
    assert not (home.home() / "clusters" / NAME).exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
@pytest.mark.timeout(7200)
def test_a_low_priority_on_busy_cores_makes_it_slow_but_not_fail(tmp_path: Path) -> None:
    busy = [sys.executable, "-c", "while True: pass"]
    crowd = [subprocess.Popen(busy) for _ in range(os.cpu_count() or 1)]
    try:
        command = ["nice", "-n", "19", *DEMO, "--seconds", "30", "--keep"]
        done = subprocess.run(
            command, capture_output=True, text=True, env=ENVIRONMENT, cwd=tmp_path
        )
    finally:
        for process in crowd:
            process.kill()
            process.wait()
    assert done.returncode == 0, done.stderr
    assert LocalCluster.open(NAME).nimbus.topology("taxi").executors
    # What it tells to type next works as it stands.
    (down,) = re.findall(r"^  (.* cluster down .*)$", done.stderr, re.MULTILINE)
    ended = subprocess.run(["sh", "-c", down], capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert processes_started() == []
