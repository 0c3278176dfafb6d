"""What no placement can be better than: a proof, beside the search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from stormcut.model.placement import LowerBound, UpperBound
from stormcut.placement.algorithms.cut.balance import MostHeadroom
from stormcut.placement.algorithms.cut.model import Ints
from stormcut.placement.algorithms.cut.prepare import Task
from stormcut.placement.bounds.headroom_bound import headroom_bound
from stormcut.placement.bounds.lower_bound import lower_bound

#: Share of the bound's effort where only what runs nowhere is placed, which takes no time itself.
HASTY = 0.3

#: What sums may differ by.
ROUNDING = 1e-6

Bound = LowerBound | UpperBound | None


@contextmanager
def bounding(task: Task) -> Iterator[Callable[[Ints], Bound]]:
    """Prove a bound meanwhile; what is yielded waits for it, given the nodes that were found.

    A lower bound on traffic in tuples, an upper one on head-room; none in bytes, which say nothing
    of tuples.
    """

    def proven(nodes: Ints) -> Bound:
        bound = running.result()
        assert _holds(task, nodes, bound)
        return bound

    # Its linear programs run in another process.
    with ThreadPoolExecutor(1) as beside:
        running = beside.submit(_bound, task)
        yield proven


def _bound(task: Task) -> Bound:
    effort = task.options.effort
    if task.objective == "headroom":
        return headroom_bound(task.problem, effort)
    if task.by_size:
        return None
    return lower_bound(task.problem, effort * (HASTY if task.stays else 1.0))


def _holds(task: Task, nodes: Ints, bound: Bound) -> bool:
    """Return whether a placement is no better than what is proven possible."""
    if isinstance(bound, UpperBound):
        return MostHeadroom(task.problem).worth(nodes)[0] <= bound.headroom * (1 + ROUNDING)
    if isinstance(bound, LowerBound):
        groups = task.instance.groups
        crossing = groups.total - groups.local(task.instance.counted(nodes))
        return bound.tuples_per_second <= crossing + ROUNDING * max(1.0, groups.total)
    return True
