"""One process of this machine at a time uses a folder."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO

#: Spark and the cutter pass over names that begin with a dot.
MARK = ".in-use"


def taken(folder: Path) -> IO[str] | None:
    """Return a mark by which a folder is this process's, None if it is another's.

    The kernel takes it back when the mark is closed, or the process ends, however that happens.
    """
    mark = (folder / MARK).open("w")
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        mark.close()
        return None
    return mark
