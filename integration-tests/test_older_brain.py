"""Today's shim in a real Nimbus, and a brain of the first version of the protocol."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from first_protocol import FirstBrain
from stage import TOPOLOGIES, Stage

from stormcut.adapters.zookeeper.client import connected, read_auth_file
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.application.waiting import wait_until

pytestmark = pytest.mark.cluster


def test_its_plans_are_applied(stage: Stage) -> None:
    mark = stage.log_mark()
    credentials = read_auth_file(stage.cluster.auth_file)
    with (
        connected(stage.cluster.zookeeper_address, credentials) as client,
        closing(FirstBrain("first", client.seal)) as brain,
    ):
        brain.start()
        address = {"version": 1, "id": "first", "host": "127.0.0.1", "port": brain.port}
        path = StormcutNodes(client).path("leader")
        wait_until(lambda: not client.exists(path), 60, "the last test's brain is forgotten")
        client.create(path, json.dumps(address).encode(), ephemeral=True, makepath=True)
        stage.rebalance()
        stage.wait_log(mark, "by first applied")
        for name in TOPOLOGIES:
            assert len(stage.workers(name)) == 1
    for name in TOPOLOGIES:
        stage.wait_acks(name)
