"""Whatever stormcut's nodes in ZooKeeper hold, who reads them goes on, with the others."""

from __future__ import annotations

import json
import logging
import random
import uuid
from collections.abc import Callable
from contextlib import suppress

import pytest
from brain_clusters import dealt, profile_of, topology
from click.testing import CliRunner
from damage import damaged, little_memory, little_time, messages

from stormcut.adapters.files.profile_file import format_profile
from stormcut.adapters.storm.valve import NimbusValve
from stormcut.adapters.thrift.values import encode_plan
from stormcut.adapters.zookeeper.blob import write_blob
from stormcut.adapters.zookeeper.client import connected, read_auth_file
from stormcut.adapters.zookeeper.leader import leaders_client
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.adapters.zookeeper.orders import change_orders, read_orders
from stormcut.adapters.zookeeper.reviews import read_reviews, write_reviews
from stormcut.adapters.zookeeper.store import ZooKeeperStore
from stormcut.adapters.zookeeper.trails import append_step, read_trail
from stormcut.adapters.zookeeper.undos import read_undos, workers_in, write_undo
from stormcut.cli.history import history as history_command
from stormcut.control.gate.change import Initiator
from stormcut.control.gate.ledger import Restarts
from stormcut.control.orders import Orders, Undo
from stormcut.control.ports import Record, Unavailable
from stormcut.control.review.outcome import Outcome
from stormcut.control.review.reviews import Review
from stormcut.control.review.trail import Step
from stormcut.model.cluster import Slot
from stormcut.model.errors import InvalidInput
from stormcut.model.plan import Declined, Plan, TopologyPlan

pytestmark = pytest.mark.cluster

TAXI = dealt(topology("taxi-1-17", (2, 2)), [Slot("n0", 6700), Slot("n1", 6700)])
PLAN = Plan(
    "p", "f" * 64, 5, (TopologyPlan(TAXI.id, TAXI.assignment, "cut", "ü"),), (Declined("u", "no"),)
)
ENTRY = {
    "version": 1,
    "plan": "3f2a91c0",
    "created_ms": 1_700_000_000_000,
    "topologies": [
        {
            "topology": TAXI.id,
            "reason": "moved",
            "workers_restarted": 2,
            "former": [[w.slot.node, w.slot.port, list(w.executors)] for w in TAXI.assignment],
        }
    ],
    "declined": [{"topology": "new-2-18", "reason": "no"}],
}


STEP = Step("p", 5.0, Initiator.GAIN, TAXI.assignment, TAXI.assignment, 9.0, {"n": "h"})
REVIEW = Review(TAXI.id, "p", 5.0, Outcome.WORSE, 9.0, 8.0, None, 7.0, None, 6.0, 5.0, 4.0)


@pytest.fixture
def nodes(zookeeper, auth_file):
    logging.getLogger("stormcut").setLevel(logging.CRITICAL)  # pytest keeps every line
    with connected(zookeeper, read_auth_file(auth_file)) as client:
        nodes = StormcutNodes(client, f"/test-{uuid.uuid4().hex}")
        nodes.secure()
        yield nodes
    logging.getLogger("stormcut").setLevel(logging.NOTSET)


def history(nodes: StormcutNodes) -> None:
    """Ask what `stormcut history` asks."""
    nodes.read_history(9)


def valve(nodes: StormcutNodes) -> None:
    with suppress(Unavailable):
        NimbusValve(nodes, ()).marked()


def leader(nodes: StormcutNodes) -> None:
    assert leaders_client(nodes, 1.0) is not None


Access = Callable[[StormcutNodes], object]

