"""Parts of metrics logs that can be read by themselves, and what their lines say."""

from __future__ import annotations

import gc
import gzip
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from stormcut.profile.metric_lines import LineReader, TaskLog, TaskLogs

#: Of text; what one is read into is some four times as large.
SPLIT_BYTES = 32 << 20
#: A line that is longer is taken for several: none is of a metric.
MAX_LINE = 16 << 20
#: Read at a time: few enough bytes to stay in a cache, enough to be counted together.
_CHUNK = 2 << 20


@dataclass(frozen=True)
class Split:
    """The lines of a log that begin from one byte up to another one, or all of a packed log."""

    topology: str
    path: str
    begin: int = 0
    end: int | None = None


def split_logs(logs: Mapping[str, Sequence[Path]]) -> list[Split]:
    """Return the splits of the logs of each topology id; a packed log is one."""
    return [
        split for topology, paths in logs.items() for path in paths for split in _of(topology, path)
    ]


def _of(topology: str, path: Path) -> Iterator[Split]:
    size = path.stat().st_size
    if path.suffix == ".gz" or size <= SPLIT_BYTES:
        yield Split(topology, str(path))
        return
    for begin in range(0, size, SPLIT_BYTES):
        yield Split(topology, str(path), begin, min(begin + SPLIT_BYTES, size))


def read_split(split: Split, reader: LineReader) -> Iterator[TaskLogs]:
    """Yield what the lines of a split say of tasks, of some lines at a time.

    Raises
    ------
    OSError, EOFError, zlib.error
        It cannot be read.
    """
    for text in read_text(split):
        with no_cycles():
            reader.read(text)
        tasks, reader.tasks = reader.tasks, defaultdict(TaskLog)
        yield tasks


@contextmanager
def no_cycles() -> Iterator[None]:
    """Look for no garbage: a third of the time goes into it, and logs' intervals have no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def read_text(split: Split) -> Iterator[bytes]:
    """Yield the lines of a split, some at a time."""
    with _open(Path(split.path)) as file:
        _to_line(file, split.begin)
        while split.end is None or file.tell() < split.end:
            size = _CHUNK if split.end is None else min(_CHUNK, split.end - file.tell())
            if not (text := file.read(size)):
                return
            if not text.endswith(b"\n"):
                text += file.readline(MAX_LINE)
            yield text


def _open(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return cast("IO[bytes]", gzip.open(path))
    return path.open("rb")


def _to_line(file: IO[bytes], begin: int) -> None:
    """Go to the first line that begins at a byte or later."""
    if begin:
        file.seek(begin - 1)
        file.readline(MAX_LINE)
