"""A server of objects, as a cloud has one: each takes its time, and each client has a limit."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

#: Of an object; more is a slip of the keyboard.
MAX_BYTES = 64 * 2**20


class Turns:
    """When each client is served next, if only so many of its requests are a second."""

    def __init__(self) -> None:
        self._next: dict[str, float] = {}
        self._lock = threading.Lock()

    def wait_s(self, client: str, per_second: float, now: float) -> float:
        """Take a client's next turn; return how long it must wait for it, 0 without a limit."""
        if per_second <= 0:
            return 0.0
        with self._lock:
            turn = max(now, self._next.get(client, now))
            self._next[client] = turn + 1 / per_second
            return turn - now


class _BlobHandler(BaseHTTPRequestHandler):
    """Answers ``GET /NAME?bytes=B&delay_ms=D&per_second=R`` with B bytes."""

    # Connections are kept.
    protocol_version = "HTTP/1.1"
    # Head and body are written apart: together they would wait for an acknowledgement.
    disable_nagle_algorithm = True
    server: _BlobServer

    def do_GET(self) -> None:
        """Serve an object after its delay, in its client's turn."""
        query = {key: values[-1] for key, values in parse_qs(urlsplit(self.path).query).items()}
        try:
            length = int(query["bytes"])
            delay_s = float(query.get("delay_ms", 0)) / 1000
            limit = float(query.get("per_second", 0))
        except (KeyError, ValueError):
            self.send_error(400, "needs numbers bytes, delay_ms and per_second")
            return
        if not 0 <= length <= MAX_BYTES:
            self.send_error(400, f"bytes must be from 0 to {MAX_BYTES}")
            return
        client = self.headers.get("X-Client", self.client_address[0])
        time.sleep(delay_s + self.server.turns.wait_s(client, limit, time.monotonic()))
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(bytes(length))

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing of each request."""


class _BlobServer(ThreadingHTTPServer):
    # As many connect at once as there are threads of a task.
    request_queue_size = 256
    daemon_threads = True

    def __init__(self, host: str, port: int) -> None:
        super().__init__((host, port), _BlobHandler)
        self.turns = Turns()


@contextmanager
def blob_server(host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Yield the ``host:port`` of a server that runs as long as the block.

    Parameters
    ----------
    host : str
        The one address of this machine that it listens on.
    port : int
        0: any free one.
    """
    with _BlobServer(host, port) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"{host}:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
