"""What the parts of a cluster said last, for the error of whoever waited for them in vain."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

#: Of a log's end; more is not looked at.
TAIL_BYTES = 256 * 1024
#: Of a line; Storm's can hold whole configurations.
SHOWN = 300

#: How Storm's log marks what went wrong, and what stormcut's plugin says there.
ERROR = "[ERROR]"
STORMCUT = " stormcut: "


def of_nimbus(log: Path) -> str:
    """Return the plugin's last line, and Nimbus's last error if that came later."""
    return _said("Nimbus", _last(lines_of(log), (STORMCUT, ERROR)))


def of_workers(folders: Iterable[Path], topology: str) -> str:
    """Return the last error of any of a topology's workers, else the youngest line.

    Parameters
    ----------
    folders : iterable of Path
        The supervisors' ``workers-artifacts``.
    topology : str
        Its id, or a pattern of it.
    """
    logs = [log for folder in folders for log in folder.glob(f"{topology}/*/worker.log")]
    # Their lines begin with the moment.
    said = [lines for log in logs if (lines := lines_of(log))]
    errors = [line for lines in said if (line := _last(lines, (ERROR,)))]
    if not said:
        return "no worker has written a log"
    return _said("a worker", max(errors or [lines[-1] for lines in said]))


def of_process(who: str, log: Path) -> str:
    """Return the last line of a process's output."""
    return _said(who, (lines_of(log) or [""])[-1])


def lines_of(log: Path) -> list[str]:
    """Return the lines at the end of a log that are not empty; none if there is no such file."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _last(lines: list[str], marks: tuple[str, ...]) -> str:
    return next((line for line in reversed(lines) if any(mark in line for mark in marks)), "")


def _said(who: str, line: str) -> str:
    if not line:
        return f"{who} said nothing of it"
    return f"{who} said last: {line[:SHOWN]}{'...' * (len(line) > SHOWN)}"
