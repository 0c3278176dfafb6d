"""Finds `<artifacts>/<topology id>/<port>/worker.log.metrics`, whatever the artifacts' folder is.

Storm calls it ``workers-artifacts``, or as ``storm.workers.artifacts.dir`` says. Links on the way
to a topology's folder are followed, as to a larger disk. Below it none is: what is there may be
the topology's own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

METRICS_LOG = "worker.log.metrics"
ARTIFACTS = "workers-artifacts"
#: How Nimbus names topologies: ``<name>-<number>-<epoch s>``.
_TOPOLOGY = re.compile(r".+-\d+-\d+", re.ASCII)
_PORT = re.compile(r"\d{1,5}", re.ASCII)
#: Folders within one another: a folder of logs has few.
MAX_DEPTH = 32


def metrics_logs(folder: Path) -> Iterator[Path]:
    """Yield the metrics logs of all topologies in a folder, plain, rolled and packed.

    Folders that cannot be read are passed over, and none is looked at twice.
    """
    seen: set[tuple[int, int]] = set()
    waiting = [(folder, 0)]
    while waiting:
        path, depth = waiting.pop()
        if not _is_new(path, seen):
            continue
        children = sorted(_folders(path))
        for child in children:
            if _is_topology(child):
                yield from _of_topology(child)
            elif depth < MAX_DEPTH:
                waiting.append((child, depth + 1))
        if not depth and _is_topology(path.absolute()):
            yield from _of_topology(path)


def _is_new(folder: Path, seen: set[tuple[int, int]]) -> bool:
    try:
        status = folder.stat()
    except OSError:
        return False
    known = status.st_dev, status.st_ino
    is_new = known not in seen
    seen.add(known)
    return is_new


def _folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir()]
    except OSError:
        return []


def _is_topology(folder: Path) -> bool:
    named = folder.parent.name == ARTIFACTS or _TOPOLOGY.fullmatch(folder.name)
    return bool(named) and any(_PORT.fullmatch(each.name) for each in _folders(folder))


def _of_topology(folder: Path) -> Iterator[Path]:
    for port in sorted(_folders(folder)):
        if _PORT.fullmatch(port.name) and not port.is_symlink():
            try:
                files = sorted(port.iterdir())
            except OSError:
                continue
            yield from (file for file in files if file.name.startswith(METRICS_LOG))
