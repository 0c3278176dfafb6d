"""The controller as a process of a cluster's own, and what it has noticed and done."""

from __future__ import annotations

import ipaddress
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from stormcut.adapters.files.yaml_document import yaml_text
from stormcut.adapters.zookeeper.nodes import HISTORY_KEPT, StormcutNodes, nodes_at
from stormcut.adapters.zookeeper.reviews import read_reviews
from stormcut.application.waiting import Watch, wait_until
from stormcut.control.decide.decision import Action
from stormcut.lab.adapters.clusters.running import RunningCluster
from stormcut.lab.adapters.processes.last_words import of_process
from stormcut.lab.experiment.timeline import Kind
from stormcut.model.errors import StormcutError

#: Served time: Python starts and imports what it needs, and Java starts for Spark.
START_S = 120.0
#: Spark ends with it.
END_S = 20.0

#: The moment, then the level, then what is said.
_LINE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) [A-Z]+ +(.*)")
_DRIFT = re.compile(r"profile of (\S+) published: (.*: .* was .*)")
#: By the action that a plan's history tells of a topology.
_KINDS = {
    Action.MOVE.value: Kind.MOVE,
    Action.UNDO.value: Kind.MOVE,
    Action.PLACE.value: Kind.PLACED,
}
#: What has been noticed or done: epoch seconds, kind, words.
News = list[tuple[float, Kind, str]]


@dataclass(frozen=True)
class ControllerProcess:
    """A controller of one cluster alone; ``log`` is what it says, ``nodes`` what it publishes."""

    process: subprocess.Popen[bytes]
    log: Path
    nodes: StormcutNodes

    def check(self) -> None:
        """Raise StormcutError with its last words if it has ended."""
        if self.process.poll() is not None:
            code = self.process.returncode
            raise StormcutError(f"the controller ended with exit code {code}; {self.last_words()}")

    def last_words(self) -> str:
        """Return the last line of its log."""
        return of_process("the controller", self.log)

    def news(self) -> News:
        """Return what it has noticed and done so far, by time.

        Plans are of the history, outcomes of the reviews; drifts only the log tells.
        """
        plans = plan_news(self.nodes.read_history(HISTORY_KEPT))
        outcomes = [
            (each.at_s, Kind.VERDICT, f"{each.topology} turned out {each}")
            for each in read_reviews(self.nodes)
        ]
        noticed = drift_news(self.log.read_text(encoding="utf-8", errors="replace"))
        return sorted((*plans, *outcomes, *noticed), key=lambda event: event[0])

    def _watches(self) -> bool:
        self.check()
        said = self.log.read_text(encoding="utf-8", errors="replace")
        return "leader:" in said and "Spark reads" in said


def plan_news(history: Iterable[Mapping[str, Any]]) -> News:
    """Return what plans have moved and placed, from entries of the history."""
    return [
        (entry["created_ms"] / 1000, kind, f"plan {entry['plan'][:8]}: {'; '.join(reasons)}")
        for entry in history
        for kind in (Kind.MOVE, Kind.PLACED)
        if (reasons := list(_reasons(entry, kind)))
    ]


def _reasons(entry: Mapping[str, Any], kind: Kind) -> Iterator[str]:
    for line in entry["topologies"]:
        if _KINDS.get(line["action"]) is kind:
            yield f"{line['topology']} {line['reason']}"


def drift_news(log: str) -> News:
    """Return the changes of load that a controller's log tells of."""
    news: News = []
    for line in filter(None, map(_LINE.match, log.splitlines())):
        if drift := _DRIFT.match(line[2]):
            moment = datetime.strptime(line[1], "%Y-%m-%d %H:%M:%S,%f").timestamp()
            news.append((moment, Kind.DRIFT, f"{drift[1]} {drift[2]}"))
    return news


def write_configuration(
    cluster: RunningCluster, mode: str = "automatic", **sections: Mapping[str, Any]
) -> Path:
    """Write the configuration of a controller for a cluster, as a user could; return the file.

    It listens where the cluster's Nimbus reaches it, in the clear.

    Parameters
    ----------
    sections : mappings
        What is not as shipped, by the name of the section.
    """
    is_loopback = ipaddress.ip_address(cluster.host).is_loopback
    document: dict[str, Any] = {
        "mode": mode,
        "zookeeper": {"servers": cluster.zookeeper_address, "auth_file": str(cluster.auth_file)},
        "listen": {"address": cluster.host, "insecure": not is_loopback},
        **sections,
        "observe": {
            "logs": [str(folder) for folder in cluster.log_folders],
            **sections.get("observe", {}),
        },
    }
    path = cluster.folder / "stormcut.yaml"
    path.write_text(yaml_text(document), encoding="utf-8")
    return path


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
    try:
        with nodes_at(cluster.zookeeper_address, cluster.auth_file) as nodes:
            controller = ControllerProcess(process, log, nodes)
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
