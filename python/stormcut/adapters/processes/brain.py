"""A brain as a process of a cluster's own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stormcut.adapters.clusters.running import RunningCluster
from stormcut.adapters.processes.last_words import of_process
from stormcut.application.waiting import Watch, wait_until
from stormcut.model.errors import StormcutError

#: Served time: Python starts and imports what it needs.
START_S = 60.0


@dataclass(frozen=True)
class BrainProcess:
    """A brain of one cluster alone; ``log`` is what it says."""

    process: subprocess.Popen[bytes]
    log: Path

    def check(self) -> None:
        """Raise StormcutError with its last words if it has ended."""
        if self.process.poll() is not None:
            code = self.process.returncode
            raise StormcutError(f"the brain ended with exit code {code}; {self.last_words()}")

    def last_words(self) -> str:
        """Return the last line of its log."""
        return of_process("the brain", self.log)

    def leads(self) -> bool:
        """Return whether it leads; it must not have ended."""
        self.check()
        return "leader:" in self.log.read_text(encoding="utf-8")


@contextmanager
def brain_process(cluster: RunningCluster, keep: bool = False) -> Iterator[BrainProcess]:
    """Yield a brain that leads; it ends with the block, or with the cluster if it is kept.

    It is a process of the cluster: `down` ends whatever carries its mark.
    """
    log = cluster.folder / "brain" / "logs" / "brain.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    own = {"STORMCUT_CLUSTER": str(cluster.folder), "STORMCUT_TLS": ""}  # that is of other clusters
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "stormcut.cli.main", "brain"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=os.environ | cluster.environment() | own,
            start_new_session=True,
        )
    brain = BrainProcess(process, log)
    try:
        watch = Watch(processes=lambda: [process.pid], last_words=brain.last_words)
        wait_until(brain.leads, START_S, "the brain leads", watch=watch)
        yield brain
    finally:
        if not keep:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
