"""DSM, Storm's default as Shukla and Simmhan describe it: threads dealt to slots in turn.

Blind to load, traffic and capacity. The paper acquires the slots beforehand and lists them in any
order. Here (S-1 of `slot_room` does not apply):

- D-1: thread number n, from 0, goes to slot n modulo their number; the printed index, from 1, would
  start at the second slot, the paper's example starts at the first.
- D-2: slots are listed by turns from each node, in the order of the problem, so that those of a
  topology that asks for few workers lie on several nodes.
- D-3: a topology gets as many slots as it asks for workers, or its equal part of those left;
  every later one is left one. What runs at present plays no part but for which port is used.

References
----------
A. Shukla and Y. Simmhan, "Model-driven scheduling for distributed stream processing systems",
J. Parallel Distrib. Comput. 117 (2018), section 7.2, Alg. 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stormcut.arrays import Ints
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.placement.algorithms.model_driven.allocation import Allocation
from stormcut.placement.algorithms.model_driven.slot_room import (
    placed,
    tasks_of_allocation,
    thread_counts,
)


@dataclass(frozen=True)
class Options:
    """DSM has no options."""


def place(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return DSM's placement; O(executors + slots log slots).

    Raises
    ------
    Infeasible
        There are fewer slots than topologies.
    """
    waiting = len(problem.topologies)
    if problem.slot_count < waiting:
        raise Infeasible(
            f"dsm found none: {waiting} topologies, {problem.slot_count} slots", "slots"
        )
    free = _by_turns(problem.slot_node)
    slots = np.zeros(problem.executor_count, dtype=np.int64)
    for topology, first in zip(problem.topologies, problem.topology_offsets, strict=False):
        wanted = len(free) // waiting if topology.workers is None else topology.workers
        waiting -= 1
        count = min(wanted, len(free) - waiting, topology.executor_count)
        own = free[deal(topology.executor_count, count)] if count else free[:0]
        slots[first : first + topology.executor_count] = own
        free = free[count:]
    return placed("dsm", problem, slots)


def _by_turns(slot_node: Ints) -> Ints:
    """Return the first slot of every node, then the second ones..., shape (slots,)."""
    starts = np.searchsorted(slot_node, slot_node)
    return np.lexsort((slot_node, np.arange(len(slot_node)) - starts)).astype(np.int64)


def deal(threads: int, slots: int) -> Ints:
    """Return the slot, from 0, of each of a number of threads (Alg. 4), shape (threads,)."""
    return np.arange(threads, dtype=np.int64) % slots


def map_allocation(allocation: Allocation, machines: Sequence[int]) -> Ints:
    """Return the threads of each task on each slot, shape (tasks, slots).

    Parameters
    ----------
    machines : sequence of int
        Slots of each acquired machine.

    Raises
    ------
    Infeasible
        There is no slot.
    """
    if not sum(machines):
        raise Infeasible("dsm found none: no slot was acquired", "slots")
    tasks = tasks_of_allocation(allocation)
    slots = deal(allocation.threads, sum(machines))
    return thread_counts(tasks, slots, sum(machines))
