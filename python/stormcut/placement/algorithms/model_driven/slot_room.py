"""Slots as the model-driven mappings see them: equal shares of their machines.

The paper's machines have one core per slot, slots are equal, and nothing but CPU and memory limits
them. Storm's nodes are read thus:

- S-1: a slot is one core and the part of its node's memory that goes with it, more if the node has
  fewer ports than cores; of nodes with less than a core, or without a limit of CPU, the whole node.
  Slots are equal: the smallest counts.
- S-2: a node may offer more ports than it has such shares. Its own limits bind besides.
- S-3: where no node limits CPU, numbers of executors take its place.
- S-4: an executor that is larger than a slot's share takes an empty slot of a node with room.
- S-5: one topology after another; a slot belongs to one of them, and no topology takes its second
  slot while another could be left without any.
- S-6: executors that the mapping itself cannot place, for which the paper acquires another slot, go
  to nodes that still have room, at least cost in traffic (see `fit`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import TypeVar

import numpy as np

from stormcut.arrays import Bools, Floats, Ints
from stormcut.model.errors import Infeasible
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.model.problem import Problem
from stormcut.objective.verify import exceeds
from stormcut.placement.algorithms.model_driven.allocation import Allocation
from stormcut.placement.graph.component_graph import component_graph, linear_order
from stormcut.placement.packing.capacity import (
    CPU,
    EXECUTORS,
    loads,
    node_limits,
    node_racks,
    scarcest,
)
from stormcut.placement.packing.fit import fit
from stormcut.placement.packing.room import HostTotals
from stormcut.placement.slots.seating import seat

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class SlotLimits:
    """Slots, their nodes and their limits.

    Parameters
    ----------
    node : array of shape (slots,)
        Node of each slot.
    limits : array of shape (nodes, 3)
        CPU, executors and memory of each node, infinite where there is no limit.
    share : array of shape (3,)
        What one slot stands for.
    rack : array of shape (nodes,)
    """

    node: Ints
    limits: Floats
    share: Floats
    rack: Ints

    @classmethod
    def of(cls, problem: Problem) -> SlotLimits:
        """Return the nodes of a problem."""
        limits = node_limits(problem)
        ports = np.array([len(node.ports) for node in problem.nodes], dtype=np.float64)
        return cls(problem.slot_node, limits, _share(limits, ports), node_racks(problem))

    @classmethod
    def acquired(cls, sizes: Sequence[int]) -> SlotLimits:
        """Return machines of one rack with so many slots of 100 % CPU and memory each."""
        slots = np.array(sizes, dtype=np.float64)
        return cls(
            np.repeat(np.arange(len(slots)), sizes),
            np.stack((100 * slots, np.full(len(slots), np.inf), 100 * slots), axis=1),
            np.array([100.0, np.inf, 100.0]),
            np.zeros(len(slots), dtype=np.int64),
        )


def _share(limits: Floats, ports: Floats) -> Floats:
    """Return what one slot stands for (S-1), shape (3,)."""
    usable = (limits > 0).all(axis=1) & (ports > 0)
    able = limits[usable]
    if not len(able):
        return np.full(3, np.inf)
    cores = np.where(np.isfinite(able[:, CPU]), np.maximum(able[:, CPU] / 100, 1.0), 1.0)
    share = able / np.minimum(cores, ports[usable])[:, None]
    # A number of executors does not divide; the node's own limit is enough.
    share[:, EXECUTORS] = able[:, EXECUTORS]
    return np.asarray(share.min(axis=0))


@dataclass(frozen=True, eq=False)
class Threads:
    """Threads to be mapped: ordinals, shape (n,), and CPU, 1 and memory of each, shape (n, 3)."""

    name: str
    threads: Ints
    loads: Floats


def tasks_of_problem(problem: Problem) -> list[list[Threads]]:
    """Return the tasks of each topology in topological order, spouts first where there are cycles.

    Threads are executors, with the loads that the problem declares.
    """
    graph = component_graph(problem)
    count = len(graph.size)
    sources = [*np.flatnonzero(graph.spout).tolist(), *np.flatnonzero(~graph.spout).tolist()]
    names = [f"{t.id}/{c.name}" for t in problem.topologies for c in t.components]
    needs = loads(problem)
    result: list[list[Threads]] = [[] for _ in problem.topologies]
    for component in linear_order(count, graph.edges, sources):
        threads = graph.executors(component)
        result[graph.topology[component]].append(Threads(names[component], threads, needs[threads]))
    return result


def tasks_of_allocation(allocation: Allocation) -> list[Threads]:
    """Return the tasks of an allocation, each thread with the mean of its task's resources."""
    result, first = [], 0
    for each in allocation.tasks:
        count = each.total.threads
        mean = (each.total.cpu_percent / count, 1.0, each.total.memory_percent / count)
        result.append(
            Threads(each.task, np.arange(first, first + count), np.tile(mean, (count, 1)))
        )
        first += count
    return result


