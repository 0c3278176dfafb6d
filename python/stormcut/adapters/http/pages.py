"""What a brain answers over HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest

from stormcut.adapters.http.counters import Counters
from stormcut.adapters.http.gauges import Gauges
from stormcut.adapters.http.view import View

PATHS = ("/metrics", "/healthz", "/readyz", "/status")


@dataclass(frozen=True)
class Page:
    """An answer; ``kind`` is its media type."""

    status: int
    kind: str
    content: bytes


class Pages:
    """The pages of one brain.

    Parameters
    ----------
    counters : Counters
        Its registry gets the gauges, too.
    """

    def __init__(self, view: View, counters: Counters) -> None:
        self._view = view
        self._registry: CollectorRegistry = counters.registry
        self._registry.register(Gauges(view))

    def at(self, path: str) -> Page:
        """Return the page of a path, of which a query is ignored."""
        match path.partition("?")[0]:
            case "/metrics":
                return Page(200, CONTENT_TYPE_PLAIN_0_0_4, generate_latest(self._registry))
            case "/healthz":
                return json_page(200, {"alive": True})
            case "/readyz":
                return self._ready()
            case "/status":
                return json_page(200, self._view.status())
            case _:
                return json_page(404, {"reason": "no such page", "pages": PATHS})

    def _ready(self) -> Page:
        trouble = self._view.trouble()
        document = {"ready": trouble is None, "leads": self._view.leads, "reason": trouble}
        return json_page(503 if trouble else 200, document)


def json_page(status: int, document: Mapping[str, Any]) -> Page:
    """Return a document as a page."""
    return Page(status, "application/json", json.dumps(document).encode() + b"\n")
