"""What people have told the controller while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from stormcut.model.cluster import Worker


@dataclass(frozen=True)
class Override:
    """A person's order to pass guards for once.

    Parameters
    ----------
    reason : str
        As the person gave it.
    guards : frozenset of str, optional
        Keys of the guards that held it when it was ordered; None: not known, it passes all.
    pauses : int
        `Orders.pauses` by then: a pause that is ordered later holds it.
    """

    reason: str
    guards: frozenset[str] | None = None
    pauses: int = 0

    def passes(self, guard: str) -> bool:
        """Return whether it names a guard, by its key."""
        return self.guards is None or guard in self.guards


@dataclass(frozen=True)
class Orders:
    """Orders in force.

    Parameters
    ----------
    is_paused : bool
        Nothing is moved or placed; Storm's scheduler decides.
    approved : frozenset of str
        Names of proposals that may be carried out.
    drained : frozenset of str
        Ids or hosts of nodes that shall run nothing.
    overrides : mapping of str to Override
        By the name of an approved proposal: the guards that it passes.
    pauses : int
        How often a pause was ordered.
    revision : int
        Tells what was stored last; higher ones are newer.
    """

    is_paused: bool = False
    approved: frozenset[str] = frozenset()
    drained: frozenset[str] = frozenset()
    overrides: Mapping[str, Override] = field(default_factory=dict)
    pauses: int = 0
    revision: int = field(default=0, compare=False)


NO_ORDERS = Orders()
#: Where nobody can tell what people want nothing is done, and no override says otherwise.
UNKNOWN_ORDERS = Orders(is_paused=True, pauses=-1)


class By(Enum):
    """Who ordered a topology back."""

    PERSON = "person"
    #: The controller takes back a move that turned out worse.
    CONTROLLER = "controller"


@dataclass(frozen=True)
class Undo:
    """An order: a topology shall run on these workers again, and stay there.

    ``override`` says which guards it passes, None: none. Until
    ``until_s``, in seconds since the epoch, it stays there; None: until a person says otherwise.
    """

    workers: tuple[Worker, ...]
    by: By = By.PERSON
    override: Override | None = None
    until_s: float | None = None
