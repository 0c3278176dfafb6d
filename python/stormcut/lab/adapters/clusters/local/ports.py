"""Ports and host names that no two clusters on this machine share, even before they are bound.

Storm's workers bind their ports long after a cluster is up, and on the wildcard address, so
looking for ports that are free now is not enough. Ports are handed out in blocks. A block is
claimed by a socket in Linux's abstract name space, which ZooKeeper's process inherits and keeps:
it needs no file, holds for all users and checkouts, and ends with the process, crash or not.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from stormcut.model.errors import StormcutError

#: Below Linux's usual ephemeral ports (32768 and up), which any outgoing connection may take.
FIRST_PORT = 20_000
BLOCK_PORTS = 100
BLOCKS = 120
#: Who looks for ports has a name for a moment before it sees that the block is reserved.
PASSING_S = 1.0


@dataclass(frozen=True, eq=False)
class Claim:
    """Ports free at this moment, a number no other cluster has, and the sockets that claim them."""

    ports: tuple[int, ...]
    block: int
    sockets: tuple[socket.socket, ...]

    def hosts(self, count: int) -> tuple[str, ...]:
        """Return ``count`` loopback addresses of this claim's own."""
        return tuple(f"127.0.{self.block + 1}.{index + 1}" for index in range(count))

    def close(self) -> None:
        """Give the claim up, unless a process has inherited it."""
        for held in self.sockets:
            held.close()


def claim(count: int) -> Claim:
    """Claim ``count`` ports.

    Raises
    ------
    StormcutError
        All blocks are claimed, or other programs listen on too many ports.
    """
    ports: list[int] = []
    held: list[socket.socket] = []
    first_block = 0
    for block in range(BLOCKS):
        if len(ports) >= count:
            break
        claimed = _claim_block(block)
        if claimed is None:
            continue
        if not held:
            first_block = block
        held.append(claimed)
        ports.extend(_free_ports(block))
    result = Claim(tuple(ports[:count]), first_block, tuple(held))
    if len(ports) < count:
        result.close()
        last = FIRST_PORT + BLOCKS * BLOCK_PORTS - 1
        raise StormcutError(
            f"no {count} free ports from {FIRST_PORT} to {last}: end another local cluster first"
        )
    return result


@contextmanager
def reserved(ports: Iterable[int]) -> Iterator[None]:
    """Keep blocks from others while the claim on them ends and is made again."""
    held = [_bound(f"restart-{block}", PASSING_S) for block in _blocks(ports)]
    try:
        yield
    finally:
        for each in filter(None, held):
            each.close()


def claim_again(ports: Iterable[int]) -> tuple[socket.socket, ...]:
    """Claim the blocks of ports whose claim has just ended with its process.

    Raises
    ------
    StormcutError
        Another cluster was faster: they were not `reserved`.
    """
    held: list[socket.socket] = []
    for block in _blocks(ports):
        claimed = _bound(f"{block}", PASSING_S)
        if claimed is None:
            for each in held:
                each.close()
            raise StormcutError("another cluster has taken its ports: end this one, start it again")
        held.append(claimed)
    return tuple(held)


def _blocks(ports: Iterable[int]) -> list[int]:
    """Return the first ports of the blocks that these are in."""
    return sorted({port - (port - FIRST_PORT) % BLOCK_PORTS for port in ports})


def _claim_block(block: int) -> socket.socket | None:
    first = FIRST_PORT + block * BLOCK_PORTS
    claimed = _bound(f"{first}")
    reservation = claimed and _bound(f"restart-{first}")
    if reservation:
        reservation.close()
    elif claimed:
        claimed.close()
        return None
    return claimed


def _bound(name: str, patience_s: float = 0.0) -> socket.socket | None:
    """Return a socket that holds a name of ours, None if another has it for longer than that."""
    end = time.monotonic() + patience_s
    while True:
        claimed = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            claimed.bind(f"\0stormcut-ports-{name}")
        except OSError:
            claimed.close()
        else:
            return claimed
        if time.monotonic() >= end:
            return None
        time.sleep(0.01)


def _free_ports(block: int) -> Iterator[int]:
    start = FIRST_PORT + block * BLOCK_PORTS
    return (port for port in range(start, start + BLOCK_PORTS) if is_free(port))


def is_free(port: int) -> bool:
    """Return whether a server could listen on the port on all addresses now.

    As Java's servers do it: connections of an ended server that the kernel still remembers
    (TIME_WAIT) are no obstacle.
    """
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
            probe.listen(1)
        except OSError:
            return False
    return True
