"""Where topologies ran before a plan moved them: in the history, and in orders to go back."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any

from kazoo.exceptions import NodeExistsError, NoNodeError

from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.model.cluster import Slot, Worker
from stormcut.model.errors import InvalidInput

log = logging.getLogger(__name__)

FORMER_VERSION = 2
_KIND = "former"

Workers = tuple[Worker, ...]


class By(Enum):
    """Who ordered a topology back."""

    PERSON = "person"
    CONTROLLER = "controller"


def write_former(nodes: StormcutNodes, topology: str, workers: Workers, by: By = By.PERSON) -> None:
    """Order that a topology shall run on these workers again."""
    path = nodes.topology_path(_KIND, topology)
    rows = [[w.slot.node, w.slot.port, list(w.executors)] for w in workers]
    mark = nodes.seal.mark(*_marked(topology, rows))
    document = {"version": FORMER_VERSION, "workers": rows, "hmac": mark, "by": by.value}
    content = json.dumps(document).encode()
    try:
        nodes.client.create(path, content, makepath=True)
    except NodeExistsError:
        nodes.client.set(path, content)


def delete_former(nodes: StormcutNodes, topology: str, by: By | None = None) -> bool:
    """Take an order back, ``by`` None: whoever gave it; return whether there was one."""
    path = nodes.topology_path(_KIND, topology)
    try:
        if by is not None and not _is_by(by, nodes.client.get(path)[0]):
            return False
        nodes.client.delete(path)
    except NoNodeError:
        return False
    return True


def read_former(nodes: StormcutNodes) -> dict[str, Workers]:
    """Return all usable orders by topology id; one that is not usable is logged once."""
    orders = ((topology, _order(nodes, topology)) for topology in nodes.children(_KIND))
    return {topology: order for topology, order in orders if order is not None}


def _order(nodes: StormcutNodes, topology: str) -> Workers | None:
    name = f"{_KIND}/{topology}"
    where = f"ZooKeeper node {nodes.path(name)}"
    try:
        document = nodes.read_json(name, "an order to go back", FORMER_VERSION)
        if document is None:
            return None
        rows = document.get("workers")
        nodes.seal.check_mark(document.get("hmac"), where, *_marked(topology, rows))
        return former_workers(rows, where)
    except InvalidInput as error:
        _warn(str(error))
        return None


def _is_by(by: By, content: bytes) -> bool:
    try:
        document = json.loads(content)
    except ValueError:
        return False
    return isinstance(document, dict) and document.get("by") == by.value


def _marked(topology: str, rows: object) -> tuple[str, ...]:
    return _KIND, topology, json.dumps(rows)


@lru_cache(maxsize=1024)
def _warn(error: str) -> None:
    """Log an order that is not used; cached, as the leader reads all orders twice a second."""
    log.warning("order not used: %s", error)


def former_workers(rows: Any, where: str) -> Workers:
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


def last_move(entries: Iterable[Mapping[str, Any]], topology: str) -> tuple[str, Workers]:
    """Return the id of the topology that a plan moved last while it ran, and where it was before.

    Parameters
    ----------
    entries : iterable
        The history, newest first.
    topology : str
        Its id, or its name: then the newest topology of that name.

    Raises
    ------
    InvalidInput
        No plan in the history has moved it.
    """
    newest = ""
    for entry in entries:
        for line in entry["topologies"]:
            if topology not in (line["topology"], line["topology"].rsplit("-", 2)[0]):
                continue
            newest = newest or line["topology"]
            if line["topology"] == newest and line.get("former"):
                return newest, former_workers(line["former"], "history")
    what = (
        "no plan has moved it while it ran: there is nothing to undo"
        if newest
        else "no plan names a topology of this id or name; `stormcut history` shows all"
    )
    raise InvalidInput(what, topology)
