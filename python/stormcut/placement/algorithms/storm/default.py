"""Storm's own DefaultScheduler, executor for executor.

A topology that misses executors or workers keeps those of its workers that hold as many executors
as an even spread gives one; the others are freed, and EvenScheduler deals their executors and those
that run nowhere to free slots. Neither load, nor traffic, nor capacity matter.

Which of several equal workers stay depends on the order of Storm's hash maps, which is reproduced
here. Storm's map of a topology's assignment is taken as filled in the order of executor ids.

Differences that the problem format asks for are those of
`stormcut.placement.algorithms.storm.even`. A topology whose number of workers
is null counts as complete when all its executors run.

References
----------
Apache Storm 1.2.4, ``org.apache.storm.scheduler.DefaultScheduler``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stormcut.arrays import Ints
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.model.problem import Problem
from stormcut.placement.algorithms.storm.even import (
    deal,
    executors_of,
    living_slots,
    storm_executor_order,
    storm_slot_order,
    storm_topology_order,
    wanted_workers,
)
from stormcut.placement.algorithms.storm.java_order import (
    ASSOC_ARRAY_ENTRIES,
    clojure_map_order,
    copied_capacity,
    executor_map_order,
)


@dataclass(frozen=True)
class Options:
    """DefaultScheduler has no options."""


def place(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return what Storm 1.2.4's DefaultScheduler would do in this state.

    Executors stay unassigned if no slot is free. Takes O(topologies * slots + executors).

    Examples
    --------
    >>> from stormcut.model.problem import Component, Node, Topology
    >>> nodes = (Node("a", (6700,)), Node("b", (6700,)))
    >>> words = Topology("t", (Component.uniform("words", 3),), workers=2)
    >>> crowded = Problem(nodes, (words,), Placement(np.array([0, 0, 0])))
    >>> place(crowded, np.random.default_rng(0), Options()).slots.tolist()
    [0, 1, 0]
    """
    slots = living_slots(problem)
    in_order = storm_slot_order(problem)
    waiting = [
        topology
        for topology in storm_topology_order(problem)
        if _needs_scheduling(problem, topology, slots[executors_of(problem, topology)])
    ]
    for position, topology in enumerate(waiting):
        own = slots[executors_of(problem, topology)]
        available = in_order[~np.isin(in_order, slots)]
        wanted = wanted_workers(problem, topology, own, available, len(waiting) - position)
        _free_bad_slots(problem, topology, own, len(available), wanted)
        available = in_order[~np.isin(in_order, slots)]
        deal(problem, topology, own, available, wanted)
    return Placement(slots)


def _needs_scheduling(problem: Problem, topology: int, own: Ints) -> bool:
    wanted = problem.topologies[topology].workers or 0
    return bool((own < 0).any()) or wanted > len(np.unique(own))


def _free_bad_slots(
    problem: Problem, topology: int, own: Ints, available: int, wanted: int
) -> None:
    """Unassign the workers whose number of executors does not fit an even spread over all.

    ``own`` holds the slots of the topology's executors and is changed in place.
    """
    alive, counts = np.unique(own[own >= 0], return_counts=True)
    total = min(wanted, len(alive) + available)
    if total == 0 or (total <= len(alive) and (own >= 0).all()):
        return
    size, larger = divmod(len(own), total)
    quota = {size: total - larger, size + 1: larger}
    held = dict(zip(alive.tolist(), counts.tolist(), strict=True))
    for slot in _worker_order(problem, topology, own):
        if quota.get(held[slot], 0) > 0:
            quota[held[slot]] -= 1
        else:
            own[own == slot] = UNASSIGNED


def _worker_order(problem: Problem, topology: int, own: Ints) -> list[int]:
    """Return the slots that a topology holds in the order of Storm's map from slot to executors."""
    order = storm_executor_order(problem, topology)
    slot_of = {
        task: slot for task, slot in enumerate(own[order].tolist(), start=1) if slot != UNASSIGNED
    }
    tasks = executor_map_order(executor_map_order(slot_of), copied_capacity(len(slot_of)))
    executors = clojure_map_order((task, task) for task in tasks)
    held = (problem.slot_ids[slot_of[task]] for task, _ in executors)
    slots = clojure_map_order(held, ASSOC_ARRAY_ENTRIES)
    return [problem.slot_ordinals[slot] for slot in slots]
