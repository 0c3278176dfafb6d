import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from stormcut.application.waiting import wait_until
from stormcut.lab.adapters.clusters.local import processes
from stormcut.lab.adapters.clusters.local.layout import Daemon

WAIT = "import sys; print('ready', flush=True); sys.stdin.read()"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {WAIT}"
PARENT = (
    "import subprocess, sys; "
    f"child = subprocess.Popen([sys.executable, '-c', {WAIT!r}]); child.wait()"
)


class Started:
    def __init__(self) -> None:
        self.children: list[subprocess.Popen[bytes]] = []

    def __call__(self, folder: Path, daemon: str, code: str) -> subprocess.Popen[bytes]:
        marks = {processes.CLUSTER_MARK: str(folder), processes.DAEMON_MARK: daemon}
        child = subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, **marks},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.children.append(child)
        assert child.stdout and child.stdout.readline() == b"ready\n"
        return child


@pytest.fixture
def start() -> Iterator[Started]:
    started = Started()
    yield started
    for child in started.children:
        child.kill()
        child.communicate()


def test_a_daemon_and_what_it_started_are_found_and_ended(tmp_path: Path, start: Started) -> None:
    parent = start(tmp_path, "supervisor-0", PARENT)
    found = processes.of_cluster(tmp_path)
    assert len(found) == 2 and parent.pid in {process.pid for process in found}
    assert processes.end(tmp_path) == 2
    assert processes.of_cluster(tmp_path) == []
    assert parent.wait() != 0


def test_an_orphan_is_still_found(tmp_path: Path, start: Started) -> None:
    parent = start(tmp_path, "supervisor-0", PARENT)
    parent.kill()
    parent.wait()
    (orphan,) = processes.of_cluster(tmp_path)
    processes.end(tmp_path)
    assert not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE


@pytest.mark.slow
def test_a_process_that_ignores_termination_is_killed(tmp_path: Path, start: Started) -> None:
    child = start(tmp_path, "nimbus", STUBBORN)
    processes.end(tmp_path, grace_s=0.3)
    assert child.wait() == -9


def test_only_the_cluster_named_is_touched(tmp_path: Path, start: Started) -> None:
    other = start(tmp_path / "x2", "nimbus", WAIT)
    start(tmp_path / "x", "nimbus", WAIT)
    assert processes.end(tmp_path / "x") == 1
    assert other.poll() is None


def test_only_the_daemon_named_is_touched(tmp_path: Path, start: Started) -> None:
    other = start(tmp_path, "supervisor-1", WAIT)
    start(tmp_path, "supervisor-0", WAIT)
    assert processes.end(tmp_path, "supervisor-0", grace_s=0.0) == 1
    assert [process.pid for process in processes.of_cluster(tmp_path)] == [other.pid]


def test_a_recorded_process_is_told_from_a_later_one_of_its_id(
    tmp_path: Path, start: Started
) -> None:
    child = start(tmp_path, "nimbus", WAIT)
    started = psutil.Process(child.pid).create_time()
    daemon = Daemon("nimbus", "127.0.0.1", (1,), child.pid, started)
    assert processes.is_running(daemon)
    assert not processes.is_running(Daemon("nimbus", "127.0.0.1", (1,), child.pid, started - 60))
    assert not processes.is_running(Daemon("nimbus", "127.0.0.1", (1,)))
    child.kill()
    # Not waited for: a zombie does not run either.
    wait_until(lambda: not processes.is_running(daemon), 5.0, "the process is dead")
