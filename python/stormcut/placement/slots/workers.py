"""Level 2: the executors of one node into workers, the workers onto slots.

References
----------
L. Eskandari, thesis on task scheduling in data stream processing systems, section 7.3 (Eq. 7.3).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import csr_array

from stormcut.arrays import Ints
from stormcut.model.placement import UNASSIGNED
from stormcut.model.problem import Problem
from stormcut.placement.graph.partition import partition
from stormcut.placement.packing.alignment import aligned
from stormcut.placement.packing.repair import repair


def fill_slots(
    problem: Problem, graph: csr_array, nodes: Ints, max_tasks_per_worker: int, seed: int
) -> Ints:
    """Return the slot ordinal of every executor for a given node of every executor.

    Parameters
    ----------
    graph : csr_array of shape (executors, executors)
        Symmetric traffic without a diagonal.
    nodes : array of shape (executors,)
        Node ordinals; no node holds more topologies than it has slots.
    """
    slots = np.full(problem.executor_count, UNASSIGNED, dtype=np.int64)
    for node in np.unique(nodes).tolist():
        executors = np.flatnonzero(nodes == node)
        own = np.flatnonzero(problem.slot_node == node)
        workers = split_into_workers(
            graph[executors, :][:, executors].tocsr(),
            problem.executor_topology[executors],
            len(own),
            max_tasks_per_worker,
            seed,
        )
        slots[executors] = onto_slots(problem, executors, workers, own)[workers]
    return slots


def split_into_workers(
    graph: csr_array,
    topology: Ints,
    slots: int,
    max_tasks_per_worker: int,
    seed: int,
) -> Ints:
    """Return the worker of each executor of one node, from 0, topologies never mixed.

    Each topology with t executors here asks for ceil(t / max_tasks_per_worker) workers, cut so
    that little traffic crosses them. If the node has fewer slots, workers grow beyond that number,
    which is a preference and no resource; the largest stay as small as the slots allow.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Traffic between the node's executors.
    topology : array of shape (n,)
        Topology of each executor; no more different ones than ``slots``.
    """
    tenants, counts = np.unique(topology, return_counts=True)
    result = np.empty(len(topology), dtype=np.int64)
    first = 0
    for tenant, workers in zip(
        tenants.tolist(), share_slots(counts, slots, max_tasks_per_worker), strict=True
    ):
        members = np.flatnonzero(topology == tenant)
        inside = graph[members, :][:, members].tocsr()
        result[members] = first + _split(inside, workers, max_tasks_per_worker, seed)
        first += workers
    return result


def share_slots(counts: Ints, slots: int, max_tasks_per_worker: int) -> list[int]:
    """Return the number of workers of each topology on a node, ``counts`` executors each.

    The next slot goes to the topology whose workers are fullest.
    """
    wanted = [math.ceil(count / max_tasks_per_worker) for count in counts.tolist()]
    given = [1] * len(wanted)
    for _ in range(min(slots, sum(wanted)) - len(wanted)):
        short = [index for index in range(len(wanted)) if given[index] < wanted[index]]
        fullest = max(short, key=lambda index: (counts[index] / given[index], -index))
        given[fullest] += 1
    return given


def _split(graph: csr_array, workers: int, max_tasks_per_worker: int, seed: int) -> Ints:
    tasks = graph.shape[0]
    limit = max(max_tasks_per_worker, math.ceil(tasks / workers))
    ones = np.ones(tasks)
    parts = partition(graph, workers, ones, seed)
    balanced = repair(graph, parts, ones[:, None], np.array([float(limit)]), workers)
    # Every part of at most `limit` executors leaves room for one more until all are placed.
    assert balanced is not None
    return balanced


def onto_slots(problem: Problem, executors: Ints, workers: Ints, slots: Ints) -> Ints:
    """Return the slot of each worker so that the fewest workers restart.

    Among such, executors stay in their slot where possible; further ties go to lower ordinals.

    Parameters
    ----------
    executors : array of shape (n,)
        The node's executors.
    workers : array of shape (n,)
        Worker of each of them, from 0.
    slots : array of shape (m,)
        The node's slot ordinals, ascending, at least as many as workers.
    """
    count = int(workers.max()) + 1
    before = problem.executors_now[slots]
    present = problem.current_slots()[executors]
    known = np.bincount(workers[present >= 0], minlength=count)
    position = np.minimum(np.searchsorted(slots, present), len(slots) - 1)
    here = slots[position] == present
    shared = np.zeros((count, len(slots)), dtype=np.int64)
    np.add.at(shared, (workers[here], position[here]), 1)
    # A worker keeps running if the slot held exactly its executors, and one whose executors ran
    # nowhere restarts nothing in an empty slot. A slot that held others restarts whether it is
    # used or not, so that to use it costs nothing more.
    size = np.bincount(workers, minlength=count)
    kept = (shared == size[:, None]) & (shared == before)
    started = (known == 0)[:, None] & (before == 0)
    restarts = (~(kept | started)).astype(np.int64) - (before > 0)
    kept = shared - restarts * (len(executors) + 1)
    return slots[aligned(kept, np.ones(kept.shape, dtype=bool), in_order=True)]
