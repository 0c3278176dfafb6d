"""Time as some processes had it: while they queue for a core, it stands still.

On a machine that is busy with other work, or at a low priority, everything takes longer, however
healthy it is. Linux tells of every thread for how long it ran and for how long it was ready to run
but had no core; a patience in served seconds stretches by just that share.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

#: Process ids.
Processes = Callable[[], Iterable[int]]

#: (ran, queued) nanoseconds of each thread, by thread id.
Threads = dict[int, tuple[int, int]]

#: Looking at some hundred threads takes milliseconds: not at every poll.
LOOK_S = 1.0
#: Threads that asked for less than this share of a core say nothing about the machine.
IDLE = 0.005
#: Who gets less than this share of what it asks for is treated as if it got so much: any patience
#: ends.
MIN_SHARE = 0.01


def this_process() -> list[int]:
    """Return this process's id."""
    return [os.getpid()]


class ServedTime:
    """Seconds since the start, without the share in which the processes queued for a core.

    Where the kernel does not tell (``/proc/<pid>/task/<tid>/schedstat``), it is wall time.

    Parameters
    ----------
    processes : callable
        Asked again at each look: they come and go.
    """

    def __init__(self, processes: Processes = this_process) -> None:
        self._processes = processes
        self._threads = _threads(processes())
        self._looked = time.monotonic()
        self._served = 0.0
        self._share = 1.0

    @property
    def seconds(self) -> float:
        """Served seconds; between two looks at the share of the last."""
        now = time.monotonic()
        passed = now - self._looked
        if passed < LOOK_S:
            return self._served + passed * self._share
        threads = _threads(self._processes())
        self._share = _share(self._threads, threads, passed)
        self._threads, self._looked = threads, now
        self._served += passed * self._share
        return self._served


def _share(before: Threads, after: Threads, passed: float) -> float:
    """Return which part of the time that threads wanted to run they ran."""
    both = before.keys() & after.keys()
    ran, queued = (sum(after[tid][k] - before[tid][k] for tid in both) / 1e9 for k in (0, 1))
    if ran + queued < IDLE * passed:
        return 1.0
    return max(ran / (ran + queued), MIN_SHARE)


def _threads(processes: Iterable[int]) -> Threads:
    threads: Threads = {}
    for process in processes:
        # It ends whenever it likes, and so do its threads.
        with suppress(OSError):
            for thread in Path(f"/proc/{process}/task").iterdir():
                with suppress(OSError, ValueError):
                    schedule = (thread / "schedstat").read_text(encoding="ascii")
                    ran, queued, _ = map(int, schedule.split())
                    threads[int(thread.name)] = ran, queued
    return threads
