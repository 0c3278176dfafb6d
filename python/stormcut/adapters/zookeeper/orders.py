"""What people have told the controller, in one node: docs/protocol.md."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

from kazoo.exceptions import BadVersionError, NoAuthError, NodeExistsError, NoNodeError

from stormcut.adapters.zookeeper.blob import node_data
from stormcut.adapters.zookeeper.nodes import StormcutNodes, parsed_json
from stormcut.application.waiting import TimedOut, wait_until
from stormcut.control.orders import NO_ORDERS, UNKNOWN_ORDERS, Orders, Override
from stormcut.model.errors import InvalidInput

log = logging.getLogger(__name__)

ORDERS_VERSION = 1
_NODE = "orders"
#: The revision of the orders that the leader obeys.
_SEEN = "orders-obeyed"


def read_orders(nodes: StormcutNodes) -> Orders:
    """Return the orders in force.

    Where they cannot be used, nobody knows what people want: then nothing is moved, and the log
    says so once.
    """
    try:
        data, stat = nodes.client.get(nodes.path(_NODE))
    except NoNodeError:
        return NO_ORDERS
    except NoAuthError:
        why = f"ZooKeeper node {nodes.path(_NODE)} belongs to others"
        _warn(why)
        return replace(UNKNOWN_ORDERS, why=why)
    try:
        document = parsed_json(nodes.path(_NODE), data, "orders", ORDERS_VERSION)
        return replace(_orders(nodes, document), revision=stat.mzxid)
    except InvalidInput as error:
        _warn(str(error))
        return replace(UNKNOWN_ORDERS, why=str(error), revision=stat.mzxid)


def acknowledge(nodes: StormcutNodes, revision: int) -> None:
    """Tell people that the orders of this revision are in force."""
    path = nodes.path(_SEEN)
    nodes.client.ensure_path(path)
    nodes.set_data(path, str(revision).encode())


def await_acknowledged(nodes: StormcutNodes, revision: int, seconds: float) -> bool:
    """Wait until the leader obeys the orders of a revision; return whether it does."""
    try:
        wait_until(lambda: _seen(nodes) >= revision, seconds, "the controller obeys", poll_s=0.05)
    except TimedOut:
        return False
    return True


def _seen(nodes: StormcutNodes) -> int:
    data = node_data(nodes.client, nodes.path(_SEEN))
    return int(data) if data and data.isdigit() else 0


def change_orders(nodes: StormcutNodes, change: Callable[[Orders], Orders]) -> Orders:
    """Put changed orders in the place of those in force, and return them.

    Where another has changed them meanwhile, the change is applied to what is there then.

    Raises
    ------
    InvalidInput
        What is there is damaged, or was not written with this secret.
    """
    path = nodes.path(_NODE)
    while True:
        try:
            data, stat = nodes.client.get(path)
        except NoNodeError:
            with suppress(NodeExistsError):
                nodes.client.create(path, _content(nodes, NO_ORDERS), makepath=True)
            continue
        try:
            before = _orders(nodes, parsed_json(path, data, "orders", ORDERS_VERSION))
        except InvalidInput as error:
            raise InvalidInput(f"{error}; delete it, then `stormcut resume`", path) from error
        orders = change(before)
        try:
            written = nodes.client.set(path, _content(nodes, orders), version=stat.version)
        except (BadVersionError, NoNodeError):
            continue
        return replace(orders, revision=written.mzxid)


def _content(nodes: StormcutNodes, orders: Orders) -> bytes:
    document = {
        "version": ORDERS_VERSION,
        "paused": orders.is_paused,
        "approved": sorted(orders.approved),
        "drained": sorted(orders.drained),
        "overrides": {plan: override_json(each) for plan, each in orders.overrides.items()},
        "pauses": orders.pauses,
        "aliases": dict(orders.aliases),
        "why": orders.why,
        "approved_by": dict(orders.approved_by),
    }
    return json.dumps({**document, "hmac": nodes.seal.mark(*_marked(document))}).encode()


def _orders(nodes: StormcutNodes, document: Mapping[str, Any]) -> Orders:
    where = f"ZooKeeper node {nodes.path(_NODE)}"
    nodes.seal.check_mark(document.get("hmac"), where, *_marked(document))
    return Orders(
        document.get("paused") is True,
        frozenset(map(str, document.get("approved", ()))),
        frozenset(map(str, document.get("drained", ()))),
        {
            str(plan): override_in(each)
            for plan, each in dict(document.get("overrides", {})).items()
        },
        int(document.get("pauses", 0)),
        {str(name): str(other) for name, other in dict(document.get("aliases", {})).items()},
        str(document.get("why", "")),
        {str(plan): str(who) for plan, who in dict(document.get("approved_by", {})).items()},
    )


def override_json(override: Override) -> dict[str, Any]:
    """Return an override as JSON values."""
    guards = None if override.guards is None else sorted(override.guards)
    return {"reason": override.reason, "guards": guards, "pauses": override.pauses}


def override_in(document: Any) -> Override:
    """Return the override in JSON values; a mere reason, as once stored, passes all guards."""
    if not isinstance(document, dict):
        return Override(str(document))
    guards = document.get("guards")
    names = None if guards is None else frozenset(map(str, guards))
    return Override(str(document.get("reason")), names, int(document.get("pauses", 0)))


def _marked(document: Mapping[str, Any]) -> tuple[str, ...]:
    content = {key: value for key, value in document.items() if key != "hmac"}
    return _NODE, json.dumps(content, sort_keys=True)


@lru_cache(maxsize=64)
def _warn(error: str) -> None:
    """Log orders that are not used; cached, as the leader reads them twice a second."""
    log.warning("paused, as the orders cannot be used: %s", error)
