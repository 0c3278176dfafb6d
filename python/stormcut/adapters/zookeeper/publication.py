"""Profiles and orders to go back, as ZooKeeper has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from stormcut.adapters.zookeeper.former import (
    Workers,
    delete_former,
    last_move,
    read_former,
    write_former,
)
from stormcut.adapters.zookeeper.nodes import HISTORY_KEPT, StormcutNodes
from stormcut.adapters.zookeeper.orders import change_orders, read_orders
from stormcut.application.control.orders import Orders
from stormcut.application.control.ports import Unavailable
from stormcut.model.errors import InvalidInput
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

    def forget_approvals(self) -> None:
        """Take back all approvals."""
        change_orders(self._nodes, lambda orders: replace(orders, approved=frozenset()))

    def publish(self, profile: Profile) -> None:
        """Make a profile what is known of its topology."""
        with _available():
            self._nodes.write_profile(profile)

    def take_back(self, topology: str, since_s: float) -> bool:
        """Order a topology back to where it ran before a plan made since then."""
        with _available():
            entries = self._nodes.read_history(HISTORY_KEPT)
            recent = [entry for entry in entries if entry["created_ms"] >= 1000 * since_s]
            try:
                _, workers = last_move(recent, topology)
            except InvalidInput:
                return False
            write_former(self._nodes, topology, workers)
        return True

    def let_go(self, topology: str) -> None:
        """End an order of `take_back`."""
        with _available():
            delete_former(self._nodes, topology)

    def remove(self, topology: str) -> None:
        """Delete a topology's profile and its order."""
        self._nodes.delete_profile(topology)
        delete_former(self._nodes, topology)


@contextmanager
def _available() -> Iterator[None]:
    try:
        yield
    except (KazooException, KazooTimeoutError) as error:
        raise Unavailable(f"ZooKeeper: {type(error).__name__}") from error
