"""The machine's own time, and names that no other has."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable


class SystemClock:
    """`Clock` of this machine."""

    def now(self) -> float:
        """Return the seconds since the epoch."""
        return time.time()

    def elapsed(self) -> float:
        """Return the seconds since some moment."""
        return time.monotonic()

    def wait(
        self, condition: threading.Condition, until: Callable[[], bool], seconds: float
    ) -> None:
        """Wait with a condition that the caller holds."""
        condition.wait_for(until, seconds)


def new_id() -> str:
    """Return a random name of 32 hexadecimal digits."""
    return uuid.uuid4().hex
