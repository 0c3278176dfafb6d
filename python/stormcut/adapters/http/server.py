"""A small HTTP server: one short request a connection, few connections, nothing but reading."""

from __future__ import annotations

import io
import logging
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from stormcut.adapters.http.pages import PATHS, Page, json_page
from stormcut.adapters.tls.channel import Distrusted, Role, Tls, accepted
from stormcut.model.errors import InvalidInput

log = logging.getLogger(__name__)

#: Longest that a client may take to send its request, and to take the answer.
CLIENT_SECONDS = 5.0
MAX_CLIENTS = 8
#: With TLS, whose certificates show them everything.
READERS = (Role.OPERATE, Role.VIEW)
#: How soon an order to stop is noticed at the latest.
STOP_SECONDS = 0.1


@contextmanager
def serving(
    page: Callable[[str], Page], host: str, port: int, tls: Tls | None = None
) -> Iterator[int]:
    """Answer GET and HEAD in the background until the block ends; yield the port.

    Parameters
    ----------
    page : callable
        Returns the page of a path.
    host, port : str, int
        Where to listen; port 0 takes a free one.
    tls : Tls, optional
        Clients must have a certificate of one of `READERS`.

    Raises
    ------
    InvalidInput
        The address cannot be bound.
    """
    family = _Server6 if ":" in host else _HttpServer
    try:
        server = family((host, port), _handler(page), tls)
    except OSError as error:
        what = f"cannot listen: {error.strerror or error}"
        raise InvalidInput(what, f"--http {host}:{port}") from error
    listening = threading.Thread(
        target=server.serve_forever, args=(STOP_SECONDS,), name="http-accept", daemon=True
    )
    listening.start()
    shown, bound = f"[{host}]" if ":" in host else host, int(server.server_address[1])
    scheme = "http" if tls is None else "https"
    log.info("HTTP on %s://%s:%d: %s", scheme, shown, bound, " ".join(PATHS))
    try:
        yield bound
    finally:
        server.shutdown()
        server.server_close()


class _HttpServer(ThreadingHTTPServer):
    """Has so many clients at most: one more, and the oldest of them has to go."""

    request_queue_size = 4 * MAX_CLIENTS

    def __init__(self, address: Any, handler: Any, tls: Tls | None) -> None:
        self._tls = tls
        self._seats = threading.BoundedSemaphore(MAX_CLIENTS)
        #: In the order in which they came.
        self._clients: dict[Any, None] = {}
        self._lock = threading.Lock()
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Bind without asking the name service for this machine's name, as HTTPServer would."""
        socketserver.TCPServer.server_bind(self)

    def get_request(self) -> tuple[Any, Any]:
        """Accept a connection; the handshake is left to its own thread."""
        connection, peer = super().get_request()
        if self._tls is None:
            return connection, peer
        try:
            return self._tls.server_side(connection), peer
        except InvalidInput as error:
            connection.close()
            log.warning("HTTP request from %s ignored: %s", peer[0], error)
            raise OSError(str(error)) from error

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._seats.acquire(blocking=False):
            self._dismiss_oldest()
            if not self._seats.acquire(timeout=CLIENT_SECONDS):
                self.shutdown_request(request)
                return
        with self._lock:
            self._clients[request] = None
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._leave(request)
            raise

    def _dismiss_oldest(self) -> None:
        """End a connection: its thread, which most likely waits for a request, ends with it."""
        with self._lock, suppress(StopIteration, OSError):
            oldest = next(iter(self._clients))
            # Not its own shutdown: with TLS that forgets what is encrypted before it ends.
            socket.socket.shutdown(oldest, socket.SHUT_RDWR)

    def finish_request(self, request: Any, client_address: Any) -> None:
        if self._tls is not None:
            try:
                role = accepted(request, time.monotonic() + CLIENT_SECONDS)
                if role not in READERS:
                    raise Distrusted(f"a certificate of the role {role} is shown nothing")
            except Distrusted as error:
                log.warning("HTTP request from %s ignored: %s", client_address[0], error)
                return
        super().finish_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._leave(request)

    def _leave(self, request: Any) -> None:
        with self._lock:
            self._clients.pop(request, None)
        self._seats.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.debug("request from %s not answered", client_address, exc_info=True)


class _Server6(_HttpServer):
    address_family = socket.AF_INET6


class _Received(io.RawIOBase):
    """What a client sends until a moment: a byte now and then does not put that off."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection = connection
        self._until = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request did not come in time")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


def _handler(page: Callable[[str], Page]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        # The base class speaks HTTP/1.0, so there is one request a connection.
        server_version, sys_version = "stormcut", ""

        def setup(self) -> None:
            super().setup()
            self.rfile = io.BufferedReader(_Received(self.connection, CLIENT_SECONDS))

        def do_GET(self) -> None:
            self.wfile.write(self._head().content)

        def do_HEAD(self) -> None:
            self._head()

        def _head(self) -> Page:
            try:
                answer = page(self.path)
            except Exception:
                log.exception("no answer to %r: a bug in stormcut", self.path)
                answer = json_page(500, {"reason": "internal error, see the brain's log"})
            self.connection.settimeout(CLIENT_SECONDS)
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(answer.content)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            return answer

        def log_message(self, format: str, *args: Any) -> None:
            log.debug(format, *args)

    return Handler
