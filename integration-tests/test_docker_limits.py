"""Whether limits limit: a node's link each way, its CPU, and what happens without permission.

ZooKeeper is only what keeps the containers running.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from docker.models.containers import Container
from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network

from stormcut.application.waiting import wait_until
from stormcut.lab.adapters.clusters.bandwidth import FREE, Bandwidth
from stormcut.lab.adapters.clusters.docker.engine import run_in
from stormcut.lab.adapters.clusters.docker.limits import (
    PERIOD_US,
    NodeLimits,
    shortfalls,
)
from stormcut.lab.adapters.clusters.docker.plan import Container as Planned
from stormcut.lab.adapters.clusters.docker.status import effective

pytestmark = pytest.mark.docker

PORT = 9999
OUT, IN = 8_000_000, 4_000_000

RECEIVE = f"""
import socket, time
connection, _ = socket.create_server(("", {PORT})).accept()
begin, received = time.monotonic(), 0
while data := connection.recv(65536):
    received += len(data)
with open("/tmp/rate", "w") as file:
    print(received * 8 / (time.monotonic() - begin), file=file)
"""
SEND = """
import socket, sys, time
deadline = time.monotonic() + 20
while True:
    try:
        connection = socket.create_connection((sys.argv[1], int(sys.argv[2])))
        break
    except ConnectionRefusedError:
        assert time.monotonic() < deadline
        time.sleep(0.1)
end = time.monotonic() + 3
while time.monotonic() < end:
    connection.sendall(bytes(65536))
"""
COMPUTE = """
import time
begin = time.monotonic()
while time.monotonic() < begin + 3:
    pass
print(time.process_time() / (time.monotonic() - begin))
"""


@pytest.fixture
def cleanup() -> Iterator[ExitStack]:
    """What a test enters here ends with it, also when it fails."""
    with ExitStack() as stack:
        yield stack


def started(
    cleanup: ExitStack, image: str, network: Network, link: Bandwidth = FREE, may: bool = True
) -> Container:
    """Start a node with such a link, if it ``may`` limit that."""
    limits = NodeLimits(None, link, None)
    node = Planned("node-1", "supervisor", "", limits)
    container = DockerContainer(image, command="zookeeper").with_network(network)
    for name, value in node.environment.items():
        container.with_env(name, value)
    container.with_kwargs(cap_add=["NET_ADMIN"] if node.environment and may else [])
    running = cleanup.enter_context(container).get_wrapped_container()
    if may:
        wait_until(lambda: not shortfalls(limits, effective(running)), 30, "its link is limited")
    return running


def address(container: Container) -> str:
    container.reload()
    (network,) = container.attrs["NetworkSettings"]["Networks"].values()
    return str(network["IPAddress"])


def rate(sender: Container, receiver: Container) -> float:
    """Return the bit/s that one container gets through to another."""
    receiver.exec_run(["sh", "-c", f"rm -f /tmp/rate; python3 -c '{RECEIVE}'"], detach=True)
    code, said = run_in(sender, "python3", "-c", SEND, address(receiver), str(PORT))
    assert code == 0, said
    written = ("sh", "-c", "cat /tmp/rate 2>/dev/null || :")
    return float(wait_until(lambda: run_in(receiver, *written)[1], 30, "the rate is written"))


@pytest.mark.parametrize(
    "link", [Bandwidth(OUT, IN), Bandwidth(None, IN), Bandwidth(OUT, None)], ids=str
)
def test_a_link_carries_no_more_than_its_limit_each_way(
    cleanup: ExitStack, storm_image: str, link: Bandwidth
) -> None:
    network = cleanup.enter_context(Network())
    limited = started(cleanup, storm_image, network, link)
    free = started(cleanup, storm_image, network)
    for limit, found in (
        (link.out_bits, rate(limited, free)),
        (link.in_bits, rate(free, limited)),
    ):
        if limit:
            assert 0.6 * limit < found < 1.1 * limit
        else:
            assert found > 3 * max(OUT, IN), "one way is not the other's limit"


def test_receiving_is_limited_again_after_a_restart(cleanup: ExitStack, storm_image: str) -> None:
    network = cleanup.enter_context(Network())
    node = started(cleanup, storm_image, network, Bandwidth(OUT, IN))
    node.kill()
    node.start()
    wanted = NodeLimits(None, Bandwidth(OUT, IN), None)
    wait_until(lambda: not shortfalls(wanted, effective(node)), 30, "both ways are limited")
    assert (effective(node).rate_out, effective(node).rate_in) == ("8Mbit", "4Mbit")


def test_a_node_computes_no_more_than_its_quota(cleanup: ExitStack, storm_image: str) -> None:
    network = cleanup.enter_context(Network())
    node = started(cleanup, storm_image, network)
    node.update(cpu_period=PERIOD_US, cpu_quota=PERIOD_US // 5)
    assert effective(node).cpus == 0.2
    assert float(run_in(node, "python3", "-c", COMPUTE)[1]) < 0.22
    node.update(cpu_period=PERIOD_US, cpu_quota=-1)
    assert effective(node).cpus is None


def test_without_permission_it_runs_without_and_says_so(
    cleanup: ExitStack, storm_image: str
) -> None:
    network = cleanup.enter_context(Network())
    link = Bandwidth(OUT, IN)
    node = started(cleanup, storm_image, network, link, may=False)

    def said() -> list[str]:
        return [line for line in node.logs(stream=False).decode().splitlines() if "limit" in line]

    wait_until(lambda: len(said()) == 2, 30, "it says that neither way is limited")
    assert "what this node sends is not limited: " in said()[0]
    assert "what this node receives is not limited: " in said()[1]
    node.reload()
    assert node.status == "running"
    missing = shortfalls(NodeLimits(None, link, None), effective(node))
    assert set(missing) == {"bandwidth out", "bandwidth in"}
    assert all("not permitted" in why for why in missing.values()), missing
