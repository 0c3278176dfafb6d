"""Components that write down every tuple: what was sent, what has arrived, what was acked.

A line is in its file before the tuple goes on, and outlives the process that wrote it.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from streamparse import Bolt, Spout

#: After so long a failed tuple is sent again.
RETRY_S = 1.0
IDLE_S = 0.01


class Book:
    """A file to which lines are added, at once."""

    def __init__(self, conf: Mapping[str, Any], name: str) -> None:
        folder = Path(conf["ledger.folder"])
        folder.mkdir(parents=True, exist_ok=True)
        self._file = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def add(self, line: str) -> None:
        """Add a line."""
        os.write(self._file, f"{line}\n".encode())


class Source(Spout):
    """Sends numbered tuples, each until it is acked, also those of its processes that ended."""

    outputs: ClassVar = ["number"]

    def initialize(self, storm_conf: Mapping[str, Any], context: Mapping[str, Any]) -> None:
        """Look up in the books what is still to be acked."""
        sent, acked, again = (f"{name}-{self.task_id}" for name in ("sent", "acked", "again"))
        self._sent, self._acked, self._again = (
            Book(storm_conf, each) for each in (sent, acked, again)
        )
        folder = Path(storm_conf["ledger.folder"])
        known = set((folder / acked).read_text().split())
        left = [each for each in (folder / sent).read_text().split() if each not in known]
        self._due = deque((0.0, each) for each in left)
        # No number is used twice, wherever the books of the process before are.
        self._born = f"{self.task_id}-{time.time_ns()}"
        self._count = 0
        self._pause_s = 1 / storm_conf["ledger.rate"]
        self._next = time.monotonic()

    def next_tuple(self) -> None:
        """Send what failed, or what is new."""
        now = time.monotonic()
        if self._due and self._due[0][0] <= now:
            _, number = self._due.popleft()
            self._again.add(number)
            self.emit([number], tup_id=number)
        elif self._next <= now:
            self._next = max(self._next + self._pause_s, now - 1)
            number = f"{self._born}-{self._count}"
            self._count += 1
            self._sent.add(number)
            self.emit([number], tup_id=number)
        else:
            time.sleep(IDLE_S)

    def ack(self, tup_id: str) -> None:
        """Write it down."""
        self._acked.add(tup_id)

    def fail(self, tup_id: str) -> None:
        """Send it again."""
        self._due.append((time.monotonic() + RETRY_S, tup_id))


class Pass(Bolt):
    """Hands tuples on."""

    outputs: ClassVar = ["number"]

    def process(self, tup: Any) -> None:
        """Hand it on."""
        self.emit([tup.values[0]])


class Sink(Bolt):
    """Writes down what arrives, before it is acked."""

    def initialize(self, conf: Mapping[str, Any], ctx: Mapping[str, Any]) -> None:
        """Open the book."""
        self._arrived = Book(conf, f"arrived-{self.task_id}")

    def process(self, tup: Any) -> None:
        """Write it down."""
        self._arrived.add(tup.values[0])
