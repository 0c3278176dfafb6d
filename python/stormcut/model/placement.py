"""Where executors run: a pure value in the ordinals of one problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

#: Slot ordinal of an executor that runs nowhere.
UNASSIGNED = -1


@dataclass(frozen=True)
class LowerBound:
    """A proof that every feasible placement sends at least so many tuples/s between nodes."""

    tuples_per_second: float
    method: str


@dataclass(frozen=True)
class UpperBound:
    """A proof that no feasible placement has more head-room."""

    headroom: float
    method: str


@dataclass(frozen=True, eq=False)
class Placement:
    """Slot ordinal of every executor, `UNASSIGNED` for none; shape (executors,).

    ``notes`` are what the algorithm wants people to know, such as "over-committed: ...", one line
    each; ``bound`` is what it has proven, if anything. Neither takes part in comparisons.
    """

    slots: npt.NDArray[np.int64]
    notes: tuple[str, ...] = ()
    bound: LowerBound | UpperBound | None = None

    def __eq__(self, other: object) -> bool:
        """Return whether both place every executor alike."""
        return isinstance(other, Placement) and np.array_equal(self.slots, other.slots)

    def __hash__(self) -> int:
        return hash(self.slots.tobytes())
