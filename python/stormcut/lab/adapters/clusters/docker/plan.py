"""What a cluster consists of: its nodes, their sizes, addresses and limits. Nothing runs here."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass

from stormcut.lab.adapters.clusters.bandwidth import FREE, Bandwidth, tbf_arguments
from stormcut.lab.adapters.clusters.docker.limits import (
    MIN_MEMORY_MB,
    MIN_QUOTA_US,
    PERIOD_US,
    NodeLimits,
)
from stormcut.model.errors import InvalidInput
from stormcut.running.declared import LINK_KEY

ZOOKEEPER_PORT = 2181
NIMBUS_PORT = 6627
FIRST_SLOT = 6700

MAX_NODES = 200
MAX_SLOTS = 50

#: Label of every container and network of a cluster; its value is the cluster's name.
CLUSTER_LABEL = "stormcut.cluster"
#: The host's folder that a cluster writes to.
FOLDER_LABEL = "stormcut.folder"

_GROUP = re.compile(r"(\d+)x(\d+)")

#: First address of the nodes in the cluster's network; before it gateway, ZooKeeper and Nimbus.
_FIRST_NODE = 10


@dataclass(frozen=True)
class ClusterShape:
    """What the user asks for; every node's share follows from it.

    Attributes
    ----------
    nodes : int
        Supervisors.
    cpus : float or None
        Cores of a node of mean size; None: no limit.
    bandwidth : Bandwidth
        Of each node's link.
    memory_mb : int or None
        Of each node; None: no limit.
    sizes : tuple of int
        Relative size of each node; empty: all alike. The cluster has the same cores in all.
    slots : int
        Of each node.
    """

    nodes: int
    cpus: float | None = None
    bandwidth: Bandwidth = FREE
    memory_mb: int | None = 1024
    sizes: tuple[int, ...] = ()
    slots: int = 2

    def __post_init__(self) -> None:
        _check(1 <= self.nodes <= MAX_NODES, "nodes", f"1 to {MAX_NODES}", self.nodes)
        _check(1 <= self.slots <= MAX_SLOTS, "slots", f"1 to {MAX_SLOTS}", self.slots)
        enough = self.memory_mb is None or self.memory_mb >= MIN_MEMORY_MB
        _check(enough, "memory", f"{MIN_MEMORY_MB} MB or more", self.memory_mb)
        if self.sizes and len(self.sizes) != self.nodes:
            raise InvalidInput(
                f"names {len(self.sizes)} nodes, but there are {self.nodes}", "heterogeneous"
            )
        least = min((limits.quota_us for limits in self.limits), default=-1)
        if least != -1 and least < MIN_QUOTA_US:
            raise InvalidInput(
                f"leaves a node less than {MIN_QUOTA_US / PERIOD_US:g} cores", f"cpus {self.cpus}"
            )

    @property
    def limits(self) -> tuple[NodeLimits, ...]:
        """Each node's limits."""
        sizes = self.sizes or (1,) * self.nodes
        mean = sum(sizes) / len(sizes)
        return tuple(
            NodeLimits(
                None if self.cpus is None else self.cpus * size / mean,
                self.bandwidth,
                self.memory_mb,
            )
            for size in sizes
        )


@dataclass(frozen=True)
class Container:
    """One daemon to run: its name in the cluster, kind, address and limits."""

    name: str
    daemon: str
    address: str
    limits: NodeLimits

    @property
    def is_node(self) -> bool:
        """Whether workers run in it."""
        return self.daemon == "supervisor"

    @property
    def environment(self) -> dict[str, str]:
        """Variables that the image's entry point reads."""
        link = self.limits.bandwidth
        rates = {"STORMCUT_TBF": link.out_bits, "STORMCUT_TBF_IN": link.in_bits}
        return {name: tbf_arguments(bits) for name, bits in rates.items() if bits is not None}


