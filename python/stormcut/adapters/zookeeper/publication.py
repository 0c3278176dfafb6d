"""Profiles and orders to go back, as ZooKeeper has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.adapters.zookeeper.orders import acknowledge, change_orders, read_orders
from stormcut.adapters.zookeeper.reviews import read_reviews, write_reviews
from stormcut.adapters.zookeeper.trails import delete_trail, read_trail
from stormcut.adapters.zookeeper.undos import Workers, create_undo, delete_undo, read_undos
from stormcut.control.operations import pausing
from stormcut.control.orders import By, Orders, Undo
from stormcut.control.ports import Unavailable
from stormcut.control.review.reviews import Review
from stormcut.control.review.trail import Step
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
        with available():
            return read_orders(self._nodes)

    def acknowledge(self, revision: int) -> None:
        """Tell people that the orders of this revision are in force."""
        acknowledge(self._nodes, revision)

    def hold(self, why: str) -> None:
        """Store a pause and its reason."""
        with available():
            change_orders(self._nodes, pausing(True, why))

    def forget_approvals(self) -> None:
        """Take back all approvals."""

        def forget(orders: Orders) -> Orders:
            return replace(orders, approved=frozenset(), approved_by={}, overrides={})

        change_orders(self._nodes, forget)

    def publish(self, profile: Profile) -> None:
        """Make a profile what is known of its topology."""
        with available():
            self._nodes.write_profile(profile)

    def trail(self, topology: str) -> tuple[Step, ...]:
        """Return where plans have moved a topology, oldest first."""
        with available():
            return read_trail(self._nodes, topology)

    def take_back(self, topology: str, workers: Workers, until_s: float) -> None:
        """Order a topology back, unless a person has."""
        with available():
            create_undo(self._nodes, topology, Undo(workers, By.CONTROLLER, until_s=until_s))

    def reviews(self) -> tuple[Review, ...]:
        """Return what became of moves, as far as it can be used."""
        with available():
            return read_reviews(self._nodes)

    def keep(self, reviews: tuple[Review, ...]) -> None:
        """Store reviews in the place of all."""
        with available():
            write_reviews(self._nodes, reviews)

    def release(self, topology: str) -> None:
        """End an order of `take_back`."""
        with available():
            delete_undo(self._nodes, topology, By.CONTROLLER)

    def remove(self, topology: str) -> None:
        """Delete a topology's profile, its order and its trail."""
        self._nodes.delete_profile(topology)
        delete_undo(self._nodes, topology)
        delete_trail(self._nodes, topology)


@contextmanager
def available() -> Iterator[None]:
    """Make ZooKeeper's errors `Unavailable`."""
    try:
        yield
    except (KazooException, KazooTimeoutError) as error:
        raise Unavailable(f"ZooKeeper: {type(error).__name__}") from error
