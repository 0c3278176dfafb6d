"""One process of this machine at a time holds a mark."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO

#: In a folder: Spark and the cutter ignore names that begin with a dot.
MARK = ".in-use"


def taken(mark: Path) -> IO[str] | None:
    """Return an open file that this process alone holds, None if another process holds it.

    The kernel releases it when it is closed, or when the process ends, however that happens.
    """
    # For reading: a file open for writing would keep its disk from being made read-only.
    file = os.fdopen(os.open(mark, os.O_RDONLY | os.O_CREAT, 0o644))
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file