#: A node of each kind: its name, what makes a whole one, and who reads it.
KINDS: dict[
    str, tuple[str, Callable[[StormcutNodes], object], Callable[[StormcutNodes], object]]
] = {
    "deactivated": ("deactivated", lambda nodes: NimbusValve(nodes, ()).mark((TAXI.id,)), valve),
    "former": (
        f"former/{TAXI.id}",
        lambda nodes: write_undo(nodes, TAXI.id, Undo(TAXI.assignment)),
        read_undos,
    ),
    "history": ("history/p0000000000", lambda nodes: nodes.append_history(ENTRY), history),
    "trail": (
        f"trails/{TAXI.id}",
        lambda nodes: append_step(nodes, TAXI.id, STEP),
        lambda nodes: read_trail(nodes, TAXI.id),
    ),
    "restarts": (
        "restarts",
        lambda nodes: ZooKeeperStore(nodes).publish(
            PLAN, Record(restarts=(Restarts(-5.0, TAXI.id, 4),))
        ),
        lambda nodes: ZooKeeperStore(nodes).restarts(),
    ),
    "leader": (
        "leader",
        lambda nodes: nodes.client.create(
            nodes.path("leader"),
            b'{"version": 1, "id": "b", "host": "127.0.0.1", "port": 7070}',
        ),
        leader,
    ),
    "orders": (
        "orders",
        lambda nodes: change_orders(nodes, lambda _: Orders(True, frozenset({"3f2a91c0"}))),
        read_orders,
    ),
    "plan": (
        "plan",
        lambda nodes: nodes.write_plan(PLAN),
        lambda nodes: (ZooKeeperStore(nodes).last_plan(), nodes.has_plan()),
    ),
    "profile": (
        f"profiles/{TAXI.id}",
        lambda nodes: nodes.write_profile(profile_of(TAXI)),
        StormcutNodes.read_profiles,
    ),
    "reviews": ("reviews", lambda nodes: write_reviews(nodes, (REVIEW,)), read_reviews),
}


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_nodes(nodes, kind):
    name, make, read = KINDS[kind]
    make(nodes)
    read(nodes)
    path = nodes.path(name)
    whole, chance = nodes.client.get(path)[0], random.Random(41)
    with little_memory():
        for _ in range(messages()):
            content = damaged(whole, chance)
            nodes.client.set(path, content)
            with little_time():
                try:
                    read(nodes)
                except InvalidInput as error:
                    assert str(error).isprintable(), content


#: What is signed, and so comes from somebody who knows the secret.
SIGNED = {
    "plan": ("plan", encode_plan(PLAN), KINDS["plan"][2]),
    "profile": (
        f"profiles/{TAXI.id}",
        format_profile(profile_of(TAXI)).encode(),
        StormcutNodes.read_profiles,
    ),
}


@pytest.mark.parametrize("kind", SIGNED)
def test_damaged_content_that_is_signed(nodes, kind):
    name, whole, read = SIGNED[kind]
    chance = random.Random(43)
    with little_memory():
        for _ in range(messages()):
            write_blob(nodes.client, nodes.path(name), damaged(whole, chance))
            with little_time():
                read(nodes)


def test_rows_of_workers_in():
    whole, chance = json.dumps(ENTRY["topologies"][0]["former"]).encode(), random.Random(47)
    for _ in range(messages()):
        try:
            rows = json.loads(damaged(whole, chance))
        except (ValueError, RecursionError):
            continue
        try:
            workers_in(rows, "history")
        except InvalidInput as error:
            assert str(error).isprintable()


def test_the_history_is_shown_whatever_an_entry_holds(nodes, zookeeper, auth_file):
    nodes.append_history(ENTRY)
    nodes.append_history(ENTRY)
    path, chance = nodes.path("history/p0000000001"), random.Random(53)
    whole = json.dumps(ENTRY).encode()
    command = ["--zookeeper", zookeeper, "--auth-file", str(auth_file)]
    for _ in range(messages() // 30):
        nodes.client.set(path, damaged(whole, chance))
        shown = CliRunner().invoke(history_command, [*command, "--root", nodes.root])
        assert shown.exit_code == 0, shown.output
        assert "3f2a91c0" in shown.output
