"""Limited links between a local cluster's nodes: each in its own network namespace.

A veth pair joins every node's namespace to a bridge, and token buckets limit both its ends. The
bridge has a namespace of its own: rules that others have for the packets of this machine's bridges
(Docker has) do not count there. With the namespaces all of it is gone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from stormcut.application.waiting import wait_until
from stormcut.lab.adapters.clusters.bandwidth import Bandwidth, tbf_arguments
from stormcut.lab.adapters.clusters.local.ports import BLOCKS
from stormcut.model.errors import StormcutError

#: `ip netns` keeps one file a namespace here.
NAMESPACES = Path("/run/netns")
_LINKS = Path("/sys/class/net")
#: After a namespace is removed the kernel takes its links down on its own time.
_GONE_S = 30.0


@dataclass(frozen=True)
class Network:
    """The network of the cluster in ``folder``; nothing is there before `up`.

    ``block`` is a number that no other cluster on this machine has now.
    """

    folder: Path
    block: int = 0

    @classmethod
    def free(cls, folder: Path, block: int) -> Network:
        """Return a network on addresses of this block that no link has, such as one left behind.

        Raises
        ------
        StormcutError
            All of them are taken.
        """
        taken = {address.address for link in psutil.net_if_addrs().values() for address in link}
        choice = [cls(folder, number) for number in (block, block + BLOCKS)]
        network = next((each for each in choice if each.gateway not in taken), None)
        if network is None:
            names = " and ".join(each.gateway for each in choice)
            advice = "`ip address` shows which links have them, `ip link delete` removes one"
            raise StormcutError(f"{names} are taken; {advice}")
        return network

    @property
    def gateway(self) -> str:
        """The address under which nodes reach this machine."""
        return self._address(1)

    def host(self, index: int) -> str:
        """Return the address of a node."""
        return self._address(2 + index)

    def namespace(self, index: int) -> str:
        """Return the network namespace of a node."""
        return f"{self._prefix}-{index}"

    @property
    def _prefix(self) -> str:
        return f"stormcut-{self._mark}"

    @property
    def _mark(self) -> str:
        # A link's name has at most 15 letters.
        return hashlib.sha256(str(self.folder).encode()).hexdigest()[:8]

    @property
    def _link(self) -> str:
        """The end of this machine's own link to the bridge."""
        return f"sc-{self._mark}"

    def _address(self, number: int) -> str:
        # RFC 2544 sets this network aside for benchmarks: no machine is reached by it.
        return f"198.18.{self.block + 1}.{number}"

    def up(self, nodes: int, link: Bandwidth) -> None:
        """Join so many nodes to this machine, each by a link that carries no more than ``link``.

        Raises
        ------
        StormcutError
            The kernel refuses; `down` removes what is there.
        """
        switch = f"{self._prefix}-switch"
        _run("ip", "netns", "add", switch)
        _run("ip", "-n", switch, "link", "add", "bridge", "up", "type", "bridge")
        _run(
            *("ip", "link", "add", self._link, "type", "veth"),
            *("peer", "name", "machine", "netns", switch),
        )
        _run("ip", "-n", switch, "link", "set", "machine", "master", "bridge", "up")
        _run("ip", "address", "add", f"{self.gateway}/24", "dev", self._link)
        _run("ip", "link", "set", self._link, "up")
        for index in range(nodes):
            self._join(index, switch, link)

    def _join(self, index: int, switch: str, link: Bandwidth) -> None:
        node, port = self.namespace(index), f"node-{index}"
        _run("ip", "netns", "add", node)
        _run(
            *("ip", "-n", switch, "link", "add", port, "type", "veth"),
            *("peer", "name", "eth0", "netns", node),
        )
        _run("ip", "-n", switch, "link", "set", port, "master", "bridge", "up")
        _run("ip", "-n", node, "address", "add", f"{self.host(index)}/24", "dev", "eth0")
        _run("ip", "-n", node, "link", "set", "lo", "up")
        _run("ip", "-n", node, "link", "set", "eth0", "up")
        for where, device, bits in (
            (node, "eth0", link.out_bits),
            (switch, port, link.in_bits),
        ):
            if bits is not None:
                _limit(where, device, bits)

    def down(self) -> None:
        """Remove what there is of it, if anything; its processes have ended."""
        names = [path.name for path in NAMESPACES.glob(f"{self._prefix}-*")]
        if (_LINKS / self._link).exists():
            # It may go with its other end meanwhile.
            with suppress(StormcutError):
                _run("ip", "link", "delete", self._link)
        for name in names:
            _run("ip", "netns", "delete", name)
        if names:
            what = f"link {self._link} is gone"
            wait_until(lambda: not (_LINKS / self._link).exists(), _GONE_S, what, poll_s=0.05)


def obstacle() -> str:
    """Return why this machine cannot limit links between nodes, in a few words; empty if it can."""
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    if not (shutil.which("ip") and shutil.which("tc")):
        return "ip and tc are missing (Debian: apt install iproute2)"
    trial = f"stormcut-trial-{os.getpid()}"
    try:
        _run("ip", "netns", "add", trial)
        _limit(trial, "lo", 1_000_000)
    except StormcutError as error:
        return str(error)
    finally:
        if (NAMESPACES / trial).exists():
            _run("ip", "netns", "delete", trial)
    return ""


def _limit(namespace: str, device: str, bits: int) -> None:
    arguments = tbf_arguments(bits).split()
    _run("tc", "-n", namespace, "qdisc", "add", "dev", device, "root", "tbf", *arguments)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        why = (done.stderr.strip().splitlines() or ["no reason told"])[-1]
        raise StormcutError(f"`{' '.join(command)}`: {why}")
