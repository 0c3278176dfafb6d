"""What people have told the controller while it runs."""

from __future__ import annotations

from dataclasses import dataclass


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
    """

    is_paused: bool = False
    approved: frozenset[str] = frozenset()
    drained: frozenset[str] = frozenset()


NO_ORDERS = Orders()
