"""One process at a time starts, changes or ends a cluster, and finishes ending it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from stormcut.adapters.machine.sole_use import taken
from stormcut.model.errors import InvalidInput


class Lockable(Protocol):
    """A cluster's paths, as far as a lock needs them."""

    name: str
    clusters: Path
    lock_file: Path


@contextmanager
def exclusive(layout: Lockable) -> Iterator[None]:
    """Hold the cluster's lock, which the system releases should this process die.

    Raises
    ------
    InvalidInput
        Another process holds it.
    """
    layout.clusters.mkdir(parents=True, exist_ok=True)
    held = taken(layout.lock_file)
    if held is None:
        raise InvalidInput(
            "another process is starting or ending it: wait for that, then try again",
            f"cluster {layout.name}",
        )
    with held:
        yield


@contextmanager
def signals_ignored() -> Iterator[None]:
    """Let no second Ctrl-C cut a clean-up short; clean-ups have their own time limits."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ignored = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    previous = {number: signal.signal(number, signal.SIG_IGN) for number in ignored}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
