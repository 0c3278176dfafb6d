"""RSM, R-Storm as Shukla and Simmhan describe and run it: the best-fitting machine for each thread.

One thread of each task per sweep, in topological order, goes to the machine nearest in resources
left and in network distance from the last one used. CPU is a limit of machines, memory of slots.
`slot_room` says how Storm's nodes are read. What the paper leaves open is decided thus:

- R-1: threads need the mean of what their task was allocated, which reproduces the paper's counts,
  not what a single thread at its peak would need, as printed.
- R-2: weights are 1; CPU and memory count in slots, a resource without limit as a million of them.
- R-3: the first slot of a machine with memory enough is taken; equal distances go to the first
  machine; the first reference is the first machine.

References
----------
A. Shukla and Y. Simmhan, "Model-driven scheduling for distributed stream processing systems",
J. Parallel Distrib. Comput. 117 (2018), section 7.3, Alg. 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.model.errors import Infeasible
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.model.problem import Problem
from stormcut.placement.algorithms.model_driven.allocation import Allocation
from stormcut.placement.algorithms.model_driven.slot_room import (
    SlotLimits,
    SlotRoom,
    Threads,
    placed,
    sweeps,
    tasks_of_allocation,
    tasks_of_problem,
    thread_counts,
)
from stormcut.placement.options import NOT_NEGATIVE, Bounded
from stormcut.placement.packing.capacity import CPU, EXECUTORS, MEMORY

#: Slots that a resource without a limit counts as.
UNLIMITED = 1e6

#: Distance to the machine itself is 0.
SAME_RACK, OTHER_RACK = 0.5, 1.0


@dataclass(frozen=True)
class Options(Bounded):
    """Weights of the distance function."""

    weight_cpu: float = field(
        default=1.0, metadata={"help": "weight of CPU left, in slots", "bounds": NOT_NEGATIVE}
    )
    weight_memory: float = field(
        default=1.0, metadata={"help": "weight of memory left, in slots", "bounds": NOT_NEGATIVE}
    )
    weight_network: float = field(
        default=1.0,
        metadata={
            "help": "weight of the network: 0.5 same rack, 1 another",
            "bounds": NOT_NEGATIVE,
        },
    )


def place(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return RSM's placement of executors with the loads that the problem declares.

    Takes O(executors x (nodes + slots)).

    Raises
    ------
    Infeasible
        No room was found for all executors.
    """
    machines = SlotLimits.of(problem)
    room = _room(machines, len(problem.topologies))
    slots = np.full(problem.executor_count, UNASSIGNED, dtype=np.int64)
    for topology, tasks in enumerate(tasks_of_problem(problem)):
        _pack(tasks, room, topology, options, slots)
    return placed("rsm", problem, slots)


def map_allocation(
    allocation: Allocation, machines: Sequence[int], options: Options | None = None
) -> Ints:
    """Return the threads of each task on each slot, shape (tasks, slots).

    Parameters
    ----------
    allocation : Allocation
        Source and sink have to be in it if they are to be mapped.
    machines : sequence of int
        Slots of each acquired machine.

    Raises
    ------
    Infeasible
        A thread found no room.
    """
    tasks = tasks_of_allocation(allocation)
    slots = np.full(allocation.threads, UNASSIGNED, dtype=np.int64)
    left = _pack(tasks, _room(SlotLimits.acquired(machines)), 0, options or Options(), slots)
    if left:
        raise Infeasible(f"rsm found none: insufficient resources for task {left[0]}", "slots")
    return thread_counts(tasks, slots, sum(machines))


def _room(machines: SlotLimits, topologies: int = 1) -> SlotRoom:
    limit = np.full(3, np.inf)
    limit[MEMORY] = machines.share[MEMORY]
    return SlotRoom(machines, limit, topologies)


def _pack(
    tasks: Sequence[Threads], room: SlotRoom, topology: int, options: Options, slots: Ints
) -> list[str]:
    """Map threads, in place; return the task of each that found no room."""
    left: list[str] = []
    reference = 0
    for task, number in sweeps(
        [[(task, number) for number in range(len(task.threads))] for task in tasks]
    ):
        load = task.loads[number]
        fits = np.flatnonzero(room.fits(load, topology))
        if not len(fits):
            left.append(task.name)
            continue
        nodes = room.machines.node[fits]
        nearest = int(np.argmin(_distance(room, load, reference, options)[nodes]))
        reference = int(nodes[nearest])
        room.put(load, int(fits[nearest]), topology)
        slots[task.threads[number]] = fits[nearest]
    return left


def _distance(room: SlotRoom, load: Floats, reference: int, options: Options) -> Floats:
    """Return each machine's distance for a thread, shape (machines,)."""
    machines = room.machines
    unit = np.where(np.isfinite(machines.share), machines.share, 1.0)
    rest = np.minimum((machines.limits - room.nodes.totals - load) / unit, UNLIMITED)
    compute = CPU if np.isfinite(machines.limits[:, CPU]).any() else EXECUTORS
    network = np.where(machines.rack == machines.rack[reference], SAME_RACK, OTHER_RACK)
    network[reference] = 0.0
    distance: Floats = (
        options.weight_memory * rest[:, MEMORY] ** 2
        + options.weight_cpu * rest[:, compute] ** 2
        + options.weight_network * network
    )
    return distance
