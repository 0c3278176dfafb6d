"""Storm's own EvenScheduler, executor for executor.

Executors are dealt in turn to the slots of a topology; slots are taken in turn from the nodes that
have most free ones. Neither load, nor traffic, nor capacity matter.

Storm's answer depends on the iteration order of hash collections (supervisors by id, topologies by
id, ports by number), which is reproduced here. Supervisor ids that fall into the same bucket come
in the order of the problem's nodes; in Storm, in the order in which ZooKeeper listed them.

Differences that the problem format asks for: a topology whose number of workers is null takes all
free slots, or its equal part of them if other topologies wait too (the thesis, section 5.1, deals
over all slots; Storm itself knows no null, its default is 1); executors that name a slot which no
node offers any more count as dead.

References
----------
Apache Storm 1.2.4, ``org.apache.storm.scheduler.EvenScheduler`` and ``Cluster``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, zip_longest

import numpy as np

from stormcut.arrays import Ints
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.model.problem import Problem
from stormcut.placement.algorithms.storm.java_order import (
    clojure_map_order,
    hash_map_order,
    hash_set_order,
    sort_key,
)


@dataclass(frozen=True)
class Options:
    """EvenScheduler has no options."""


def place(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return what Storm 1.2.4's EvenScheduler would do in this state.

    Executors that run stay where they are, and a topology that Storm would leave alone is left
    alone. As in Storm, executors stay unassigned if the topology already holds all the workers it
    asks for, or no slot is free.

    Examples
    --------
    >>> from stormcut.model.problem import Component, Node, Topology
    >>> nodes = (Node("a", (6700,)), Node("b", (6700,)))
    >>> words = Topology("t", (Component.uniform("words", 3),), workers=2)
    >>> place(Problem(nodes, (words,)), np.random.default_rng(0), Options()).slots.tolist()
    [0, 1, 0]
    """
    slots = living_slots(problem)
    in_order = storm_slot_order(problem)
    waiting = [
        topology
        for topology in storm_topology_order(problem)
        if (slots[executors_of(problem, topology)] < 0).any()
    ]
    for position, topology in enumerate(waiting):
        own = slots[executors_of(problem, topology)]
        available = in_order[~np.isin(in_order, slots)]
        wanted = wanted_workers(problem, topology, own, available, len(waiting) - position)
        deal(problem, topology, own, available, wanted)
    return Placement(slots)


def living_slots(problem: Problem) -> Ints:
    """Return a copy of the slots that executors hold now, those that no node offers left out."""
    slots = problem.current_slots().copy()
    slots[slots >= problem.slot_count] = UNASSIGNED
    return slots


def executors_of(problem: Problem, topology: int) -> slice:
    """Return the executor ordinals of a topology."""
    first, last = problem.topology_offsets[topology : topology + 2].tolist()
    return slice(first, last)


def wanted_workers(
    problem: Problem, topology: int, own: Ints, available: Ints, waiting: int
) -> int:
    """Return how many workers a topology asks for.

    ``own`` holds the slots of its executors, ``available`` all free ones; ``waiting`` topologies,
    this one included, still want some.
    """
    workers = problem.topologies[topology].workers
    if workers is None:
        return len(np.unique(own[own >= 0])) - (-len(available) // waiting)
    return workers


def deal(problem: Problem, topology: int, own: Ints, available: Ints, wanted: int) -> None:
    """Assign the executors of one topology that run nowhere, in place in ``own``."""
    alive = len(np.unique(own[own >= 0]))
    total = min(wanted, len(available) + alive)
    chosen = sort_slots(problem, available.tolist())[: max(0, total - alive)]
    order = storm_executor_order(problem, topology)
    idle = order[own[order] < 0]
    if chosen:
        own[idle] = np.resize(np.array(chosen, dtype=np.int64), len(idle))


def storm_topology_order(problem: Problem) -> list[int]:
    """Return the topologies in the order of Storm's ``Topologies.getTopologies``."""
    ordinal_of = {topology.id: ordinal for ordinal, topology in enumerate(problem.topologies)}
    return [ordinal_of[name] for name in hash_map_order(ordinal_of)]


def storm_slot_order(problem: Problem) -> Ints:
    """Return all slots in the order of Storm's ``Cluster.getAvailableSlots``, shape (slots,)."""
    ports = {node.id: node.ports for node in problem.nodes}
    slots = [
        problem.slot_ordinals[name, port]
        for name in hash_map_order(ports)
        for port in hash_set_order(ports[name])
    ]
    return np.array(slots, dtype=np.int64)


def sort_slots(problem: Problem, available: list[int]) -> list[int]:
    """Return slots as Storm's ``sort-slots`` does: by turns from each node, fullest node first."""
    by_node: dict[str, list[int]] = {}
    for slot in available:
        by_node.setdefault(problem.slot_ids[slot][0], []).append(slot)
    groups = [by_node[name] for name in clojure_map_order(by_node)]
    groups.sort(key=len, reverse=True)
    return [slot for slot in chain.from_iterable(zip_longest(*groups)) if slot is not None]


def storm_executor_order(problem: Problem, topology: int) -> Ints:
    """Return a topology's executors, counted within it, in the order of Storm's task ids.

    Storm numbers the tasks of components sorted by name (as Java sorts strings).
    """
    components = sorted(problem.topologies[topology].components, key=lambda c: sort_key(c.name))
    offsets = problem.topologies[topology].offsets
    parts = [np.arange(offsets[c.name], offsets[c.name] + c.executors) for c in components]
    return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, dtype=np.int64)
