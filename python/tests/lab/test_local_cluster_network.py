"""Limited links: nodes reach each other through token buckets, and nothing stays behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stormcut.lab.adapters.clusters.bandwidth import Bandwidth
from stormcut.lab.adapters.clusters.local import LocalCluster
from stormcut.lab.adapters.clusters.local.network import NAMESPACES, Network, obstacle
from stormcut.lab.adapters.clusters.local.ports import BLOCKS
from stormcut.model.errors import StormcutError

WHY = obstacle()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(WHY), reason=WHY)]

#: A number that no cluster gets, for they count up from 0.
BLOCK = 240
NODES = 2
ECHO = """
import socket, sys
with socket.create_server((sys.argv[1], 5000)) as server:
    print("ready", flush=True)
    server.accept()[0].sendall(b"hello")
"""
ASK = """
import socket, sys
print(socket.create_connection((sys.argv[1], 5000), 5).recv(5).decode())
"""


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    found = Network(tmp_path, BLOCK)
    yield found
    found.down()


def left_of(network: Network) -> list[str]:
    links = [path.name for path in Path("/sys/class/net").iterdir()]
    spaces = [path.name for path in NAMESPACES.iterdir()] if NAMESPACES.exists() else []
    mark = network.namespace(0).split("-")[1]
    return [name for name in (*links, *spaces) if mark in name]


def limits(namespace: str) -> list[int]:
    """Return the rates in bytes/s of the token buckets in a namespace."""
    said = subprocess.run(
        ["tc", "-n", namespace, "-json", "qdisc"], capture_output=True, text=True, check=True
    )
    found: list[dict[str, Any]] = json.loads(said.stdout)
    return [each["options"]["rate"] for each in found if each["kind"] == "tbf"]


def test_nodes_reach_each_other_and_this_machine_over_limited_links(network: Network) -> None:
    network.up(NODES, Bandwidth(2_000_000, 1_000_000))
    inside = ["ip", "netns", "exec", network.namespace(0), "python3", "-c"]
    for asker in (["ip", "netns", "exec", network.namespace(1)], []):
        with subprocess.Popen(
            [*inside, ECHO, network.host(0)], stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            asked = [*asker, "python3", "-c", ASK, network.host(0)]
            assert subprocess.check_output(asked, text=True) == "hello\n"
    assert [limits(network.namespace(node)) for node in range(NODES)] == [[250_000]] * NODES
    (switch,) = [name for name in left_of(network) if name.endswith("switch")]
    assert limits(switch) == [125_000] * NODES


def test_nothing_stays(network: Network) -> None:
    network.up(NODES, Bandwidth())
    assert len(left_of(network)) == NODES + 2
    network.down()
    assert left_of(network) == []
    network.down()


def test_what_is_there_after_a_failure_goes_too(network: Network) -> None:
    subprocess.run(["ip", "netns", "add", network.namespace(1)], check=True)
    with pytest.raises(StormcutError, match="ip netns add"):
        network.up(NODES, Bandwidth())
    assert len(left_of(network)) > 2
    network.down()
    assert left_of(network) == []


def test_trying_leaves_nothing(network: Network) -> None:
    assert obstacle() == ""
    # Others may try at this moment.
    assert list(NAMESPACES.glob(f"*-trial-{os.getpid()}")) == []


def test_addresses_that_a_killed_one_left_are_not_used(tmp_path: Path) -> None:
    block = BLOCKS - 1  # the last that a cluster would get
    folders, found = [tmp_path / name for name in "ab"], []
    try:
        for folder in folders:
            found.append(Network.free(folder, block))
            found[-1].up(1, Bandwidth(None, None))
        assert len({each.gateway for each in found}) == 2
        with pytest.raises(StormcutError, match=f"{found[0].gateway} and {found[1].gateway}"):
            Network.free(tmp_path / "c", block)
    finally:
        for each in found:
            each.down()


@pytest.mark.cluster
def test_a_cluster_that_was_killed_is_cleared_with_its_network() -> None:
    name = f"network-{os.getpid()}"
    try:
        link = Bandwidth(10_000_000, 10_000_000)
        cluster = LocalCluster.up(name, supervisors=1, slots=1, plugin=False, link=link)
        network = Network(cluster.folder)
        assert limits(network.namespace(0)) == [1_250_000]
        # A node that was lost returns into its own network.
        cluster.kill_supervisor(0)
        cluster.start_supervisor(0)
        for pid in cluster.pids():
            os.kill(pid, signal.SIGKILL)
    finally:
        LocalCluster.clear(name)
    assert left_of(network) == []
