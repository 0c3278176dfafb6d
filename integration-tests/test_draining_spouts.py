"""Spouts that rest while their topology moves: nothing is sent twice, and none rests for ever."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.cluster.fault_ground import Ground, embedded, settled

from stormcut.adapters.zookeeper.nodes import nodes_at
from stormcut.adapters.zookeeper.orders import change_orders
from stormcut.application.waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.full]

RESTS_S = 15
(NAME,) = ("alpha",)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Two controllers that drain what they move, and a topology that writes down every tuple."""
    folder: Path = tmp_path_factory.mktemp("ground")
    with embedded(
        f"tests-rest-{os.getpid()}",
        folder,
        topologies=1,
        whole=False,
        config=lambda cluster: {
            "nimbus": cluster.nimbus_address,
            "topologies": [{"match": NAME, "drain": f"{RESTS_S} s"}],
            "policy": {"cool_down": 1},
        },
    ) as ground:
        yield ground


def drain_only(ground: Ground, host: str | None) -> None:
    """Order that this node shall run nothing, and all others may."""
    drained = frozenset({host} if host else ())
    with nodes_at(ground.cluster.zookeeper_address, ground.cluster.auth_file) as nodes:
        change_orders(nodes, lambda orders: replace(orders, drained=drained))


def status(ground: Ground) -> str:
    return next(each.status for each in ground.nimbus.cluster().topologies if each.name == NAME)


def hosts(ground: Ground) -> set[str]:
    return {each.host for each in ground.nimbus.topology(NAME).executors}


def a_host_of(ground: Ground) -> str:
    return next(each.host for each in ground.nimbus.topology(NAME).executors if each.is_spout)


def test_a_move_sends_nothing_again(ground: Ground) -> None:
    before, left = ground.books().again, a_host_of(ground)
    drain_only(ground, left)
    wait_until(lambda: status(ground) == "INACTIVE", 90, "its spouts rest")
    assert left in hosts(ground), "it has moved before it was drained"
    wait_until(lambda: left not in hosts(ground), 90, "it has moved")
    wait_until(lambda: status(ground) == "ACTIVE", 90, "its spouts go on")
    ground.await_calm()
    assert settled(ground)["lost"] == 0
    assert ground.books().again == before
    drain_only(ground, None)


def test_whoever_leads_next_activates_what_a_dead_one_left(ground: Ground) -> None:
    drain_only(ground, a_host_of(ground))
    wait_until(lambda: status(ground) == "INACTIVE", 90, "its spouts rest")
    for each in ground.controllers:
        spark = each.spark()
        each.kill()
        for process in spark:
            process.kill()
    drain_only(ground, None)
    time.sleep(2 * RESTS_S)  # what nobody does cannot be waited for
    assert status(ground) == "INACTIVE"
    began = time.monotonic()
    for each in ground.controllers:
        each.start()
    wait_until(lambda: status(ground) == "ACTIVE", 90, "its spouts go on")
    assert time.monotonic() - began < 60
    ground.await_calm()
    assert settled(ground)["lost"] == 0
