"""Cuts growing metrics logs into closed pieces: Spark's file stream never sees a file grow.

A log is known by its path and its first bytes, not by its inode: a copy that rsync renews is the
same log. When the first bytes change, log4j has rolled it: what was not read yet is looked for in
the rolled file.
"""

from __future__ import annotations

import errno
import gzip
import logging
import os
import stat
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from stormcut.adapters.files.metrics_logs import METRICS_LOG, metrics_logs
from stormcut.model.errors import InvalidInput

log = logging.getLogger(__name__)

PIECE = ".lines"

#: So much of a log that is met for the first time is read: what is older counts for little.
FIRST_BYTES = 4 << 20
#: Most that is taken from one log at a time.
MAX_BYTES = 32 << 20
#: A folder that has had no log for so long is warned of.
EMPTY_SECONDS = 60.0
#: One that nothing was written to for so long is not read but from its end on.
FIRST_SECONDS = 3600.0
#: A piece is written once it has so many bytes: memory does not grow with the number of logs.
PIECE_BYTES = 16 << 20
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
        Searched for metrics logs, see `metrics_logs`.
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
        #: Folders without any log, and since when; below 0 once that was said.
        self._empty: dict[Path, float] = {}
        #: Logs that cannot be read, and why.
        self._unread: dict[Path, str] = {}
        self._pieces = 0

    def cut(self) -> int:
        """Write pieces of what is new; return how many lines' bytes were taken.

        Raises
        ------
        InvalidInput
            The spool cannot be written. Nothing is lost: the next call takes the same lines.
        """
        taken = 0
        logs = sorted(self._logs(), key=lambda path: (_topology_of(path), path))
        for topology, paths in groupby(logs, _topology_of):
            batch: list[tuple[Path, _Read, bytes]] = []
            for path in paths:
                news = self._news(path)
                if news is not None:
                    batch.append((path, *news))
                if sum(len(text) for _, _, text in batch) >= PIECE_BYTES:
                    taken += self._take(topology, batch)
                    batch = []
            taken += self._take(topology, batch)
        self._forget()
        return taken

    def _take(self, topology: str, batch: list[tuple[Path, _Read, bytes]]) -> int:
        """Write a piece of what is new in some logs, and take note of how far they are read."""
        content = b"".join(text for _, _, text in batch)
        if content:
            self._write(topology, content)
        self._read.update({path: read for path, read, _ in batch})
        return len(content)

    def _logs(self) -> Iterator[Path]:
        for folder in self._folders:
            logs = [path for path in metrics_logs(folder) if path.name == METRICS_LOG]
            self._note(folder, bool(logs))
            yield from logs

    def _note(self, folder: Path, has_logs: bool) -> None:
        """Log, once, that a folder has had no metrics log for so long."""
        if has_logs:
            self._empty.pop(folder, None)
            return
        since = self._empty.setdefault(folder, time.monotonic())
        if since >= 0 and time.monotonic() - since > EMPTY_SECONDS:
            log.warning(
                "%s holds no <topology id>/<port>/%s: nothing of it is measured. Is it "
                "storm.log.dir, and is LoggingMetricsConsumer registered?",
                folder,
                METRICS_LOG,
            )
            self._empty[folder] = -1.0

    def _news(self, path: Path) -> tuple[_Read, bytes] | None:
        """Return how far a log is read then, and the whole lines that are new, None if none are."""
        try:
            with _opened(path) as file:
                head = file.read(_HEAD_BYTES)
                status = os.fstat(file.fileno())
                size = status.st_size
                known = self._read.get(path)
                rolled = b""
                if known is not None and not head.startswith(known.head[: len(head)]):
                    rolled = _rest_of_rolled(path, known)
                    known = _Read(b"", 0)
                if known is None:
                    is_old = time.time() - status.st_mtime > FIRST_SECONDS
                    known = _Read(b"", size if is_old else max(0, size - FIRST_BYTES))
                elif size < known.offset:
                    known = self._cut_short(path, known, size)
                else:
                    self._short.pop(path, None)
                file.seek(known.offset)
                text = file.read(MAX_BYTES)
        except OSError as error:
            self._warn(path, error.strerror or str(error))
            return None
        whole = text[: text.rfind(b"\n") + 1]
        if not whole and not rolled:
            return None
        read = _Read(head, known.offset + len(whole))
        if 0 < known.offset < size and path not in self._read:
            # It was begun in the middle of a line.
            whole = whole[whole.find(b"\n") + 1 :]
        return read, rolled + whole

    def _warn(self, path: Path, why: str) -> None:
        """Log why a log is not read, once."""
        if self._unread.get(path) != why:
            log.warning("%s cannot be read, its lines wait: %s", path, why)
        self._unread[path] = why

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
            # What workers log is not for every user of this machine.
            self._spool.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(exist_ok=True)
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
        self._unread = {path: why for path, why in self._unread.items() if path.exists()}
        oldest = time.time() - self._keep
        for folder in self._spool.glob("topology=*"):
            with suppress(OSError):
                for piece in folder.iterdir():
                    if piece.stat().st_mtime < oldest:
                        piece.unlink()
                if not any(folder.iterdir()):
                    folder.rmdir()


#: At the end of a log it shows whether the hook writes to it: tasks report every 10 s.
_TAIL_BYTES = 1 << 20
_HOOK_NAME = b"\tstormcut\t"


def hooked_logs(folders: Iterable[Path], topology: str) -> tuple[int, int]:
    """Return how many metrics logs of a topology there are, and in how many the hook has written.

    Of many logs of a topology the first 16 are looked at.
    """
    paths = (path for folder in folders for path in metrics_logs(folder))
    logs = [p for p in sorted(paths) if p.name == METRICS_LOG and _topology_of(p) == topology][:16]
    return len(logs), sum(map(_has_hook, logs))


def _has_hook(path: Path) -> bool:
    try:
        with _opened(path) as file:
            file.seek(max(os.fstat(file.fileno()).st_size - _TAIL_BYTES, 0))
            return any(_HOOK_NAME in b"\t".join(line.split()) for line in file)
    except OSError:
        return False


def _topology_of(path: Path) -> str:
    return path.parent.parent.name


def _opened(path: Path) -> BinaryIO:
    """Open a regular file: no link in its place is followed, no FIFO waited for.

    Raises
    ------
    OSError
        It cannot be opened, or is not a regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is not a regular file")
    return os.fdopen(descriptor, "rb")


def _rest_of_rolled(path: Path, known: _Read) -> bytes:
    """Return the lines of a log that was rolled away before they were read."""
    for name in (f"{path.name}.1", f"{path.name}.1.gz"):
        rolled = path.with_name(name)
        with suppress(OSError, EOFError, zlib.error):
            packed = rolled.suffix == ".gz"
            with _opened(rolled) as plain, gzip.open(plain) if packed else plain as file:
                if file.read(len(known.head)) == known.head:
                    file.seek(known.offset)
                    return file.read(MAX_BYTES)
    log.warning("%s was rolled, and its last lines are in no rolled file: they are missing", path)
    return b""
