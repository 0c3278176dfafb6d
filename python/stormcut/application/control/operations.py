"""What people ask the controller to do, checked: the rules behind commands and pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stormcut.application.control.gate.gate import name_in
from stormcut.application.control.review.trail import Step, way_back
from stormcut.model.errors import InvalidInput


def resolved(topology: str, known: Iterable[str]) -> str:
    """Return the id of a topology that is named by its id or its name.

    Of several of one name it is the newest one's.

    Raises
    ------
    InvalidInput
        None is known by it.
    """
    ids = sorted(known)
    if topology in ids:
        return topology
    named = [each for each in ids if name_in(each) == topology]
    if not named:
        there = ", ".join(ids) or "none"
        raise InvalidInput(f"no such topology (known: {there})", topology)
    return max(named, key=_submitted)


def _submitted(topology: str) -> tuple[int, ...]:
    """Return the numbers that Storm appends to a name, the moment of submission first."""
    numbers = topology.rsplit("-", 2)[1:]
    return tuple(int(each) if each.isdigit() else 0 for each in reversed(numbers))


def undo_to(topology: str, trail: Sequence[Step]) -> Step:
    """Return the step that an undo takes back.

    Raises
    ------
    InvalidInput
        There is nothing further back.
    """
    step = way_back(trail)
    if step is None:
        raise InvalidInput("runs where it ran first: there is nothing further back", topology)
    return step
