"""A Redis server of our own: with a password, without files, gone at the end."""

from __future__ import annotations

import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stormcut.application.waiting import Watch, wait_until
from stormcut.model.errors import InvalidInput, StormcutError

#: Of served time.
START_S = 20.0


@contextmanager
def redis_server(host: str = "127.0.0.1", port: int | None = None) -> Iterator[str]:
    """Yield the `password@host:port` of a new server that keeps everything in memory.

    Parameters
    ----------
    host : str
        The one address of this machine that it listens on.
    port : int, optional
        Else one that is free.

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
    port = port or _free_port(host)
    # Whoever finds a way to the address could else command it.
    password = secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix="stormcut-redis-") as folder:
        # In a file of this user's: every user sees a process's arguments.
        config = Path(folder) / "redis.conf"
        config.write_text(f"requirepass {password}\n", encoding="utf-8")
        listen = ["--bind", host, "--port", str(port)]
        process = subprocess.Popen(
            [program, str(config), *listen, "--save", "", "--dir", folder],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            wait_until(
                lambda: _answers(process, host, port),
                START_S,
                "the Redis server answers",
                watch=Watch(processes=lambda: [process.pid]),
            )
            yield f"{password}@{host}:{port}"
        finally:
            process.terminate()
            process.wait(10)


def _answers(process: subprocess.Popen[bytes], host: str, port: int) -> bool:
    if process.poll() is not None:
        raise StormcutError(f"redis-server ended at once with code {process.returncode}")
    try:
        with socket.create_connection((host, port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(7) == b"-NOAUTH"
    except OSError:
        return False


def _free_port(host: str) -> int:
    with socket.socket() as listener:
        listener.bind((host, 0))
        return int(listener.getsockname()[1])
