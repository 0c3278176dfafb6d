"""How often Python looks for reference cycles."""

from __future__ import annotations

import gc

#: Objects that are made between two collections; Python's default is 700.
THRESHOLD = 50_000


def collect_seldom() -> None:
    """Collect less often than by default, and leave alone what is loaded now.

    A round over a large cluster makes a million small values that refer to no cycle: with Python's
    default a fifth of its time goes to collections that find nothing.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(THRESHOLD)
