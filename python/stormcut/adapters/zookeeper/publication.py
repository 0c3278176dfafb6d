"""Profiles and orders to go back, as ZooKeeper has them."""

from __future__ import annotations

from collections.abc import Mapping

from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from stormcut.adapters.zookeeper.former import Workers, delete_former, read_former
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.adapters.zookeeper.orders import read_orders
from stormcut.application.control.orders import Orders
from stormcut.application.control.ports import Unavailable
from stormcut.model.profile import Profile


class ZooKeeperPublication:
    """`Publication` over `StormcutNodes`."""

    def __init__(self, nodes: StormcutNodes) -> None:
        self._nodes = nodes

    def profiles(self) -> Mapping[str, Profile]:
        """Read the usable profiles."""
        return self._nodes.read_profiles()

    def former(self) -> Mapping[str, Workers]:
        """Read the usable orders."""
        return read_former(self._nodes)

    def orders(self) -> Orders:
        """Read what people have ordered."""
        return read_orders(self._nodes)

    def publish(self, profile: Profile) -> None:
        """Make a profile what is known of its topology."""
        try:
            self._nodes.write_profile(profile)
        except (KazooException, KazooTimeoutError) as error:
            raise Unavailable(f"ZooKeeper: {type(error).__name__}") from error

    def remove(self, topology: str) -> None:
        """Delete a topology's profile and its order."""
        self._nodes.delete_profile(topology)
        delete_former(self._nodes, topology)
