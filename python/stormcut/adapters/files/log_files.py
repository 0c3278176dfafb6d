"""Finds the metrics logs of Storm's workers, plain and rolled, and those that cannot be read."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from stormcut.adapters.files.metrics_logs import METRICS_LOG, metrics_logs
from stormcut.model.errors import InvalidInput
from stormcut.profile.lines import SkippedFile

NO_FOLDER = "is not a folder; a supervisor that has run no worker yet has none"
Logs = dict[str, list[Path]]

_CHUNK = 1 << 20
#: Of metrics logs as log4j packs them.
_GZIP_RATIO = 12
_NAME = re.compile(rf"{re.escape(METRICS_LOG)}(\.\d+)?(\.gz)?")


def find_metrics_logs(
    folders: Iterable[Path], topology: str | None = None
) -> tuple[Logs, tuple[SkippedFile, ...]]:
    """Return the logs of each topology id, as `metrics_logs` finds them.

    And those that cannot be opened: links to nowhere, files of others, folders that do not exist.

    Parameters
    ----------
    folders : iterable of Path
        Searched at any depth; a file that two of them contain is taken once.
    topology : str, optional
        The only topology id to look for.

    Raises
    ------
    InvalidInput
        None of the folders exists, or there is no metrics log (of this topology).
    """
    folders = list(folders)
    by_topology: dict[str, set[Path]] = {}
    missing = [folder for folder in folders if not folder.is_dir()]
    if len(missing) == len(folders):
        raise InvalidInput("is not a folder", str(folders[0]))
    for folder in folders:
        for path in metrics_logs(folder):
            if _NAME.fullmatch(path.name):
                # A link to nowhere keeps its own name, to be found by.
                log = path.resolve() if path.exists() else path
                by_topology.setdefault(path.parent.parent.name, set()).add(log)
    where = ", ".join(map(str, folders))
    if not by_topology:
        raise InvalidInput(
            f"no <topology id>/<port>/{METRICS_LOG} in it; give the folder that Storm calls "
            "storm.log.dir, with workers-artifacts in it, and register LoggingMetricsConsumer for "
            "the topology",
            where,
        )
    if topology is not None:
        if topology not in by_topology:
            known = ", ".join(sorted(by_topology))
            raise InvalidInput(f"no log of topology {topology}; there are {known}", where)
        by_topology = {topology: by_topology[topology]}
    logs = {key: sorted(paths) for key, paths in sorted(by_topology.items())}
    skipped = unreadable(logs, whole=False)
    none_yet = (SkippedFile(str(folder), NO_FOLDER) for folder in missing)
    return without(logs, skipped), (*skipped, *none_yet)


def unreadable(logs: Mapping[str, list[Path]], whole: bool) -> tuple[SkippedFile, ...]:
    """Return the logs that cannot be opened or, if they shall be read whole, not to their end."""
    return tuple(
        SkippedFile(str(path), problem)
        for paths in logs.values()
        for path in paths
        if (problem := _problem(path, whole))
    )


def _problem(path: Path, whole: bool) -> str:
    """Return why a file cannot be opened, or read, nothing if it can."""
    try:
        with gzip.open(path) if whole and path.suffix == ".gz" else path.open("rb") as file:
            while whole and file.read(_CHUNK):
                pass
    except OSError as error:
        return error.strerror or str(error)
    except (EOFError, zlib.error) as error:
        return f"damaged: {error}"
    return ""


def without(logs: Mapping[str, list[Path]], skipped: tuple[SkippedFile, ...]) -> Logs:
    """Return the other logs, topologies without any left out.

    Raises
    ------
    InvalidInput
        No log is left.
    """
    names = {file.path for file in skipped}
    left = {key: [p for p in paths if str(p) not in names] for key, paths in logs.items()}
    left = {key: paths for key, paths in left.items() if paths}
    if not left:
        others = f", nor any of {len(skipped) - 1} others" if len(skipped) > 1 else ""
        raise InvalidInput(f"cannot be read: {skipped[0].problem}{others}", skipped[0].path)
    return left


def text_bytes(paths: Iterable[Path]) -> int:
    """Return about how much text some logs hold, packed ones included."""
    return sum(path.stat().st_size * (_GZIP_RATIO if path.suffix == ".gz" else 1) for path in paths)
