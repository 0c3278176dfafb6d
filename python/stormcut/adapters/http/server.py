"""A small HTTP server on loopback: it reads, and changes nothing."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import socket
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from stormcut.model.errors import InvalidInput, StormcutError

log = logging.getLogger("stormcut.http")

#: Longest that a client may take to ask, and to take the answer.
CLIENT_SECONDS = 5.0
MAX_CLIENTS = 16

JSON = "application/json"
Answer = tuple[int, str, bytes]


class Pages:
    """What is answered.

    Parameters
    ----------
    collector : Collector
        Of ``/metrics``.
    trouble : callable
        Why this process is not ready, None if it is.
    status : callable
        The document of ``/status``; raises StormcutError if there is none now.
    """

    def __init__(
        self,
        collector: Collector,
        trouble: Callable[[], str | None],
        status: Callable[[], Mapping[str, Any]],
    ) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(collector)
        self._trouble, self._status = trouble, status

    def answer(self, path: str) -> Answer:
        """Return the status, the content's type and the content of a page."""
        match path.partition("?")[0]:
            case "/metrics":
                return 200, CONTENT_TYPE_LATEST, generate_latest(self._registry)
            case "/healthz":
                return _json(200, {"alive": True})
            case "/readyz":
                trouble = self._trouble()
                return _json(503 if trouble else 200, {"ready": not trouble, "reason": trouble})
            case "/status":
                try:
                    return _json(200, self._status())
                except StormcutError as error:
                    return _json(503, {"reason": str(error)})
            case _:
                pages = ["/metrics", "/healthz", "/readyz", "/status"]
                return _json(404, {"reason": "no such page", "pages": pages})


def _json(status: int, document: Mapping[str, Any]) -> Answer:
    return status, JSON, json.dumps(document).encode()


@contextmanager
def serving(pages: Pages, host: str, port: int) -> Iterator[int]:
    """Serve in the background until the block ends; yield the port.

    Raises
    ------
    InvalidInput
        The address cannot be bound.
    """
    try:
        server = _Server((host, port), _handler(pages))
    except OSError as error:
        what = f"cannot listen: {error.strerror or error}"
        raise InvalidInput(what, f"http {host}:{port}") from error
    thread = threading.Thread(target=server.serve_forever, name="http", daemon=True)
    thread.start()
    log.info("http://%s:%d/metrics, /healthz, /readyz, /status", host, server.server_port)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._seats = threading.BoundedSemaphore(MAX_CLIENTS)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._seats.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._seats.release()

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: Any) -> None:
        log.debug("request from %s not answered", client_address, exc_info=True)


def _handler(pages: Pages) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = CLIENT_SECONDS
        server_version = "stormcut"
        sys_version = ""

        def do_GET(self) -> None:
            try:
                status, kind, content = pages.answer(self.path)
            except Exception:
                log.exception("no answer to %r: a bug in stormcut", self.path)
                status, kind, content = _json(500, {"reason": "internal error, see the log"})
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            log.debug(format, *args)

    return Handler
