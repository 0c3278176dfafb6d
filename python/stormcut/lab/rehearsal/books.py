"""What a controller keeps in ZooKeeper, kept in memory."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from stormcut.control.gate.ledger import Restarts
from stormcut.control.orders import NO_ORDERS, By, Orders, Undo
from stormcut.control.ports import Record
from stormcut.control.review.reviews import Review
from stormcut.control.review.trail import Step, appended
from stormcut.model.cluster import Worker
from stormcut.model.plan import Plan
from stormcut.model.profile import Profile


class Books:
    """`PlanStore`, `EvidenceSource` and `Press` of one controller that nothing can fail."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []
        self._restarts: tuple[Restarts, ...] = ()
        self._trails: dict[str, tuple[Step, ...]] = {}
        self._profiles: dict[str, Profile] = {}
        self._undos: dict[str, Undo] = {}
        self._reviews: tuple[Review, ...] = ()
        self._orders = NO_ORDERS
        self._names = count(1)

    def new_id(self) -> str:
        """Return a name that no other plan has."""
        return f"plan-{next(self._names)}"

    def last_plan(self) -> Plan | None:
        """Return the plan published last, if any was."""
        return self.plans[-1] if self.plans else None

    def restarts(self) -> tuple[Restarts, ...]:
        """Return which workers plans have restarted within the last hour."""
        return self._restarts

    def publish_plan(self, plan: Plan, record: Record) -> None:
        """Keep a plan and what belongs to it."""
        self.plans.append(plan)
        self._restarts = record.restarts
        for name, step in record.steps.items():
            self._trails[name] = appended(self._trails.get(name, ()), step)

    def profiles(self) -> Mapping[str, Profile]:
        """Return what is published, by topology id."""
        return self._profiles

    def undos(self) -> Mapping[str, Undo]:
        """Return the orders to go back, by topology id."""
        return self._undos

    def orders(self) -> Orders:
        """Return what is ordered."""
        return self._orders

    def order(self, orders: Orders) -> None:
        """Have a person order something."""
        self._orders = orders

    def reviews(self) -> tuple[Review, ...]:
        """Return what became of moves."""
        return self._reviews

    def publish(self, profile: Profile) -> None:
        """Make a profile what is known of its topology."""
        self._profiles[profile.topology] = profile

    def trail(self, topology: str) -> tuple[Step, ...]:
        """Return where plans have moved a topology, oldest first."""
        return self._trails.get(topology, ())

    def take_back(self, topology: str, workers: tuple[Worker, ...], until_s: float) -> None:
        """Order a topology back to where it ran."""
        self._undos.setdefault(topology, Undo(workers, By.CONTROLLER, until_s=until_s))

    def keep(self, reviews: tuple[Review, ...]) -> None:
        """Store reviews in the place of all."""
        self._reviews = reviews

    def release(self, topology: str) -> None:
        """End an order of `take_back`."""
        self._undos.pop(topology, None)


class PlansOf:
    """The `PlanStore` of `Books`: both a plan and a profile are published by that name."""

    def __init__(self, books: Books) -> None:
        self._books = books

    def last_plan(self) -> Plan | None:
        """Return the plan published last, if any was."""
        return self._books.last_plan()

    def restarts(self) -> tuple[Restarts, ...]:
        """Return which workers plans have restarted within the last hour."""
        return self._books.restarts()

    def publish(self, plan: Plan, record: Record) -> None:
        """Keep a plan and what belongs to it."""
        self._books.publish_plan(plan, record)