@dataclass(frozen=True)
class ClusterPlan:
    """A cluster's containers in one network."""

    name: str
    subnet: ipaddress.IPv4Network
    shape: ClusterShape
    containers: tuple[Container, ...]

    @property
    def gateway(self) -> str:
        """The host's address in the network."""
        return str(self.subnet[1])

    @property
    def nodes(self) -> tuple[Container, ...]:
        """The containers that workers run in."""
        return tuple(each for each in self.containers if each.is_node)

    @property
    def hosts(self) -> dict[str, str]:
        """Addresses by name, for every container's hosts file: no lookup can fail."""
        return {each.name: each.address for each in self.containers if not each.is_node}

    def container_name(self, container: Container) -> str:
        """Return the engine's name of a container."""
        return f"stormcut-{self.name}-{container.name}"

    @property
    def network_name(self) -> str:
        """The engine's name of the network."""
        return f"stormcut-{self.name}"


def plan(name: str, shape: ClusterShape, subnet: ipaddress.IPv4Network) -> ClusterPlan:
    """Return the containers of a cluster with their fixed addresses.

    ZooKeeper and Nimbus are not limited: they are no part of what is measured.
    """
    free = NodeLimits(None, FREE, None)
    masters = (
        Container("zookeeper", "zookeeper", str(subnet[2]), free),
        Container("nimbus", "nimbus", str(subnet[3]), free),
    )
    nodes = (
        Container(f"node-{i}", "supervisor", str(subnet[_FIRST_NODE + i]), limits)
        for i, limits in enumerate(shape.limits, start=1)
    )
    return ClusterPlan(name, subnet, shape, (*masters, *nodes))


def parse_sizes(text: str) -> tuple[int, ...]:
    """Return the size of each node from groups of NODESxSIZE.

    Raises
    ------
    InvalidInput
        The text has another form.

    Examples
    --------
    >>> parse_sizes("3x6,3x4,4x2")
    (6, 6, 6, 4, 4, 4, 2, 2, 2, 2)
    """
    sizes: list[int] = []
    for group in text.split(","):
        match = _GROUP.fullmatch(group.strip())
        nodes, size = (int(match[1]), int(match[2])) if match else (0, 0)
        if not (1 <= nodes <= MAX_NODES and size >= 1):
            raise InvalidInput(
                "must be groups NODESxSIZE such as 3x6,3x4,4x2", f"heterogeneous {text!r}"
            )
        sizes += [size] * nodes
    return tuple(sizes)


def storm_yaml(
    plan: ClusterPlan,
    container: Container,
    common: Mapping[str, object],
    overrides: Mapping[str, object],
) -> dict[str, object]:
    """Return a daemon's storm.yaml: what all have, what it is and may use, what the user set.

    A supervisor declares its real limits, so that a scheduler that packs by resources can rely
    on them.
    """
    own: dict[str, object] = {"storm.local.hostname": container.address}
    if container.is_node:
        slots = range(FIRST_SLOT, FIRST_SLOT + plan.shape.slots)
        own["supervisor.slots.ports"] = list(slots)
        if container.limits.cpus is not None:
            own["supervisor.cpu.capacity"] = round(100 * container.limits.cpus, 1)
        if container.limits.memory_mb is not None:
            own["supervisor.memory.capacity.mb"] = float(container.limits.memory_mb)
        if link := container.limits.bandwidth.mbit:
            own["supervisor.scheduler.meta"] = {LINK_KEY: link}
    return {**common, **own, **overrides}


def free_subnet(taken: list[ipaddress.IPv4Network]) -> ipaddress.IPv4Network:
    """Return a private network of 254 addresses that overlaps none of those in use.

    Raises
    ------
    InvalidInput
        All 256 candidates are taken.
    """
    candidates = ipaddress.ip_network("10.213.0.0/16").subnets(new_prefix=24)
    for subnet in candidates:
        if not any(subnet.overlaps(other) for other in taken):
            return ipaddress.IPv4Network(subnet)
    raise InvalidInput("every network in 10.213.0.0/16 is in use", "docker")


def _check(holds: bool, what: str, allowed: str, given: object) -> None:
    if not holds:
        raise InvalidInput(f"must be {allowed}, not {given}", what)
