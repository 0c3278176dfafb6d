"""What a topology's sources report of themselves, read from the nodes' files."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable
from pathlib import Path

from stormcut.lab.experiment.bench.windows import Sample


def newest(folders: Iterable[Path], sources: Collection[str]) -> dict[str, Sample]:
    """Return the newest sample of every source task, by component and task.

    Parameters
    ----------
    folders : iterable of Path
        Where the tasks of one topology write, one folder a node.
    sources : collection of str
        Names of the spouts.
    """
    samples: dict[str, Sample] = {}
    # A worker that was restarted writes a file of another process: the newer one counts.
    for process, sample in newest_of_processes(folders, sources).items():
        task = process.rpartition("-")[0]
        if task not in samples or samples[task].taken_at < sample.taken_at:
            samples[task] = sample
    return samples


def newest_of_processes(folders: Iterable[Path], sources: Collection[str]) -> dict[str, Sample]:
    """Return the newest sample of every process of a source task, also of those that have ended."""
    return {
        path.stem: _read(path)
        for folder in folders
        for path in folder.glob("*.json")
        if path.stem.rsplit("-", 2)[0] in sources
    }


def _read(path: Path) -> Sample:
    # Opened once: a new report is a new file under the same name.
    with path.open(encoding="utf-8") as file:
        return Sample.of(json.load(file), os.fstat(file.fileno()).st_mtime)
