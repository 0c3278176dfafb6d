"""What the brain needs from outside; adapters implement it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    # What decides takes a moment to import; commands that only store and show need none of it.
    from stormcut.control.decide.decision import Decisions
    from stormcut.control.gate.ledger import Restarts
    from stormcut.control.orders import Orders, Undo
    from stormcut.control.review.reviews import Review
    from stormcut.control.review.trail import Step
    from stormcut.model.cluster import ClusterState
    from stormcut.model.plan import Plan
    from stormcut.model.profile import Profile


class Clock(Protocol):
    """The time, which may be simulated."""

    def now(self) -> float:
        """Return the seconds since the epoch."""
        ...

    def elapsed(self) -> float:
        """Return the seconds since some moment; they never run back."""
        ...

    def wait(
        self, condition: threading.Condition, until: Callable[[], bool], seconds: float
    ) -> None:
        """Wait with a condition that the caller holds, no longer than so many seconds."""
        ...


#: Of the form of the history's entries.
HISTORY_VERSION = 1

#: Gives a name that no other plan has.
NewId = Callable[[], str]


@dataclass(frozen=True)
class Record:
    """What is kept with a plan.

    Parameters
    ----------
    entry : mapping, optional
        Of the history; None: it changes nothing that people would look for.
    steps : mapping of str to Step
        By topology id, of those that it moves.
    restarts : tuple of Restarts
        Of the last hour, with this plan's; in seconds from now, negative: each machine has a clock
        of its own, and somebody may set it.
    """

    entry: Mapping[str, Any] | None = None
    steps: Mapping[str, Step] = field(default_factory=dict)
    restarts: tuple[Restarts, ...] = ()


class PlanStore(Protocol):
    """Where plans outlive the brain that made them."""

    def last_plan(self) -> Plan | None:
        """Return the plan published last, None if there is none or it cannot be read."""
        ...

    def restarts(self) -> tuple[Restarts, ...] | None:
        """Return which workers plans have restarted within the last hour, in seconds from now.

        None where that is stored and cannot be read.
        """
        ...

    def publish(self, plan: Plan, record: Record) -> None:
        """Make ``plan`` the last plan, and keep what belongs to it.

        Raises
        ------
        Unavailable
            It was not stored: nobody may act on the plan as if it were.
        """
        ...


class StandingStore(PlanStore, Protocol):
    """A store of which a leader sees that the plan stays there."""

    def has_plan(self) -> bool:
        """Return whether a plan is published, readable or not."""
        ...

    def restore(self, plan: Plan) -> None:
        """Make ``plan`` the last plan again; the history knows it."""
        ...


class EvidenceSource(Protocol):
    """Where measurements and orders come from; answers at once and without waiting."""

    def profiles(self) -> Mapping[str, Profile]:
        """Return the published profiles by topology id."""
        ...

    def undos(self) -> Mapping[str, Undo]:
        """Return the orders to run as before a plan, by topology id."""
        ...

    def orders(self) -> Orders:
        """Return what people have told the controller."""
        ...

    def reviews(self) -> tuple[Review, ...]:
        """Return what became of moves, the last ones, oldest first."""
        ...


class Publication(Protocol):
    """Where measurements and orders are published; to read them takes time."""

    def profiles(self) -> Mapping[str, Profile]:
        """Read the profiles by topology id."""
        ...

    def undos(self) -> Mapping[str, Undo]:
        """Read the orders to run as before a plan, by topology id."""
        ...

    def orders(self) -> Orders:
        """Read what people have told the controller."""
        ...

    def reviews(self) -> tuple[Review, ...]:
        """Read what became of moves, the last ones, oldest first."""
        ...

    def acknowledge(self, revision: int) -> None:
        """Tell people that the orders of this revision are in force."""
        ...

    def hold(self, why: str) -> None:
        """Store a pause that the controller orders itself.

        Raises
        ------
        Unavailable
            It was not stored.
        """
        ...

    def forget_approvals(self) -> None:
        """Take back what people have approved: it was carried out, or is not proposed any more."""
        ...

    def remove(self, topology: str) -> None:
        """Remove what is published of a topology, if anything is."""
        ...


class Server(Protocol):
    """Brings the brain the questions of others."""

    def start(self) -> None:
        """Serve in the background until `close`."""
        ...

    def close(self) -> None:
        """Stop listening."""
        ...


class Leadership(Protocol):
    """Stands for election among several brains."""

    @property
    def leads(self) -> bool:
        """Whether this brain leads, as far as it can know."""
        ...

    def start(self) -> None:
        """Stand for election in the background until `close`."""
        ...

    def close(self) -> None:
        """Withdraw."""
        ...


class Valve(Protocol):
    """Stops and starts the spouts of topologies, by id, and remembers which it has stopped.

    Every method raises `Unavailable` when it cannot be done now.
    """

    def is_active(self, topology: str) -> bool:
        """Return whether its spouts may emit."""
        ...

    def deactivate(self, topology: str) -> None:
        """Have its spouts emit no more; what is on its way is still processed."""
        ...

    def activate(self, topology: str) -> None:
        """Have its spouts emit again; one that is gone needs nothing."""
        ...

    def marked(self) -> tuple[str, ...]:
        """Return the topologies that were deactivated, or were about to be."""
        ...

    def mark(self, topologies: tuple[str, ...]) -> None:
        """Store these in the place of all."""
        ...


class Unavailable(Exception):
    """The store cannot be reached now; ``plan`` is the id of the plan that it was to keep."""

    def __init__(self, message: str, plan: str | None = None) -> None:
        super().__init__(message)
        self.plan = plan


@dataclass(frozen=True)
class Decided:
    """What was decided of a state, in so many ``seconds``.

    ``plan`` is what Nimbus is told: a new one, published by now, or the last one if nothing new was
    decided.
    """

    state: ClusterState
    decisions: Decisions
    plan: Plan
    is_new: bool
    seconds: float


class DecisionListener(Protocol):
    """Is told what a brain does; answers at once and never raises."""

    def took_over(self) -> None:
        """Hear that the brain is about to lead: what it decided before says nothing of now."""
        ...

    def decided(self, what: Decided) -> None:
        """Hear what was decided; not again while the same question gets the same answer."""
        ...
