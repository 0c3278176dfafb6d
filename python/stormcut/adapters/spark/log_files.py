"""Finds the metrics logs of Storm's workers, plain and rolled."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from stormcut.model.errors import InvalidInput

METRICS_LOG = "worker.log.metrics"
_NAME = re.compile(rf"{re.escape(METRICS_LOG)}(\.\d+)?(\.gz)?")


def find_metrics_logs(
    folders: Iterable[Path], topology: str | None = None
) -> dict[str, list[Path]]:
    """Return the logs of each topology id, ``workers-artifacts/<id>/<port>/worker.log.metrics``.

    Parameters
    ----------
    folders : iterable of Path
        Searched at any depth; a file that two of them contain is taken once.
    topology : str, optional
        The only topology id to look for.

    Raises
    ------
    InvalidInput
        A folder does not exist, or there is no metrics log (of this topology).
    """
    folders = list(folders)
    found: dict[str, set[Path]] = {}
    for folder in folders:
        if not folder.is_dir():
            raise InvalidInput("is not a folder", str(folder))
        for path in folder.rglob(f"{METRICS_LOG}*"):
            port = path.parent
            if port.parent.parent.name == "workers-artifacts" and _NAME.fullmatch(path.name):
                found.setdefault(port.parent.name, set()).add(path.resolve())
    where = ", ".join(map(str, folders))
    if not found:
        raise InvalidInput(
            f"no workers-artifacts/<topology id>/<port>/{METRICS_LOG} in it; give the folder that "
            "Storm calls storm.log.dir, and register LoggingMetricsConsumer for the topology",
            where,
        )
    if topology is not None:
        if topology not in found:
            known = ", ".join(sorted(found))
            raise InvalidInput(f"no log of topology {topology}; there are {known}", where)
        found = {topology: found[topology]}
    return {key: sorted(paths) for key, paths in sorted(found.items())}
