"""The controller as a process of a cluster's own, and what its log tells."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from stormcut.adapters.clusters.running import RunningCluster
from stormcut.adapters.processes.last_words import of_process
from stormcut.application.experiment.timeline import Kind
from stormcut.application.waiting import Watch, wait_until
from stormcut.model.errors import StormcutError

#: Served time: Python starts and imports what it needs, and Java starts for Spark.
START_S = 120.0
#: Spark ends with it.
END_S = 20.0

#: The moment, then the level, then what is said.
_LINE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) [A-Z]+ +(.*)")
_PLAN = re.compile(r"plan (\w+) in [\d.]+ s: (.*)")
_KEPT = re.compile(r"\S+ (?:kept|declined): ")
_DRIFT = re.compile(r"profile of (\S+) published: (.*: .* was .*)")
_VERDICT = re.compile(r"\S+ has moved, and turned out .*")


@dataclass(frozen=True)
class ControllerProcess:
    """A controller of one cluster alone; ``log`` is what it says."""

    process: subprocess.Popen[bytes]
    log: Path

    def check(self) -> None:
        """Raise StormcutError with its last words if it has ended."""
        if self.process.poll() is not None:
            code = self.process.returncode
            raise StormcutError(f"the controller ended with exit code {code}; {self.last_words()}")

    def last_words(self) -> str:
        """Return the last line of its log."""
        return of_process("the controller", self.log)

    def news(self) -> list[tuple[float, Kind, str]]:
        """Return what it has noticed and done so far: epoch seconds, kind, words."""
        return events(self.log.read_text(encoding="utf-8", errors="replace"))

    def _watches(self) -> bool:
        self.check()
        said = self.log.read_text(encoding="utf-8", errors="replace")
        return "leader:" in said and "Spark reads" in said


def events(text: str) -> list[tuple[float, Kind, str]]:
    """Return what a controller's log tells of changes, moves and what became of them."""
    found = []
    for line in filter(None, map(_LINE.match, text.splitlines())):
        moment = datetime.strptime(line[1], "%Y-%m-%d %H:%M:%S,%f").timestamp()
        event = _event(line[2])
        if event is not None:
            found.append((moment, *event))
    return found


def _event(said: str) -> tuple[Kind, str] | None:
    if (plan := _PLAN.match(said)) and plan[2] and not _KEPT.match(plan[2]):
        return Kind.MOVE, f"plan {plan[1][:8]}: {plan[2]}"
    if drift := _DRIFT.match(said):
        return Kind.DRIFT, f"{drift[1]} {drift[2]}"
    if verdict := _VERDICT.match(said):
        return Kind.VERDICT, verdict[0]
    return None


@contextmanager
def controller_process(cluster: RunningCluster, config: Path) -> Iterator[ControllerProcess]:
    """Yield a controller that leads and measures; it ends with the block.

    It is a process of the cluster: `down` ends whatever carries its mark.
    """
    log = cluster.folder / "controller" / "logs" / "controller.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    own = {"STORMCUT_CLUSTER": str(cluster.folder), "STORMCUT_TLS": ""}  # that is of other clusters
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "stormcut.cli.main", "operate", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=os.environ | cluster.environment() | own,
            start_new_session=True,
        )
    controller = ControllerProcess(process, log)
    try:
        watch = Watch(processes=lambda: [process.pid], last_words=controller.last_words)
        wait_until(controller._watches, START_S, "the controller measures", watch=watch)
        yield controller
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
