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


def relieved(topology: RunningTopology, situation: Situation, present: Workers) -> Workers | None:
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
    most = min(MAX_TRIED, MAX_TRIED_EXECUTORS // max(situation.problem.executor_count, 1))
    closed = {node.id for node in situation.problem.nodes if node.max_executors == 0}
    staying = tuple(worker for worker in present if worker.slot.node not in closed)
    tried = 0
    while staying and broken(situation, situation.placement([staying])):
        tried += len(staying)
        if tried > most:
            return None
        staying = min(_without_one(staying), key=lambda left: _rank(situation, left))
    if not staying:
        return None
    if len(staying) == len(present):
        return present
    restored = completed(situation, staying, present, halves=True)
    if restored is None:
        return None
    placement = situation.placement([restored])
    if violations(situation.problem, placement) or not _has_heap(
        topology, situation, placement, restored, present
    ):
        return None
    return restored


def _has_heap(
    topology: RunningTopology,
    situation: Situation,
    placement: Placement,
    restored: Workers,
    present: Workers,
) -> bool:
    """Return whether those that share a slot are not too many for one worker."""
    executors = [set(worker.executors) for worker in present]
    if all(any(its.issuperset(w.executors) for its in executors) for w in restored):
        return True
    try:
        kept = within_heap((topology,), situation, placement)
    except Infeasible:
        return False
    return bool((kept.slots == placement.slots).all())


def _without_one(workers: Workers) -> Iterator[Workers]:
    for worker in workers:
        yield tuple(each for each in workers if each is not worker)


def _rank(situation: Situation, left: Workers) -> tuple[int, int]:
    """Return how many limits are broken, and, negative, how many executors are left."""
    return len(broken(situation, situation.placement([left]))), -sum(
        len(each.executors) for each in left
    )
