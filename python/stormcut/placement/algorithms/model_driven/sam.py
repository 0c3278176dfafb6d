"""SAM, slot-aware mapping: a slot of its own for every full bundle of one task's threads.

A full bundle is as many threads of a task as serve most on one slot; the rest of a task's threads
stay together and go to the slot that they fill best. `slot_room` says how Storm's nodes are read.
What the paper leaves open or prints wrong is decided thus:

- M-1: full bundles are those that the allocator counted (`mba`). The printed test, "at least a
  bundle of threads is left", gives tasks with one-thread bundles a slot for a small rest, and needs
  more slots than estimated in all of the paper's cases, where it reports one such case.
- M-2: a problem declares executors and their loads, no performance models. Its tasks scale
  linearly, as `lsa` sees them, so that a full bundle is as many executors as fit one slot's share;
  it takes an empty slot alone, but counts on its node with what its executors declare.
- M-3: the space left in a slot is CPU and memory in slots; a resource without limit counts nothing.
  Equal spaces go to the first slot.

References
----------
A. Shukla and Y. Simmhan, "Model-driven scheduling for distributed stream processing systems",
J. Parallel Distrib. Comput. 117 (2018), section 7.4, Alg. 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.model.problem import Problem
from stormcut.objective.verify import exceeds
from stormcut.placement.algorithms.model_driven.allocation import Allocation, TaskAllocation
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


@dataclass(frozen=True)
class Options:
    """SAM has no options."""


@dataclass(frozen=True, eq=False)
class Bundle:
    """Threads of one task that go to one slot, and what they need, shape (3,).

    A full one has its slot to itself.
    """

    task: str
    threads: Ints
    load: Floats
    full: bool


def place(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return SAM's placement of executors with the loads that the problem declares (M-2).

    Takes O(executors + bundles x slots).

    Raises
    ------
    Infeasible
        No room was found for all executors.
    """
    machines = SlotLimits.of(problem)
    room = SlotRoom(machines, machines.share, len(problem.topologies))
    slots = np.full(problem.executor_count, UNASSIGNED, dtype=np.int64)
    for topology, tasks in enumerate(tasks_of_problem(problem)):
        _pack([_linear(task, machines.share) for task in tasks], room, topology, slots)
    return placed("sam", problem, slots)


def map_allocation(
    allocation: Allocation, machines: Sequence[int], as_printed: bool = False
) -> Ints:
    """Return the threads of each task on each slot, shape (tasks, slots).

    Parameters
    ----------
    allocation : Allocation
        Made by `mba`.
    machines : sequence of int
        Slots of each acquired machine.
    as_printed : bool
        Whether full bundles are counted by the printed test (M-1).

    Raises
    ------
    Infeasible
        A bundle found no slot.
    InvalidInput
        The allocation knows no bundles.
    """
    tasks = tasks_of_allocation(allocation)
    bundles = [
        _allocated(task, each, as_printed)
        for task, each in zip(tasks, allocation.tasks, strict=True)
    ]
    acquired = SlotLimits.acquired(machines)
    slots = np.full(allocation.threads, UNASSIGNED, dtype=np.int64)
    left = _pack(bundles, SlotRoom(acquired, acquired.share), 0, slots)
    if left:
        raise Infeasible(f"sam found none: insufficient resources for task {left[0].task}", "slots")
    return thread_counts(tasks, slots, sum(machines))


def _allocated(task: Threads, each: TaskAllocation, as_printed: bool) -> list[Bundle]:
    """Return the bundles of one task of an allocation, full ones first."""
    size = each.full_bundle
    if size is None:
        raise InvalidInput("sam needs an allocation with bundles, as mba makes it", "allocation")
    count = each.total.threads // size if as_printed else each.bundles
    whole = np.array([100.0, float(size), 100.0])
    bundles = [
        Bundle(task.name, task.threads[k * size : (k + 1) * size], whole, True)
        for k in range(count)
    ]
    rest = task.threads[count * size :]
    if len(rest):
        cpu = each.total.cpu_percent - 100.0 * count
        memory = each.total.memory_percent - 100.0 * count
        load = np.array([cpu, float(len(rest)), memory])
        bundles.append(Bundle(task.name, rest, load, False))
    return bundles


def _linear(task: Threads, share: Floats) -> list[Bundle]:
    """Return the bundles of a task whose threads add up, in order of its executors (M-2)."""
    bundles: list[Bundle] = []
    first, total = 0, np.zeros(3)
    for index, load in enumerate(task.loads):
        if index > first and exceeds(total + load, share).any():
            bundles.append(Bundle(task.name, task.threads[first:index], total, True))
            first, total = index, np.zeros(3)
        total = total + load
    full = bool(exceeds(total + task.loads[-1], share).any())
    return [*bundles, Bundle(task.name, task.threads[first:], total, full)]


def _pack(
    tasks: Sequence[Sequence[Bundle]], room: SlotRoom, topology: int, slots: Ints
) -> list[Bundle]:
    """Map bundles, in place; return those that found no slot."""
    left: list[Bundle] = []
    node = room.machines.node
    current = 0
    for bundle in sweeps(tasks):
        fits = room.fits(bundle.load, topology)
        if bundle.full:
            fits &= room.empty
        options = np.flatnonzero(fits)
        if not len(options):
            left.append(bundle)
            continue
        if bundle.full:
            worth = ((node[options] - current) % len(room.machines.limits)).astype(np.float64)
        else:
            worth = _space(room)[options]
        slot = int(options[np.argmin(worth)])
        room.put(bundle.load, slot, topology, alone=bundle.full)
        slots[bundle.threads] = slot
        current = int(node[slot])
    return left


def _space(room: SlotRoom) -> Floats:
    """Return the space left in each slot, CPU and memory (in slots) added up, shape (slots,)."""
    machines = room.machines
    node_left = (machines.limits - room.nodes.totals)[machines.node]
    rest = np.minimum(machines.share - room.slot_used, node_left)
    shares: Floats = np.divide(
        rest, machines.share, out=np.zeros_like(rest), where=np.isfinite(machines.share)
    )
    total: Floats = np.round(shares.sum(axis=1), 9)
    return total
