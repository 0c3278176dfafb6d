"""What a task did: a line in its worker's log, and a file for those who check answers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from logging import Logger
from pathlib import Path
from typing import Any


class Report:
    """Publishes a task's counts whenever they have changed.

    Parameters
    ----------
    component : str
        Name of the component.
    task : int
        Id of the task.
    folder : str
        Where the file with counts and answer is written; empty for none.
    """

    def __init__(self, component: str, task: int, folder: str, logger: Logger) -> None:
        # A task that is started again counts from 0: its process tells the reports apart.
        self._who = {"component": component, "task": task, "process": os.getpid()}
        self._file = Path(folder) / f"{component}-{task}-{os.getpid()}.json" if folder else None
        self._logger = logger
        self._published: Mapping[str, Any] | None = None

    def publish(self, counts: Mapping[str, Any], answer: Callable[[], Any]) -> None:
        """Log the counts; write them with the task's part of the answer, which may be long."""
        if counts == self._published:
            return
        self._published = json.loads(json.dumps(counts))
        self._logger.info("report %s", json.dumps({**self._who, **counts}))
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            part = self._file.with_suffix(".part")
            part.write_text(json.dumps({**self._who, **counts, "answer": answer()}))
            part.replace(self._file)
