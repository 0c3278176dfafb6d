"""What people tell the controller, in a real ZooKeeper."""

from __future__ import annotations

import json
import threading
import uuid
from dataclasses import replace

import pytest

from stormcut.adapters.zookeeper.client import connected, read_auth_file
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.adapters.zookeeper.orders import change_orders, read_orders
from stormcut.control.orders import NO_ORDERS, Orders
from stormcut.model.errors import InvalidInput

pytestmark = pytest.mark.cluster


@pytest.fixture
def nodes(zookeeper, auth_file):
    with connected(zookeeper, read_auth_file(auth_file)) as client:
        nodes = StormcutNodes(client, f"/test-{uuid.uuid4().hex}")
        nodes.secure()
        yield nodes


def test_none_is_none_and_what_is_ordered_is_read(nodes):
    assert read_orders(nodes) == NO_ORDERS
    wanted = Orders(True, frozenset({"3f2a91c0"}), frozenset({"node-7", "knoten ü"}))
    assert change_orders(nodes, lambda _: wanted) == wanted
    assert read_orders(nodes) == wanted


def test_nobodys_change_is_lost(nodes):
    def drain(number):
        change_orders(nodes, lambda o: replace(o, drained=o.drained | {f"n{number}"}))

    threads = [threading.Thread(target=drain, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read_orders(nodes).drained == {f"n{number}" for number in range(12)}


@pytest.mark.parametrize(
    "damage",
    [
        lambda document: document | {"paused": False},
        lambda document: document | {"hmac": "0" * 64},
        lambda document: document | {"version": 2},
        lambda document: {"version": 1},
        lambda document: [],
    ],
)
def test_orders_that_cannot_be_used_mean_pause(nodes, damage):
    change_orders(nodes, lambda orders: replace(orders, is_paused=True))
    path = nodes.path("orders")
    document = json.loads(nodes.client.get(path)[0])
    nodes.client.set(path, json.dumps(damage(document)).encode())
    found = read_orders(nodes)
    assert found.is_paused and found.why.startswith("ZooKeeper node")
    # No override knows the pause that begins here.
    assert found.pauses < 0
    with pytest.raises(InvalidInput):
        change_orders(nodes, lambda orders: replace(orders, is_paused=False))
    nodes.client.set(path, b"\xff\x00")
    assert read_orders(nodes).is_paused
