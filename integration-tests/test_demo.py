"""The demo as a user runs it: it proves its prediction, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from stage import DEFAULT_SIGNAL, read_until

from stormcut.adapters import home
from stormcut.adapters.local_cluster import LocalCluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(480)]

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
    command = [*DEMO, "--seconds", "30", "--report", str(report), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["agrees"]
    assert figures["measured_drop"] > 0.25
    before, after = figures["before"], figures["after"]
    assert after["between_nodes_per_s"] > 0, "all on one node proves nothing"
    assert 2 <= after["nodes_used"] < before["nodes_used"]
    # The hook's own count of tuples that stayed in a worker, against where tasks really ran.
    for phase in (before, after):
        assert phase["between_workers_by_hook_per_s"] == pytest.approx(
            phase["between_workers_per_s"], rel=0.02
        )
    assert "<svg" in report.read_text(encoding="utf-8")
    assert processes_started() == []
    assert not (home.home() / "clusters" / NAME).exists()


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param("starting Storm", marks=pytest.mark.full),
        pytest.param("starting Spark", marks=pytest.mark.full),
        "warming up",
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
