"""What no placement can be better than: a proof, beside the search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from stormcut.model.placement import LowerBound, UpperBound
from stormcut.placement.algorithms.cut.prepare import Task
from stormcut.placement.bounds.headroom_bound import headroom_bound
from stormcut.placement.bounds.lower_bound import lower_bound

#: Share of the bound's effort where only what runs nowhere is placed, which takes no time itself.
HASTY = 0.3


@contextmanager
def bounding(task: Task) -> Iterator[Callable[[], LowerBound | UpperBound | None]]:
    """Prove a bound meanwhile; what is yielded waits for it.

    A lower bound on traffic in tuples, an upper one on head-room; none in bytes, which say nothing
    of tuples.
    """
    # Its linear programs run in another process.
    with ThreadPoolExecutor(1) as beside:
        yield beside.submit(_bound, task).result


def _bound(task: Task) -> LowerBound | UpperBound | None:
    effort = task.options.effort
    if task.options.objective == "headroom":
        return headroom_bound(task.problem, effort)
    if task.by_size:
        return None
    return lower_bound(task.problem, effort * (HASTY if task.stays else 1.0))
