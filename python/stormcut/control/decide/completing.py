"""A topology that has lost workers is completed: those that live stay as they are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from stormcut.arrays import Ints
from stormcut.control.decide.situation import Situation
from stormcut.control.decide.worth import worth
from stormcut.model.cluster import Slot, Worker
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.objective.verify import violations

Workers = tuple[Worker, ...]
Broken = set[tuple[str, str]]

#: For each lost worker at most so many nodes are looked at: those that run something of the
#: topology, then those with most free slots.
MAX_NODES = 64


def completed(
    at: Situation,
    present: Workers,
    planned: Workers | None,
    suspects: Collection[str] = (),
    halves: bool = False,
) -> Workers | None:
    """Return the workers of one topology with those that it has lost, each on one free slot.

    Executors that shared a worker by the plan share one again; of others, all are in one. The
    largest come first, each to where the head-room is best, then the traffic; where slots are too
    few, they share those of others that were lost. Takes O(lost workers x nodes) evaluations of a
    placement, of `MAX_NODES` nodes at most.

    Parameters
    ----------
    planned : tuple of Worker, optional
        Where a plan has put it.
    suspects : set of str
        Nodes on which nothing starts: they have just lost its workers.
    halves : bool
        Whether executors that no slot takes together may go to several.

    Returns
    -------
    tuple of Worker or None
        None if there is no room for one of them.
    """
    placement = at.placement([present])
    slots = placement.slots.copy()
    (load,) = at.loads
    position = {task: index for index, task in enumerate(load.tasks)}
    lost = [task for task, index in position.items() if slots[index] == UNASSIGNED]
    before = broken(at, placement)
    begun: list[int] = []
    waiting = sorted(_groups(lost, planned), key=lambda tasks: (-len(tasks), tasks))
    while waiting:
        group = waiting.pop(0)
        rows = [position[task] for task in group]
        for free in (_free(at, slots, suspects), begun):
            tried = _tried(at, slots, rows, before, free)
            best = min(tried, key=lambda found: found[0], default=None)
            if best is not None:
                break
        else:
            if not halves or len(group) == 1:
                return None
            middle = len(group) // 2
            waiting[:0] = [group[:middle], group[middle:]]
            continue
        slots = best[1]
        begun.append(int(slots[rows[0]]))
    return at.workers(Placement(slots))[0]


def _groups(lost: Iterable[int], planned: Workers | None) -> list[tuple[int, ...]]:
    """Return lost executors by the worker that the plan has them in."""
    where: Mapping[int, Slot] = {task: w.slot for w in planned or () for task in w.executors}
    groups: dict[Slot | None, list[int]] = defaultdict(list)
    for task in lost:
        groups[where.get(task)].append(task)
    return [tuple(tasks) for tasks in groups.values()]


def _tried(
    at: Situation, slots: Ints, rows: list[int], before: Broken, free: Iterable[int]
) -> Iterator[tuple[tuple[float, float, int], Ints]]:
    """Yield placements with these executors on each of these slots, with what it costs."""
    for slot in free:
        tried = slots.copy()
        tried[rows] = slot
        placement = Placement(tried)
        # What was broken before is no reason against it.
        if broken(at, placement) <= before:
            value = worth(at, placement)
            yield (-value.headroom, value.travels, slot), tried


def broken(at: Situation, placement: Placement) -> Broken:
    """Return the limits that are broken, and by how much: that executors run nowhere is none."""
    found = violations(at.problem, placement)
    return {(v.constraint, v.message) for v in found if v.constraint != "unassigned"}


def _free(at: Situation, slots: Ints, suspects: Collection[str]) -> list[int]:
    """Return a free slot of each node to be looked at."""
    used = set(slots[slots != UNASSIGNED].tolist())
    free: dict[str, list[int]] = defaultdict(list)
    for ordinal, (node, _) in enumerate(at.problem.slot_ids[: at.problem.slot_count]):
        if ordinal not in used and node not in suspects:
            free[node].append(ordinal)
    own = {at.problem.slot_ids[slot][0] for slot in used}
    order = sorted(free, key=lambda node: (node not in own, -len(free[node]), node))
    return [free[node][0] for node in order[:MAX_NODES]]
