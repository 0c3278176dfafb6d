"""What people have told the controller while it runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from stormcut.model.cluster import RunningTopology, Supervisor, Worker


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
    aliases : mapping of str to str
        By a name in ``drained``: the id of the host, or the host of the id, when it was drained.
    approved_by : mapping of str to str
        By the name of a proposal: who approved it.
    overrides : mapping of str to Override
        By the name of an approved proposal: the guards that it passes.
    pauses : int
        How often a pause was ordered.
    why : str
        Who paused it, or why it paused by itself.
    revision : int
        Tells what was stored last; higher ones are newer.
    """

    is_paused: bool = False
    approved: frozenset[str] = frozenset()
    drained: frozenset[str] = frozenset()
    overrides: Mapping[str, Override] = field(default_factory=dict)
    pauses: int = 0
    aliases: Mapping[str, str] = field(default_factory=dict)
    why: str = ""
    approved_by: Mapping[str, str] = field(default_factory=dict)
    revision: int = field(default=0, compare=False)

    def drained_nodes(self, supervisors: Iterable[Supervisor]) -> frozenset[str]:
        """Return the ids of the drained nodes.

        A machine that has returned under another id, or host, is known by its other name.
        """
        known = tuple(supervisors)
        names = _names(known)
        wanted = {name if name in names else self.aliases.get(name) for name in self.drained}
        return frozenset(each.id for each in known if wanted & {each.id, each.host})

    def drained_nowhere(self, supervisors: Iterable[Supervisor]) -> tuple[str, ...]:
        """Return the drained names that no supervisor has (any more), ascending."""
        names = _names(supervisors)
        return tuple(
            sorted(n for n in self.drained if n not in names and self.aliases.get(n) not in names)
        )


def _names(supervisors: Iterable[Supervisor]) -> set[str]:
    return {name for each in supervisors for name in (each.id, each.host)}


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

    No workers: wherever it runs when the order is carried out. ``who`` gave the order;
    ``override`` says which guards it passes, None: none. Until ``until_s``, in seconds since the
    epoch, it stays there; None: until a person says otherwise.
    """

    workers: tuple[Worker, ...]
    by: By = By.PERSON
    override: Override | None = None
    until_s: float | None = None
    who: str = ""

    def target(self, topology: RunningTopology) -> tuple[Worker, ...]:
        """Return the workers that the topology shall run on, ascending."""
        return tuple(sorted(self.workers or topology.assignment))
