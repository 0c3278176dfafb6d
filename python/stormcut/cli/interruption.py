"""Termination signals that clean up as Ctrl-C does."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TypeVar

T = TypeVar("T")

TERMINATING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: For so long after an interrupt further signals do nothing: they must not cut its clean-up short.
IMPATIENT_S = 1.0


@contextmanager
def interruptible(undo: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Let a termination signal or a closed terminal clean up as Ctrl-C does.

    Signals that are ignored stay ignored, as under ``nohup``. After an interrupt all are: what
    follows is the end of this process.

    Parameters
    ----------
    undo : callable, optional
        Takes back what the block did if it ran to its end although a signal came: Python drops an
        interrupt that comes while an object is being destroyed.

    Raises
    ------
    KeyboardInterrupt
        One came, whatever the block made of it: what it calls may turn an interrupt into an error
        of its own, or lose it.
    """
    came = 0.0

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal came
        now = time.monotonic()
        if now - came > IMPATIENT_S:
            came = now
            raise KeyboardInterrupt

    heeded = [each for each in TERMINATING if signal.getsignal(each) != signal.SIG_IGN]
    previous = {number: signal.signal(number, interrupt) for number in heeded}
    try:
        yield
    except Exception as error:
        if came:
            raise KeyboardInterrupt from error
        raise
    finally:
        if came:
            ignore_signals()
        else:
            for number, handler in previous.items():
                signal.signal(number, handler)
    if came:
        undo()
        raise KeyboardInterrupt


def ignore_signals() -> None:
    """Ignore termination signals until this process exits.

    As Python exits it restores the system's handlers: a late signal would kill the process, and
    scripts would see a crash in place of the exit code.
    """
    for number in TERMINATING:
        signal.signal(number, signal.SIG_IGN)


def uninterrupted(work: Callable[[Callable[[], None]], T]) -> T:
    """Return what ``work`` returns, run where no signal breaks in.

    Spark's side in Python, broken off in the middle of a call, goes on with errors of its own. So
    a signal is held back until ``work`` has ended; meanwhile the processes that it has started are
    killed, which makes it fail and clean up, and nothing is logged any more. Where it can stop by
    itself it calls what it is given: that raises KeyboardInterrupt after a signal.
    """
    # Slow to import, and the command line must start at once.
    from concurrent.futures import ThreadPoolExecutor, wait

    came: list[int] = []

    def check() -> None:
        if came:
            raise KeyboardInterrupt

    handlers = {n: h for n in TERMINATING if callable(h := signal.getsignal(n))}
    with ThreadPoolExecutor(1) as pool:
        try:
            for number in handlers:
                signal.signal(number, lambda number, frame: came.append(number))
            done = pool.submit(work, check)
            while wait([done], 0.05).not_done:
                if came:
                    logging.disable()  # what fails now fails because of this
                    _kill_children()
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
    if came:
        signal.raise_signal(came[0])
    return done.result()


def _kill_children() -> None:
    import psutil

    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            child.kill()


def stop_signals() -> Callable[[float], bool]:
    """Take SIGTERM and SIGINT for an order to stop, in the main thread.

    Returns
    -------
    callable
        ``stopped(seconds)``: waits so long for the order, and tells whether it came.

    Notes
    -----
    The handler takes no lock. An Event does: a handler that sets one waits for ever if the signal
    comes at the moment in which the main thread, waiting for that event, holds its lock.
    """
    came: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: came.append(number))

    def stopped(seconds: float) -> bool:
        if not came:
            time.sleep(seconds)
        return bool(came)

    return stopped
