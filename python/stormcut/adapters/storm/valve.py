"""Spouts stopped and started through Nimbus, and in ZooKeeper which were: docs/protocol.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from stormcut.adapters.storm.nimbus import NimbusClient, NimbusUnavailable
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.adapters.zookeeper.publication import available
from stormcut.control.ports import Unavailable
from stormcut.model.cluster import name_in
from stormcut.model.errors import InvalidInput

DEACTIVATED_VERSION = 1
_NODE = "deactivated"
#: The leader looks after other things, too.
TIMEOUT_S = 3.0

T = TypeVar("T")


class NimbusValve:
    """`Valve` over the first Nimbus that answers as leader.

    Parameters
    ----------
    addresses : sequence of str
        Of all Nimbuses, ``host:port`` each.
    """

    def __init__(self, nodes: StormcutNodes, addresses: Sequence[str]) -> None:
        self._nodes = nodes
        self._nimbuses = [NimbusClient.at(each, TIMEOUT_S) for each in addresses]

    def is_active(self, topology: str) -> bool:
        """Return whether its spouts may emit."""
        running = self._ask(lambda nimbus: nimbus.cluster().topologies)
        return any(each.id == topology and each.status == "ACTIVE" for each in running)

    def deactivate(self, topology: str) -> None:
        """Have its spouts emit no more."""
        self._ask(lambda nimbus: nimbus.deactivate(name_in(topology)))

    def activate(self, topology: str) -> None:
        """Have its spouts emit again, if it still runs."""
        running = self._ask(lambda nimbus: nimbus.cluster().topologies)
        if any(each.id == topology for each in running):
            self._ask(lambda nimbus: nimbus.activate(name_in(topology)))

    def marked(self) -> tuple[str, ...]:
        """Return the topologies that were deactivated, or were about to be."""
        try:
            with available():
                document = self._nodes.read_marked(_NODE, "deactivated", DEACTIVATED_VERSION)
        except InvalidInput as error:
            raise Unavailable(str(error)) from error
        names = [] if document is None else document.get("topologies")
        return tuple(map(str, names)) if isinstance(names, list) else ()

    def mark(self, topologies: tuple[str, ...]) -> None:
        """Store these in the place of all."""
        content = {"version": DEACTIVATED_VERSION, "topologies": sorted({*topologies})}
        with available():
            self._nodes.write_marked(_NODE, content)

    def _ask(self, question: Callable[[NimbusClient], T]) -> T:
        """Return an answer of the first that gives one: who does not lead gives none."""
        errors = []
        for nimbus in self._nimbuses:
            try:
                return question(nimbus)
            except (NimbusUnavailable, InvalidInput) as error:
                errors.append(str(error))
        raise Unavailable("; ".join(errors))
