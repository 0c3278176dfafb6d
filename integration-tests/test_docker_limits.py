"""Whether limits limit: what a node can send and compute, and what happens without permission.

ZooKeeper is only what keeps the containers running.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from docker.models.containers import Container
from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network

from stormcut.adapters.docker_cluster.engine import run_in
from stormcut.adapters.docker_cluster.limits import (
    PERIOD_US,
    Limits,
    shortfalls,
    tbf_arguments,
)
from stormcut.adapters.docker_cluster.status import effective

pytestmark = pytest.mark.docker

PORT = 9999
RATE = 8_000_000

RECEIVE = f"""
import socket, time
connection, _ = socket.create_server(("", {PORT})).accept()
begin, received = time.monotonic(), 0
while data := connection.recv(65536):
    received += len(data)
print(received * 8 / (time.monotonic() - begin))
"""
SEND = """
import socket, sys, time
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])))
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
    cleanup: ExitStack, image: str, network: Network, bits: int | None = None, may: bool = True
) -> Container:
    """Start a container that may send so many bit/s, if it ``may`` set that."""
    container = DockerContainer(image, command="zookeeper").with_network(network)
    if bits:
        container.with_env("STORMCUT_TBF", tbf_arguments(bits))
        container.with_kwargs(cap_add=["NET_ADMIN"] if may else [])
    return cleanup.enter_context(container).get_wrapped_container()


def address(container: Container) -> str:
    container.reload()
    (network,) = container.attrs["NetworkSettings"]["Networks"].values()
    return str(network["IPAddress"])


def rate(sender: Container, receiver: Container) -> float:
    """Return the bit/s that one container gets through to another."""
    receiver.exec_run(["sh", "-c", f"python3 -c '{RECEIVE}' >/tmp/rate"], detach=True)
    time.sleep(1)
    code, said = run_in(sender, "python3", "-c", SEND, address(receiver), str(PORT))
    assert code == 0, said
    while not (text := run_in(receiver, "cat", "/tmp/rate")[1]):
        time.sleep(0.2)
    return float(text)


def test_a_node_sends_no_more_than_its_bandwidth(cleanup: ExitStack, storm_image: str) -> None:
    network = cleanup.enter_context(Network())
    limited = started(cleanup, storm_image, network, RATE)
    free = started(cleanup, storm_image, network)
    assert 0.6 * RATE < rate(limited, free) < 1.1 * RATE
    assert rate(free, limited) > 3 * RATE, "what a node receives is not its own limit"


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
    node = started(cleanup, storm_image, network, RATE, may=False)
    deadline = time.monotonic() + 30
    while "not limited" not in (said := node.logs(stream=False).decode()):
        assert time.monotonic() < deadline, said
        time.sleep(0.2)
    assert "not permitted" in said
    node.reload()
    assert node.status == "running"
    assert set(shortfalls(Limits(None, RATE, None), effective(node))) == {"bandwidth"}
