"""No worker is given more executors than its heap holds, by what they declare."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from stormcut.arrays import Ints
from stormcut.model.cluster import RunningTopology
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.model.problem import DEFAULT_MEMORY_MB
from stormcut.objective.verify import violations
from stormcut.running.situation import Situation


def declared_mb(topology: RunningTopology) -> dict[int, float]:
    """Return what each executor declares, by first task; nothing where nobody has declared any.

    Storm's default for each executor is nobody's statement, unless others are told apart from it.
    """
    wanted = {e.start_task: e.memory_mb or DEFAULT_MEMORY_MB for e in topology.executors}
    says = any(mb != DEFAULT_MEMORY_MB for mb in wanted.values())
    return wanted if says and topology.worker_heap_mb is not None else {}


def within_heap(
    topologies: Sequence[RunningTopology], situation: Situation, placement: Placement
) -> Placement:
    """Return a placement whose workers stay within their heaps: what is too much gets others.

    They are on the same node, so that nothing more travels between nodes, as long as it has slots:
    largest executors first, each to the first worker with room. Takes
    O(executors x workers of a node).

    Raises
    ------
    Infeasible
        There are too few free slots for that, or another node would hold too much.
    """
    slots = placement.slots.copy()
    for topology, load, own in zip(topologies, situation.loads, situation.executors, strict=True):
        if mb := declared_mb(topology):
            assert topology.worker_heap_mb is not None
            sizes = np.array([mb[task] for task in load.tasks])
            _split(situation, slots, own, sizes, topology.worker_heap_mb)
    split = replace(placement, slots=slots)
    if (slots != placement.slots).any() and (broken := violations(situation.problem, split)):
        raise Infeasible(broken[0].message, broken[0].constraint)
    return split


def _split(
    situation: Situation, slots: Ints, own: slice, sizes: npt.NDArray[np.float64], heap_mb: float
) -> None:
    """Split those workers of one topology, whose executors are ``own``, that hold too much."""
    rows: dict[int, list[int]] = defaultdict(list)
    for row, slot in enumerate(slots[own].tolist()):
        rows[slot].append(row)
    for slot, members in sorted(rows.items()):
        if sizes[members].sum() <= heap_mb:
            continue
        workers = _packed(members, sizes, heap_mb)
        free = _free(situation, slots, situation.problem.slot_ids[slot][0])
        if len(free) < len(workers) - 1:
            raise Infeasible(
                f"{1 + len(free)} slots are left for executors of {sizes[members].sum():,.0f} MB "
                f"in workers of {heap_mb:,.0f} MB",
                "memory",
            )
        for target, chosen in zip(free, workers[1:], strict=False):
            slots[own.start + np.array(chosen)] = target


def _free(situation: Situation, slots: Ints, node: str) -> list[int]:
    """Return free slots, those of this node first, then those of nodes with most."""
    used = set(slots.tolist())
    free: dict[str, list[int]] = defaultdict(list)
    for ordinal, (of, _) in enumerate(situation.problem.slot_ids[: situation.problem.slot_count]):
        if ordinal not in used:
            free[of].append(ordinal)
    order = sorted(free, key=lambda name: (name != node, -len(free[name]), name))
    return [slot for name in order for slot in free[name]]


def _packed(rows: Sequence[int], sizes: npt.NDArray[np.float64], heap_mb: float) -> list[list[int]]:
    """Return executors by worker; one that is larger than a heap has a worker of its own."""
    workers: list[list[int]] = []
    left: list[float] = []
    for row in sorted(rows, key=lambda row: (-sizes[row], row)):
        worker = next((n for n, room in enumerate(left) if sizes[row] <= room), None)
        if worker is None:
            workers.append([row])
            left.append(heap_mb - sizes[row])
        else:
            workers[worker].append(row)
            left[worker] -= sizes[row]
    return workers
