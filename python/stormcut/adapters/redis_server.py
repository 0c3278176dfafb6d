"""A Redis server of our own: on loopback, without files, gone at the end."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from stormcut.adapters.nimbus import wait_until
from stormcut.model.errors import InvalidInput, StormcutError

START_S = 20.0


@contextmanager
def redis_server(port: int | None = None) -> Iterator[str]:
    """Yield the `host:port` of a new server that keeps everything in memory.

    Raises
    ------
    InvalidInput
        Redis is not installed.
    StormcutError
        It does not start.
    """
    program = shutil.which("redis-server")
    if program is None:
        raise InvalidInput("is missing (Debian: apt install redis-server)", "redis-server")
    port = port or _free_port()
    with tempfile.TemporaryDirectory(prefix="stormcut-redis-") as folder:
        process = subprocess.Popen(
            [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            wait_until(lambda: _answers(process, port), START_S, "the Redis server answers")
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(10)


def _answers(process: subprocess.Popen[bytes], port: int) -> bool:
    if process.poll() is not None:
        raise StormcutError(f"redis-server ended at once with code {process.returncode}")
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(5) == b"+PONG"
    except OSError:
        return False


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
