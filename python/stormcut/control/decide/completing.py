"""A topology that has lost workers is completed: those that live stay as they are."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, islice

import numpy as np

from stormcut.arrays import Ints
from stormcut.control.decide.worth import worth
from stormcut.model.cluster import Slot, Worker
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.objective.cut import executor_nodes
from stormcut.objective.verify import violations
from stormcut.running.situation import Situation

Workers = tuple[Worker, ...]
Broken = set[tuple[str, str]]

#: Nodes that are tried for each worker that starts.
MAX_NODES = 64
#: Pairs of executors, summed over all placements that are tried for a topology: about a second.
MAX_COUNTED = 4_000_000
#: To evaluate an executor takes as long as to evaluate this many pairs.
PAIRS_OF_EXECUTOR = 8


def completed(
    situation: Situation,
    present: Workers,
    planned: Workers | None,
    suspects: Collection[str] = (),
    halves: bool = False,
) -> Workers | None:
    """Return the workers of one topology with those that it has lost, each on one free slot.

    Executors that shared a worker by the plan share one again; of others, all are in one. The
    largest come first, each to where the head-room is best, then the traffic; where slots are too
    few, they share those of others that were lost. Of more nodes than can be tried, the emptiest
    are, and those with which the executors exchange most; where none can, the emptiest takes them
    that breaks no limit. Takes O(lost workers x tried nodes) evaluations of a placement.

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
    placement = situation.placement([present])
    slots = placement.slots.copy()
    (load,) = situation.loads
    position = {task: index for index, task in enumerate(load.tasks)}
    lost = [task for task, index in position.items() if slots[index] == UNASSIGNED]
    before = broken(situation, placement)
    begun: list[int] = []
    waiting = sorted(_groups(lost, planned), key=lambda tasks: (-len(tasks), tasks))
    most = _nodes_to_try(situation, len(waiting))
    while waiting:
        group = waiting.pop(0)
        rows = [position[task] for task in group]
        for free in (_free(situation, slots, rows, suspects, most), begun):
            best = _best(situation, _fitting(situation, slots, rows, before, free), most)
            if best is not None:
                break
        else:
            if not halves or len(group) == 1:
                return None
            middle = len(group) // 2
            waiting[:0] = [group[:middle], group[middle:]]
            continue
        slots = best
        begun.append(int(slots[rows[0]]))
    return situation.workers(Placement(slots))[0]


def _groups(lost: Iterable[int], planned: Workers | None) -> list[tuple[int, ...]]:
    """Return lost executors by the worker that the plan has them in."""
    where: Mapping[int, Slot] = {task: w.slot for w in planned or () for task in w.executors}
    groups: dict[Slot | None, list[int]] = defaultdict(list)
    for task in lost:
        groups[where.get(task)].append(task)
    return [tuple(tasks) for tasks in groups.values()]


def _fitting(
    situation: Situation, slots: Ints, rows: list[int], before: Broken, free: Iterable[int]
) -> Iterator[Ints]:
    """Yield placements with these executors on each of these slots that newly break no limit."""
    for slot in free:
        tried = slots.copy()
        tried[rows] = slot
        # What was broken before is no reason against it.
        if broken(situation, Placement(tried)) <= before:
            yield tried


def _best(situation: Situation, fitting: Iterator[Ints], most: int) -> Ints | None:
    """Return the best of the first placements: most head-room, then least traffic."""
    if not most:
        return next(fitting, None)

    def rank(slots: Ints) -> tuple[float, float]:
        value = worth(situation, Placement(slots))
        return -value.headroom, value.travels

    return min(islice(fitting, most), key=rank, default=None)


def broken(situation: Situation, placement: Placement) -> Broken:
    """Return the limits that are broken, and by how much: that executors run nowhere is none."""
    violated = violations(situation.problem, placement)
    return {(v.constraint, v.message) for v in violated if v.constraint != "unassigned"}


def _nodes_to_try(situation: Situation, workers: int) -> int:
    """Return how many nodes there is time to try for each worker, 0 if for none."""
    problem = situation.problem
    counted = len(problem.traffic.rate) + PAIRS_OF_EXECUTOR * problem.executor_count
    return min(MAX_NODES, MAX_COUNTED // max(counted * workers, 1))


def _free(
    situation: Situation, slots: Ints, rows: list[int], suspects: Collection[str], most: int
) -> list[int]:
    """Return a free slot of each node, the most promising first where not all can be tried."""
    used = set(slots[slots != UNASSIGNED].tolist())
    closed = [node.id in suspects or node.max_executors == 0 for node in situation.problem.nodes]
    first: dict[int, int] = {}
    for slot, node in enumerate(situation.problem.slot_node.tolist()):
        if slot not in used and not closed[node]:
            first.setdefault(node, slot)
    if len(first) <= most:
        return list(first.values())
    return [first[node] for node in _promising(situation, slots, rows, list(first))]


def _promising(situation: Situation, slots: Ints, rows: list[int], nodes: list[int]) -> list[int]:
    """Order nodes: by turns the emptiest, and that which exchanges most with the executors."""
    problem, count = situation.problem, len(situation.problem.nodes)
    ran = executor_nodes(problem, Placement(slots))
    on_node = (ran >= 0) & (ran < count)
    cpu, where = problem.executor_cpu[on_node], ran[on_node]
    offered = np.array([node.cpu_percent or math.inf for node in problem.nodes])
    left = offered - np.bincount(where, cpu, count)
    exchanged = np.bincount(where, problem.traffic.exchanged_with(rows)[on_node], count)
    empty = sorted(nodes, key=lambda node: (-left[node], -exchanged[node], node))
    near = sorted(nodes, key=lambda node: (-exchanged[node], -left[node], node))
    return list(dict.fromkeys(chain.from_iterable(zip(empty, near, strict=True))))
