"""What people have told the controller while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from stormcut.model.cluster import Worker


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
    overrides : mapping of str to str
        By the name of an approved proposal: the reason a person gave for overriding guards.
    revision : int
        Tells what was stored last; higher ones are newer.
    """

    is_paused: bool = False
    approved: frozenset[str] = frozenset()
    drained: frozenset[str] = frozenset()
    overrides: Mapping[str, str] = field(default_factory=dict)
    revision: int = field(default=0, compare=False)


NO_ORDERS = Orders()


class By(Enum):
    """Who ordered a topology back."""

    PERSON = "person"
    #: The controller takes back a move that turned out worse.
    CONTROLLER = "controller"


@dataclass(frozen=True)
class Undo:
    """An order: a topology shall run on these workers again, and stay there.

    ``override`` is the reason a person gave for overriding guards, None if guards hold. Until
    ``until_s``, in seconds since the epoch, it stays there; None: until a person says otherwise.
    """

    workers: tuple[Worker, ...]
    by: By = By.PERSON
    override: str | None = None
    until_s: float | None = None
