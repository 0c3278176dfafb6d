"""Profiles and orders to go back, as ZooKeeper has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from stormcut.adapters.zookeeper.nodes import HISTORY_KEPT, StormcutNodes
from stormcut.adapters.zookeeper.orders import change_orders, read_orders
from stormcut.adapters.zookeeper.reviews import read_reviews, write_reviews
from stormcut.adapters.zookeeper.undos import delete_undo, last_move, read_undos, write_undo
from stormcut.application.control.orders import By, Orders, Undo
from stormcut.application.control.ports import Unavailable
from stormcut.application.control.review.reviews import Ordered, Review
from stormcut.model.errors import InvalidInput
from stormcut.model.profile import Profile


class ZooKeeperPublication:
    """`Publication` over `StormcutNodes`."""

    def __init__(self, nodes: StormcutNodes) -> None:
        self._nodes = nodes

    def profiles(self) -> Mapping[str, Profile]:
        """Read the usable profiles."""
        return self._nodes.read_profiles()

    def undos(self) -> Mapping[str, Undo]:
        """Read the usable orders to go back."""
        return read_undos(self._nodes)

    def orders(self) -> Orders:
        """Read what people have ordered."""
        return read_orders(self._nodes)

    def forget_approvals(self) -> None:
        """Take back all approvals."""
        change_orders(self._nodes, lambda orders: replace(orders, approved=frozenset()))

    def publish(self, profile: Profile) -> None:
        """Make a profile what is known of its topology."""
        with available():
            self._nodes.write_profile(profile)

    def ordered(self, topology: str, since_s: float) -> Ordered | None:
        """Return the last move of a topology by a plan made since then, as the history has it."""
        with available():
            entries = self._nodes.read_history(HISTORY_KEPT)
        for entry in entries:
            if entry["created_ms"] < 1000 * since_s:
                return None
            for line in entry["topologies"]:
                if line["topology"] == topology and line.get("former"):
                    return Ordered(entry["plan"], _between_nodes(line))
        return None

    def take_back(self, topology: str) -> None:
        """Order a topology back to where it ran before a plan moved it last."""
        with available():
            entries = self._nodes.read_history(HISTORY_KEPT)
            try:
                _, workers = last_move(entries, topology)
            except InvalidInput as error:
                raise Unavailable(str(error)) from error
            write_undo(self._nodes, topology, Undo(workers, By.CONTROLLER))

    def reviews(self) -> tuple[Review, ...]:
        """Return what became of moves, as far as it can be used."""
        with available():
            return read_reviews(self._nodes)

    def keep(self, reviews: tuple[Review, ...]) -> None:
        """Store reviews in the place of all."""
        with available():
            write_reviews(self._nodes, reviews)

    def let_go(self, topology: str) -> None:
        """End an order of `take_back`."""
        with available():
            delete_undo(self._nodes, topology, By.CONTROLLER)

    def remove(self, topology: str) -> None:
        """Delete a topology's profile and its order."""
        self._nodes.delete_profile(topology)
        delete_undo(self._nodes, topology)


def _between_nodes(line: Mapping[str, Any]) -> float | None:
    """Return what a line of the history, which is not signed, predicts, if anything."""
    after = line.get("after")
    value = after.get("inter_node_tuples_per_second") if isinstance(after, dict) else None
    return float(value) if isinstance(value, int | float) else None


@contextmanager
def available() -> Iterator[None]:
    """Make ZooKeeper's errors `Unavailable`."""
    try:
        yield
    except (KazooException, KazooTimeoutError) as error:
        raise Unavailable(f"ZooKeeper: {type(error).__name__}") from error
