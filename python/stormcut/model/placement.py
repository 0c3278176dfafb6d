"""Where executors run: a pure value in the ordinals of one problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

#: Slot ordinal of an executor that runs nowhere.
UNASSIGNED = -1


@dataclass(frozen=True, eq=False)
class Placement:
    """Slot ordinal of every executor, `UNASSIGNED` for none; shape (executors,).

    ``notes`` are what the algorithm wants people to know, such as "over-committed: ...", one line
    each; they take no part in comparisons.
    """

    slots: npt.NDArray[np.int64]
    notes: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        """Return whether both place every executor alike."""
        return isinstance(other, Placement) and np.array_equal(self.slots, other.slots)

    def __hash__(self) -> int:
        return hash(self.slots.tobytes())
