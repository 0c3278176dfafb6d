"""A topology that breaks a limit where it runs: only the workers that must leave do."""

from __future__ import annotations

from collections.abc import Iterator

from stormcut.control.decide.completing import Workers, broken, completed
from stormcut.model.cluster import RunningTopology
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.objective.verify import violations
from stormcut.running.heap import within_heap
from stormcut.running.situation import Situation

#: Placements that are looked at to find who leaves, and the executors of them all.
MAX_TRIED, MAX_TRIED_EXECUTORS = 256, 512_000


def relieved(topology: RunningTopology, at: Situation, present: Workers) -> Workers | None:
    """Return the workers of one topology with those on other nodes that break a limit.

    Each that leaves starts in a free slot, or in several where no node has room for all of it;
    where these are too few, those that leave share some, as far as a worker's heap allows. All
    others stay as they are. Those on nodes that may hold none leave; then, while a limit is broken,
    the one with which fewest are, the smallest of several. Takes at most `MAX_TRIED` evaluations
    of a placement, and those of `completed`.

    Returns
    -------
    tuple of Worker or None
        None if there is no room for one that leaves, all would have to, or too many placements
        would have to be looked at to find who leaves.
    """
    most = min(MAX_TRIED, MAX_TRIED_EXECUTORS // max(at.problem.executor_count, 1))
    closed = {node.id for node in at.problem.nodes if node.max_executors == 0}
    staying = tuple(worker for worker in present if worker.slot.node not in closed)
    tried = 0
    while staying and broken(at, at.placement([staying])):
        tried += len(staying)
        if tried > most:
            return None
        staying = min(_without_one(staying), key=lambda left: _rank(at, left))
    if not staying:
        return None
    if len(staying) == len(present):
        return present
    found = completed(at, staying, present, halves=True)
    if found is None:
        return None
    placement = at.placement([found])
    if violations(at.problem, placement) or not _has_heap(topology, at, placement, found, present):
        return None
    return found


def _has_heap(
    topology: RunningTopology,
    at: Situation,
    placement: Placement,
    found: Workers,
    present: Workers,
) -> bool:
    """Return whether those that share a slot are not too many for one worker."""
    executors = [set(worker.executors) for worker in present]
    if all(any(its.issuperset(w.executors) for its in executors) for w in found):
        return True
    try:
        kept = within_heap((topology,), at, placement)
    except Infeasible:
        return False
    return bool((kept.slots == placement.slots).all())


def _without_one(workers: Workers) -> Iterator[Workers]:
    for worker in workers:
        yield tuple(each for each in workers if each is not worker)


def _rank(at: Situation, left: Workers) -> tuple[int, int]:
    """Return how many limits are broken, and, negative, how many executors are left."""
    return len(broken(at, at.placement([left]))), -sum(len(each.executors) for each in left)
