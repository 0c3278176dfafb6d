"""Runs native code in a process of its own: its crash or hang is an error here, and no more.

METIS and the solvers end the process on some inputs, or never return. One server process is kept
for all calls, because starting it takes about half a second; it is replaced when it fails.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from typing import ParamSpec, TypeVar

from stormcut.model.errors import StormcutError

P = ParamSpec("P")
R = TypeVar("R")

#: The server ends itself this long after the caller gave up, should that one be gone.
GRACE_SECONDS = 5.0


class NativeFailure(StormcutError):
    """Native code crashed, or did not answer in time."""


def call(function: Callable[P, R], seconds: float, *args: P.args, **kwargs: P.kwargs) -> R:
    """Return ``function(*args, **kwargs)``, computed in the server process.

    Parameters
    ----------
    function : callable
        Found by its module and name; arguments and result are pickled.
    seconds : float
        Time after which it is ended.

    Raises
    ------
    NativeFailure
        The process crashed or took too long. What ``function`` itself raises passes through.
    """
    with _lock:
        return _server().call(function, seconds, args, kwargs)


class _NativeServer:
    """The process and the caller's end of the pipe to it."""

    def __init__(self) -> None:
        self.pipe, other = Pipe()
        with other:
            self.process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(other.fileno())],
                pass_fds=(other.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                # A Ctrl-C at the terminal is for the caller, who then ends this process.
                start_new_session=True,
            )
        self.owner = os.getpid()

    def usable(self) -> bool:
        return self.owner == os.getpid() and self.process.poll() is None

    def call(self, function: Callable[..., R], seconds: float, args: object, kwargs: object) -> R:
        try:
            self.pipe.send((function, seconds, args, kwargs))
            if not self.pipe.poll(seconds):
                raise NativeFailure(f"{function.__name__} gave no answer within {seconds:g} s")
            error, result = self.pipe.recv()
        except (EOFError, ConnectionError):
            self.end()
            raise NativeFailure(
                f"{function.__name__} crashed ({_ending(self.process.returncode)})"
            ) from None
        except BaseException:  # a Ctrl-C too: the answer of an abandoned call must not be read
            self.end()
            raise
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]

    def end(self) -> None:
        self.pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(0.2)  # closing the pipe ends an idle server, a crash has ended it
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


_lock = threading.Lock()
_running: _NativeServer | None = None


def _server() -> _NativeServer:
    global _running
    if _running is None or not _running.usable():
        _running = _NativeServer()
    return _running


def _ending(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _serve(pipe: Connection) -> None:
    """Answer calls until the caller closes the pipe."""
    while True:
        try:
            function, seconds, args, kwargs = pipe.recv()
        except EOFError:
            return
        # The signal's default action ends the process even while native code runs.
        signal.setitimer(signal.ITIMER_REAL, seconds + GRACE_SECONDS)
        try:
            answer = pickle.dumps((None, function(*args, **kwargs)))
        except Exception as error:
            answer = pickle.dumps((error, None))
        signal.setitimer(signal.ITIMER_REAL, 0)
        pipe.send_bytes(answer)


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    _serve(Connection(int(sys.argv[1])))
