"""Profiles and orders to go back, as ZooKeeper has them."""

from __future__ import annotations

from collections.abc import Mapping

from stormcut.adapters.zookeeper.former import Workers, delete_former, read_former
from stormcut.adapters.zookeeper.nodes import StormcutNodes
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

    def remove(self, topology: str) -> None:
        """Delete a topology's profile and its order."""
        self._nodes.delete_profile(topology)
        delete_former(self._nodes, topology)
