"""Cuts growing metrics logs into closed pieces: Spark's file stream never sees a file grow.

A log is known by its path and its first bytes, not by its inode: a copy that rsync renews is the
same log. When the first bytes change, log4j has rolled it: what was not read yet is looked for in
the rolled file.
"""

from __future__ import annotations

import gzip
import logging
import os
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from stormcut.model.errors import InvalidInput

log = logging.getLogger(__name__)

METRICS_LOG = "worker.log.metrics"
PIECE = ".lines"

#: So much of a log that is met for the first time is read: what is older counts for little.
FIRST_BYTES = 4 << 20
#: Most that is taken from one log at a time.
MOST_BYTES = 32 << 20
#: What tells a log from the one that follows it: a line's time and worker are in it.
_HEAD_BYTES = 256


@dataclass(frozen=True)
class _Read:
    """How far a log was read, up to the end of a line."""

    head: bytes
    offset: int


class Cutter:
    """Moves what is new in metrics logs into a spool, a file for each topology and call.

    Parameters
    ----------
    folders : iterable of Path
        Searched at any depth for ``workers-artifacts/<topology id>/<port>/worker.log.metrics``.
    spool : Path
        Gets ``topology=<id>/<milliseconds>-<process>-<number>.lines``; made if missing.
    keep_s : float
        Pieces that nobody has read after so long are removed.
    """

    def __init__(self, folders: Iterable[Path], spool: Path, keep_s: float) -> None:
        self._folders = tuple(folders)
        self._spool = spool
        self._keep = keep_s
        self._read: dict[Path, _Read] = {}
        #: Logs that were shorter at the last look than what was read of them, and how short.
        self._short: dict[Path, int] = {}
        self._pieces = 0

    def cut(self) -> int:
        """Write pieces of what is new; return how many lines' bytes were taken.

        Raises
        ------
        InvalidInput
            The spool cannot be written. Nothing is lost: the next call takes the same lines.
        """
        new: dict[str, list[tuple[Path, _Read, bytes]]] = {}
        for path in self._logs():
            found = self._news(path)
            if found is not None:
                new.setdefault(path.parent.parent.name, []).append((path, *found))
        taken = 0
        for topology, parts in new.items():
            content = b"".join(text for _, _, text in parts)
            if content:
                self._write(topology, content)
            self._read.update({path: read for path, read, _ in parts})
            taken += len(content)
        self._forget()
        return taken

    def _logs(self) -> Iterator[Path]:
        for folder in self._folders:
            for path in sorted(folder.rglob(METRICS_LOG)):
                if path.parent.parent.parent.name == "workers-artifacts":
                    yield path

    def _news(self, path: Path) -> tuple[_Read, bytes] | None:
        """Return how far a log is read then, and the whole lines that are new, None if none are."""
        try:
            with path.open("rb") as file:
                head = file.read(_HEAD_BYTES)
                size = os.fstat(file.fileno()).st_size
                known = self._read.get(path)
                rolled = b""
                if known is not None and not head.startswith(known.head[: len(head)]):
                    rolled = _rest_of_rolled(path, known)
                    known = _Read(b"", 0)
                if known is None:
                    known = _Read(b"", max(0, size - FIRST_BYTES))
                elif size < known.offset:
                    known = self._cut_short(path, known, size)
                else:
                    self._short.pop(path, None)
                file.seek(known.offset)
                text = file.read(MOST_BYTES)
        except OSError as error:
            log.warning("%s cannot be read, its lines wait: %s", path, error.strerror or error)
            return None
        whole = text[: text.rfind(b"\n") + 1]
        if not whole and not rolled:
            return None
        read = _Read(head, known.offset + len(whole))
        if known.offset and path not in self._read:
            # It was begun in the middle of a line.
            whole = whole[whole.find(b"\n") + 1 :]
        return read, rolled + whole

    def _cut_short(self, path: Path, known: _Read, size: int) -> _Read:
        """Return where to read on in a log that is shorter than what was read of it.

        It may be a copy that is being renewed; if not, nothing of it would be read for long.
        """
        if path not in self._short:
            self._short[path] = size
            return known
        log.warning("%s was cut short, and is read on from there", path)
        return _Read(known.head, min(size, self._short[path]))

    def _write(self, topology: str, content: bytes) -> None:
        folder = self._spool / f"topology={quote(topology, safe='')}"
        self._pieces += 1
        path = folder / f"{time.time_ns() // 1_000_000}-{os.getpid()}-{self._pieces}{PIECE}"
        hidden = path.with_name(f".{path.name}")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            hidden.write_bytes(content)
            hidden.rename(path)
        except OSError as error:
            with suppress(OSError):
                hidden.unlink()
            raise InvalidInput(f"cannot be written: {error.strerror or error}", str(folder)) from (
                error
            )

    def _forget(self) -> None:
        """Remove pieces that are too old, folders of topologies without any, logs that are gone."""
        self._read = {path: read for path, read in self._read.items() if path.exists()}
        self._short = {path: size for path, size in self._short.items() if path in self._read}
        oldest = time.time() - self._keep
        for folder in self._spool.glob("topology=*"):
            with suppress(OSError):
                for piece in folder.iterdir():
                    if piece.stat().st_mtime < oldest:
                        piece.unlink()
                if not any(folder.iterdir()):
                    folder.rmdir()


def _rest_of_rolled(path: Path, known: _Read) -> bytes:
    """Return the lines of a log that was rolled away before they were read."""
    for name in (f"{path.name}.1", f"{path.name}.1.gz"):
        rolled = path.with_name(name)
        with suppress(OSError, EOFError, zlib.error):
            packed = rolled.suffix == ".gz"
            with gzip.open(rolled) if packed else rolled.open("rb") as file:
                if file.read(len(known.head)) == known.head:
                    file.seek(known.offset)
                    return file.read(MOST_BYTES)
    log.warning("%s was rolled, and its last lines are in no rolled file: they are missing", path)
    return b""
