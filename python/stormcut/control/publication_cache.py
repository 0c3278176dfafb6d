"""What is published, as the leader read it last: to ask it never waits for ZooKeeper."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace

from stormcut.control.orders import NO_ORDERS, UNKNOWN_ORDERS, Orders, Undo
from stormcut.control.ports import Clock, Publication, Unavailable
from stormcut.control.review.reviews import Review
from stormcut.model.profile import Profile

log = logging.getLogger("stormcut.brain")

#: Share of a core for looking whether anything was published.
MAX_OF_A_CORE = 0.05

ORDERS_LOST = (
    "the orders that were in force are gone from ZooKeeper: pauses, drains and undos are lost; "
    "give them again, then `stormcut resume`"
)


class PublicationCache:
    """`EvidenceSource` that the leader refreshes: to ask it never waits for what is published."""

    def __init__(self, publication: Publication, clock: Clock) -> None:
        self._publication = publication
        self._clock = clock
        self._profiles: Mapping[str, Profile] = {}
        self._undos: Mapping[str, Undo] = {}
        self._orders = NO_ORDERS
        self._reviews: tuple[Review, ...] = ()
        self._next = 0.0
        #: Whoever reads the orders last has the newest ones.
        self._reading = threading.Lock()

    def refresh(self, now: bool = False) -> None:
        """Read what is published, ``now`` or if it is time: many profiles take long to look at."""
        began = self._clock.elapsed()
        # At each look, however many profiles there are: who says pause does not wait for them.
        self.refresh_orders()
        if not now and began < self._next:
            return
        # Orders first: one that is gone was followed by a new profile before.
        self._undos = self._publication.undos()
        self._reviews = self._publication.reviews()
        self._profiles = self._publication.profiles()
        took = self._clock.elapsed() - began
        self._next = began + took / MAX_OF_A_CORE

    def refresh_orders(self) -> None:
        """Read what people have ordered."""
        with self._reading:
            self._orders = self._newest_orders()

    def _newest_orders(self) -> Orders:
        """Return the orders; where there were some and are none, ZooKeeper has lost its data."""
        newest, before = self._publication.orders(), self._orders
        if newest.revision or not before.revision:
            return newest
        if newest.is_paused:  # they are there, and cannot be read
            return replace(newest, revision=before.revision)
        if before.why != ORDERS_LOST:
            log.warning("paused: %s", ORDERS_LOST)
        lost = replace(UNKNOWN_ORDERS, why=ORDERS_LOST, revision=before.revision)
        # Whoever leads next knows nothing of them.
        try:
            self._publication.hold(ORDERS_LOST)
        except Unavailable as error:
            log.info("the pause is not stored yet: %s", error)
        return lost

    def remove(self, topologies: Iterable[str]) -> None:
        """Remove what is known of topologies that are gone."""
        for topology in topologies:
            self._publication.remove(topology)
            log.info("topology %s is gone; what was published of it is removed", topology)

    def profiles(self) -> Mapping[str, Profile]:
        """Return the profiles as read last."""
        return self._profiles

    def undos(self) -> Mapping[str, Undo]:
        """Return the orders to go back as read last."""
        return self._undos

    def orders(self) -> Orders:
        """Return what people have ordered, as read last."""
        return self._orders

    def reviews(self) -> tuple[Review, ...]:
        """Return what became of moves, as read last."""
        return self._reviews
