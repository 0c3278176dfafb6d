"""How the lines of the metrics logs were used: nothing is left out in silence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class UnusedLine:
    """An example of a line that could not be used."""

    topology: str
    problem: str
    line: str


@dataclass(frozen=True)
class SkippedFile:
    """A log that could not be read, and why."""

    path: str
    problem: str


@dataclass(frozen=True)
class LineSummary:
    """Counts of lines.

    Parameters
    ----------
    files, read : int
        Log files, and all lines in them.
    hook : int
        Lines of the hook, those of ``__system`` tasks and repeated ones included.
    metrics : int
        Lines of other metrics.
    repeated : int
        Hook lines that occurred more than once and were taken once.
    unused : dict of str to int
        What was wrong, and how many lines had it.
    examples : tuple of UnusedLine
        A few of the unused lines.
    skipped : tuple of SkippedFile
        Logs that are in no count, as they could not be read.
    """

    files: int
    read: int
    hook: int
    metrics: int
    repeated: int
    unused: dict[str, int]
    examples: tuple[UnusedLine, ...]
    skipped: tuple[SkippedFile, ...] = ()
