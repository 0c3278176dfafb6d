"""The demo as a user runs it: its story happens, and it leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from stage import DEFAULT_SIGNAL, read_until

from stormcut.adapters.machine import home
from stormcut.lab.adapters.clusters.local import LocalCluster
from stormcut.lab.adapters.clusters.local.network import NAMESPACES, Network, obstacle

pytestmark = pytest.mark.cluster

NAME = f"demo-test-{os.getpid()}"
MARK = "STORMCUT_TEST_DEMO"
ENVIRONMENT = {**os.environ, MARK: NAME}
DEMO = [*DEFAULT_SIGNAL, sys.executable, "-m", "stormcut.cli.main", "demo", "--name", NAME]


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    yield
    LocalCluster.clear(NAME)


def namespaces() -> set[str]:
    return {path.name for path in NAMESPACES.iterdir()} if NAMESPACES.exists() else set()


def links() -> set[str]:
    return {path.name for path in Path("/sys/class/net").iterdir() if path.name.startswith("sc-")}


def of_its_network() -> set[str]:
    """Return namespaces and links of the demo's cluster alone: others may run beside."""
    mark = Network(home.home() / "clusters" / NAME).namespace(0).split("-")[1]
    return {name for name in namespaces() | links() if mark in name}


def processes_started() -> list[psutil.Process]:
    """Return what inherited the mark: the demo, Spark, daemons, workers, their subprocesses."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.AccessDenied, psutil.NoSuchProcess):
            if process.environ().get(MARK) == NAME:
                found.append(process)
    return found


def nothing_is_left() -> bool:
    folder = home.home() / "clusters" / NAME
    return not (processes_started() or of_its_network() or folder.exists())


def told(tmp_path: Path, *options: str) -> dict[str, Any]:
    report = tmp_path / "report.html"
    command = [*DEMO, "--report", str(report), "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0, f"{done.stderr}\n{done.stdout}"
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["why"] == ""
    assert report.read_text(encoding="utf-8").count('class="chart"') == 2
    assert nothing_is_left()
    return found


def moments(found: dict[str, Any], kind: str) -> list[float]:
    return [event["at_s"] for event in found["events"] if event["kind"] == kind]


@pytest.mark.skipif(bool(obstacle()), reason=obstacle())
def test_the_controller_moves_what_stalls(tmp_path: Path) -> None:
    found = told(tmp_path, "--until", "move")
    before, after = found["phases"]
    assert before["offered_per_s"] == after["offered_per_s"]
    assert after["acked_per_s"] > 1.2 * before["acked_per_s"]
    # A topology that acknowledges nothing while it stalls has no latency to compare.
    assert after["mean_ms"] < (before["mean_ms"] or float("inf"))
    assert after["crossing"] < before["crossing"]
    assert len(after["nodes"]) > 1, "all on one node proves nothing"
    (resumed,) = moments(found, "order")
    assert min(moments(found, "move")) > resumed > before["end_s"]
    assert before["end_s"] <= after["begin_s"]


@pytest.mark.full
@pytest.mark.skipif(bool(obstacle()), reason=obstacle())
def test_the_whole_story(tmp_path: Path) -> None:
    found = told(tmp_path)
    *_, again, lost = found["phases"]
    (changed,), (loss,) = moments(found, "change"), moments(found, "loss")
    assert any(changed < at < loss for at in moments(found, "drift"))
    assert any(changed < at < loss for at in moments(found, "move"))
    gone = set(again["nodes"]) - set(lost["nodes"])
    assert len(gone) == 1
    assert lost["acked_per_s"] > 0


@pytest.mark.full
def test_a_story_that_does_not_happen_is_told_in_one_line(tmp_path: Path) -> None:
    """Without limits a machine of many cores may serve all that is offered; else it stalls."""
    report = tmp_path / "report.html"
    command = [*DEMO, "--report", str(report), "--no-limits", "--until", "move", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode in (0, 1), done.stderr
    assert "the nodes' links are not limited" in done.stderr
    why = json.loads(done.stdout)["why"]
    assert bool(why) == bool(done.returncode)
    assert not why or done.stderr.splitlines()[-1].endswith(why)
    assert "NOT LIMITED" in report.read_text(encoding="utf-8")
    assert nothing_is_left()


@pytest.mark.parametrize(
    "moment",
    [
        "starting Storm",
        pytest.param("starting the controller", marks=pytest.mark.full),
        pytest.param("the load rises", marks=pytest.mark.full),
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
    assert nothing_is_left()
    assert list(tmp_path.iterdir()) == []