def thread_counts(tasks: Sequence[Threads], slots: Ints, slot_count: int) -> Ints:
    """Return the number of threads of each task on each slot, shape (tasks, slots)."""
    rows = [np.bincount(slots[task.threads], minlength=slot_count) for task in tasks]
    return np.array(rows, dtype=np.int64).reshape(len(tasks), slot_count)


def sweeps(lists: Sequence[Sequence[T]]) -> Iterator[T]:
    """Yield the first of every list in turn, then the second of every list that has one..."""
    yield from (each for each in chain.from_iterable(zip_longest(*lists)) if each is not None)


class SlotRoom:
    """What slots and nodes still have room for, while threads come.

    Parameters
    ----------
    machines : Machines
    slot_limit : array of shape (3,)
        What one slot holds, infinite for a resource that only the node limits.
    topologies : int
    """

    def __init__(self, machines: SlotLimits, slot_limit: Floats, topologies: int = 1) -> None:
        self.machines, self.slot_limit = machines, slot_limit
        nodes = len(machines.limits)
        self.nodes = HostTotals(
            machines.limits, np.bincount(machines.node, minlength=nodes), topologies
        )
        self.slot_used = np.zeros((len(machines.node), 3))
        self._tenant = np.full(len(machines.node), -1, dtype=np.int64)
        self._closed = np.zeros(len(machines.node), dtype=bool)
        self._homeless = np.ones(topologies, dtype=bool)

    @property
    def empty(self) -> Bools:
        """Which slots hold nothing, shape (slots,)."""
        result: Bools = self._tenant < 0
        return result

    def fits(self, load: Floats, topology: int) -> Bools:
        """Return which slots can take a load of shape (3,), shape (slots,)."""
        slots = self._may_open(topology)
        if not exceeds(load, self.slot_limit).any():
            own = np.flatnonzero((self._tenant == topology) & ~self._closed)
            full = exceeds(self.slot_used[own] + load, self.slot_limit).any(axis=1)
            slots[own] = ~full
        slots &= self.nodes.within(load)[self.machines.node]
        return slots

    def _may_open(self, topology: int) -> Bools:
        """Return which empty slots a topology may take (S-5), shape (slots,)."""
        free = self.empty
        if not self._homeless[topology] and free.sum() <= self._homeless.sum():
            free[:] = False
        return free

    def put(self, load: Floats, slot: int, topology: int, alone: bool = False) -> None:
        """Add a load to a slot; ``alone``: nothing else comes there."""
        self.slot_used[slot] += load
        self.nodes.add(load, topology, int(self.machines.node[slot]))
        self._tenant[slot] = topology
        self._closed[slot] = alone
        self._homeless[topology] = False


def placed(name: str, problem: Problem, slots: Ints) -> Placement:
    """Return a mapping as a placement: leftovers find room (S-6), and few workers restart.

    Parameters
    ----------
    name : str
        The algorithm, for messages.
    slots : array of shape (executors,)
        `UNASSIGNED` for executors that could not be mapped.

    Raises
    ------
    Infeasible
        No room was found.
    """
    left = slots == UNASSIGNED
    nodes = np.where(left, UNASSIGNED, problem.slot_node[slots])
    notes: tuple[str, ...] = ()
    if left.any():
        fitting = fit(problem, nodes)
        if fitting is None:
            binding = scarcest(loads(problem), SlotLimits.of(problem).limits)
            raise Infeasible(
                f"{name} found none: {int(left.sum())} executors are left over, and nodes have "
                "no room for them",
                binding,
            )
        notes = (
            f"{int(left.sum())} executors found no slot with room: placed where nodes have some",
        )
        slots, nodes = np.where(fitting == nodes, slots, UNASSIGNED), fitting
    return Placement(seat(problem, nodes, slots), notes)
