import socket
import subprocess
import sys
from contextlib import closing, suppress

import pytest

from stormcut.application.waiting import wait_until
from stormcut.lab.adapters.clusters.local import ports
from stormcut.model.errors import StormcutError


def test_claims_share_no_port_and_no_host_before_anything_is_bound() -> None:
    with closing(ports.claim(30)) as first, closing(ports.claim(130)) as second:
        assert len(set(first.ports)) == 30 and len(set(second.ports)) == 130
        assert not set(first.ports) & set(second.ports)
        assert not set(first.hosts(5)) & set(second.hosts(5))
        assert len(set(second.hosts(5))) == 5


def server_at(port: int) -> socket.socket:
    """Return a server as Java makes them."""
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", port))
    server.listen()
    return server


# First of the two that use a port: what it leaves for a minute must not disturb the other.
def test_a_port_whose_server_has_just_ended_is_free() -> None:
    with closing(ports.claim(1)) as claim:
        (port,) = claim.ports
        with server_at(port) as server, socket.create_connection(("127.0.0.1", port)) as client:
            connection, _ = server.accept()
            connection.close()  # who closes first keeps the port in TIME_WAIT
            assert client.recv(1) == b""
        with socket.socket() as strict, pytest.raises(OSError, match="in use"):
            strict.bind(("127.0.0.1", port))
        assert port in ports._free_ports(claim.block)
        server_at(port).close()


def test_a_port_in_use_is_not_given_out() -> None:
    with closing(ports.claim(1)) as claim:
        (port,) = claim.ports
        with server_at(port):
            assert not ports.is_free(port)
            found = list(ports._free_ports(claim.block))
        assert port not in found
        assert ports.is_free(port)


def test_a_claim_lives_as_long_as_a_process_that_inherited_it() -> None:
    claim = ports.claim(1)
    with closing(claim):
        keeper = subprocess.Popen(
            [sys.executable, "-c", "input()"],
            stdin=subprocess.PIPE,
            pass_fds=[each.fileno() for each in claim.sockets],
        )
    with keeper:
        assert ports._claim_block(claim.block) is None
    again = wait_until(lambda: _claimed_again(claim.ports), 5.0, "the block is free again")
    with closing(again):
        assert ports._claim_block(claim.block) is None


def _claimed_again(wanted: tuple[int, ...]) -> socket.socket | None:
    with suppress(StormcutError):
        (held,) = ports.claim_again(wanted)
        return held
    return None


@pytest.mark.slow
def test_what_another_cluster_has_claimed_is_not_claimed_again() -> None:
    with closing(ports.claim(1)) as claim, pytest.raises(StormcutError, match="another cluster"):
        ports.claim_again(claim.ports)


def test_while_a_claim_is_made_again_nobody_else_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "FIRST_PORT", 18_000)
    monkeypatch.setattr(ports, "BLOCKS", 1)
    first = ports.claim(1)
    with ports.reserved(first.ports):
        first.close()
        with pytest.raises(StormcutError, match="end another local cluster first"):
            ports.claim(1)
        (held,) = ports.claim_again(first.ports)
    with closing(held), pytest.raises(StormcutError):
        ports.claim(1)
    ports.claim(1).close()


def test_running_out_of_ports_is_said_and_gives_back_what_was_claimed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Blocks of this test's own: tests that run at the same time need theirs.
    monkeypatch.setattr(ports, "FIRST_PORT", 19_000)
    monkeypatch.setattr(ports, "BLOCKS", 2)
    with pytest.raises(StormcutError, match="end another local cluster first"):
        ports.claim(ports.BLOCKS * ports.BLOCK_PORTS + 1)
    with closing(ports.claim(1)) as claim:
        assert len(claim.ports) == 1
