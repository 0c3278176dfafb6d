"""Orders to run where a topology ran before: docs/protocol.md."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError

from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.adapters.zookeeper.orders import override_in, override_json
from stormcut.control.orders import By, Undo
from stormcut.model.cluster import Slot, Worker, worker_rows
from stormcut.model.errors import InvalidInput

log = logging.getLogger(__name__)

UNDO_VERSION = 3
_KIND = "former"

Workers = tuple[Worker, ...]


def write_undo(nodes: StormcutNodes, topology: str, undo: Undo) -> None:
    """Order a topology back."""
    path = nodes.topology_path(_KIND, topology)
    nodes.client.ensure_path(path)
    nodes.set_data(path, _content(nodes, topology, undo))


def create_undo(nodes: StormcutNodes, topology: str, undo: Undo) -> bool:
    """Order a topology back unless it is ordered somewhere already; return whether it was not."""
    path = nodes.topology_path(_KIND, topology)
    nodes.client.ensure_path(nodes.path(_KIND))
    try:
        nodes.commit({}, creates={path: _content(nodes, topology, undo)})
    except NodeExistsError:
        return False
    return True


def delete_undo(nodes: StormcutNodes, topology: str, by: By | None = None) -> bool:
    """Take an order back, ``by`` None: whoever gave it; return whether there was one."""
    path = nodes.topology_path(_KIND, topology)
    try:
        version = -1
        if by is not None:
            content, stat = nodes.client.get(path)
            if not _is_by(by, content):
                return False
            version = stat.version
        nodes.client.delete(path, version=version)
    except (NoNodeError, BadVersionError):  # a person has ordered otherwise meanwhile
        return False
    return True


def read_undos(nodes: StormcutNodes) -> dict[str, Undo]:
    """Return all usable orders by topology id; one that is not usable is logged once."""
    orders = ((topology, _undo(nodes, topology)) for topology in nodes.children(_KIND))
    return {topology: order for topology, order in orders if order is not None}


def _content(nodes: StormcutNodes, topology: str, undo: Undo) -> bytes:
    document = {
        "version": UNDO_VERSION,
        "workers": worker_rows(undo.workers),
        "by": undo.by.value,
        "override": None if undo.override is None else override_json(undo.override),
        "until_s": undo.until_s,
        "who": undo.who,
    }
    mark = nodes.seal.mark(*_marked(topology, document))
    return json.dumps({**document, "hmac": mark}).encode()


def _undo(nodes: StormcutNodes, topology: str) -> Undo | None:
    name = f"{_KIND}/{topology}"
    where = f"ZooKeeper node {nodes.path(name)}"
    try:
        document = nodes.read_json(name, "an order to go back", UNDO_VERSION)
        if document is None:
            return None
        nodes.seal.check_mark(document.get("hmac"), where, *_marked(topology, document))
        override, until_s = document.get("override"), document.get("until_s")
        return Undo(
            workers_in(document.get("workers"), where),
            By(document.get("by")),
            None if override is None else override_in(override),
            None if until_s is None else float(until_s),
            str(document.get("who", "")),
        )
    except (InvalidInput, ValueError, TypeError) as error:
        _warn(str(error))
        return None


def _is_by(by: By, content: bytes) -> bool:
    try:
        document = json.loads(content)
    except ValueError:
        return False
    return isinstance(document, dict) and document.get("by") == by.value


def _marked(topology: str, document: Mapping[str, Any]) -> tuple[str, ...]:
    content = {key: value for key, value in document.items() if key != "hmac"}
    return _KIND, topology, json.dumps(content, sort_keys=True)


@lru_cache(maxsize=1024)
def _warn(error: str) -> None:
    """Log an order that is not used; cached, as the leader reads all orders twice a second."""
    log.warning("order not used: %s", error)


def workers_in(rows: Any, where: str) -> Workers:
    """Return the workers in rows of (node, port, first tasks of executors).

    Raises
    ------
    InvalidInput
        They are no such rows.
    """
    try:
        return tuple(
            Worker(Slot(str(node), int(port)), tuple(sorted(map(int, tasks))))
            for node, port, tasks in rows
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"does not name workers: {error}", where) from error
