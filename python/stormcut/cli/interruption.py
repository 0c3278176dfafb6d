"""Termination signals that clean up as Ctrl-C does."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn, TypeVar

import psutil

T = TypeVar("T")


@contextmanager
def interruptible() -> Iterator[None]:
    """Let a termination signal or a closed terminal clean up as Ctrl-C does.

    Raises
    ------
    KeyboardInterrupt
        One came, whatever the block made of it: what it calls may turn an interrupt into an error
        of its own, or lose it.
    """
    came = False

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        nonlocal came
        came = True
        raise KeyboardInterrupt

    signals = (signal.SIGTERM, signal.SIGHUP)
    previous = {number: signal.signal(number, interrupt) for number in signals}
    try:
        yield
    except Exception as error:
        if came:
            raise KeyboardInterrupt from error
        raise
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt


def uninterrupted(work: Callable[[], T]) -> T:
    """Return what ``work`` returns, run where no signal breaks in.

    Spark's side in Python, broken off in the middle of a call, goes on with errors of its own. So
    an interrupt ends the processes that ``work`` has started, which makes it fail and clean up;
    nothing is logged any more.
    """
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work)
        try:
            return done.result()
        except KeyboardInterrupt:
            logging.disable()  # what fails now fails because of this
            while wait([done], 0.05).not_done:
                for child in psutil.Process().children(recursive=True):
                    with suppress(psutil.NoSuchProcess):
                        child.kill()
            raise
