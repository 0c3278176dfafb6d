"""The work that an option asks of every bolt for every tuple: CPU time, bytes to disk."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping
from typing import Any

#: The file is written again from its start after so many bytes.
FILE_BYTES = 8 * 2**20


class Load:
    """Spends what `rig.cpu.ms` and `rig.io.bytes` say."""

    def __init__(self, conf: Mapping[str, Any]) -> None:
        self._cpu_s = conf["rig.cpu.ms"] / 1000
        self._block = bytes(conf["rig.io.bytes"])
        # Nameless: it is gone with the process, however that ends.
        self._file = tempfile.TemporaryFile() if self._block else None  # noqa: SIM115

    def spend(self) -> None:
        """Do one tuple's work."""
        if self._cpu_s:
            # CPU time of this thread, not the clock's: a neighbour must not make the work less.
            end = time.thread_time() + self._cpu_s
            while time.thread_time() < end:
                pass
        if self._file is not None:
            if self._file.tell() >= FILE_BYTES:
                self._file.seek(0)
            self._file.write(self._block)
            self._file.flush()
            os.fdatasync(self._file.fileno())
