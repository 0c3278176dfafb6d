"""From counts to executors' nodes, so that most stay where they run; from nodes to workers' slots.

One worker for each topology on each of its nodes, or as many as `topology.workers` asks for.
On how many nodes it is then, see `breadth`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from stormcut.arrays import Floats, Ints
from stormcut.model.problem import Problem
from stormcut.native.library import FLOATS, INTS, function
from stormcut.objective.resources import costs_of, left_by_workers
from stormcut.placement.algorithms.cut.instance import Instance
from stormcut.placement.algorithms.cut.model import interchangeable, model_of, shared
from stormcut.placement.algorithms.cut.prepare import Task
from stormcut.placement.packing.alignment import aligned
from stormcut.placement.slots import seating

#: An executor that is in no part yet, in `parts.cpp`, too.
FREE = -1

_grow_parts = function("grow_parts", INTS, INTS, FLOATS, INTS, INTS, FLOATS, FLOATS, INTS)

#: Workers times groups times nodes up to which workers are compared one by one: tenths of a second.
MAX_LOOKS = 20_000_000


def on_nodes(problem: Problem, instance: Instance, counts: Ints) -> Ints:
    """Return the node ordinal of every executor; of a group, those that can stay do.

    Parameters
    ----------
    counts : array of shape (groups, nodes)
        Executors of each group on each node, all of them.
    """
    groups, current = instance.groups, problem.current_nodes()
    result = np.full(problem.executor_count, -1, dtype=np.int64)
    left = counts.copy()
    running = np.flatnonzero(current >= 0)
    now = current[running]
    # Of a group, those of a worker that may stay whole come first.
    leaves = np.ones(problem.executor_count, dtype=np.bool_)
    slots = problem.current_slots()
    whole = [
        (counts[own, node] == held).all()
        for node, _, own, held in _workers_by_group(problem, instance)
    ]
    kept = np.unique(slots[running])[np.array(whole, dtype=np.bool_)]
    leaves[np.isin(slots, kept)] = False
    order = np.lexsort((running, leaves[running], now, groups.of[running]))
    running, now = running[order], now[order]
    key = groups.of[running] * counts.shape[1] + now
    rank = np.arange(len(key)) - np.searchsorted(key, key)
    stays = rank < counts[groups.of[running], now]
    result[running[stays]] = now[stays]
    np.add.at(left, (groups.of[running[stays]], now[stays]), -1)
    moving = np.flatnonzero(result < 0)
    moving = moving[np.argsort(groups.of[moving], kind="stable")]
    group, node = np.nonzero(left)
    result[moving] = np.repeat(node, left[group, node])
    return result


def like_before(problem: Problem, instance: Instance, counts: Ints) -> Ints:
    """Return counts with nodes that are alike exchanged: most workers stay, then most executors.

    Takes O(nodes^3) at worst for the assignment.
    """
    if instance.start is None or not instance.start.any():
        return counts
    # Racks count, where executors run now does not.
    kinds = interchangeable(model_of(instance, (1.0, 1.0, 0.0)))
    stays = shared(instance.start, counts)
    stays += (problem.executor_count + 1) * _unchanged(problem, instance, counts)
    nodes = aligned(stays, kinds[:, None] == kinds)
    return np.ascontiguousarray(counts[:, nodes])


def _unchanged(problem: Problem, instance: Instance, counts: Ints) -> Ints:
    """Return how many workers of each node would stay whole if it held what another is to hold.

    Shape (nodes, nodes); takes O(workers x groups of their topology x nodes), so that of more than
    `MAX_LOOKS` all are 0.
    """
    nodes, topologies = counts.shape[1], len(problem.topologies)
    stays = np.zeros((nodes * topologies, nodes), dtype=np.bool_)
    if len(np.unique(problem.current_slots())) * counts.size <= MAX_LOOKS:
        for node, topology, own, now in _workers_by_group(problem, instance):
            stays[node * topologies + topology] |= (counts[own] == now[:, None]).all(axis=0)
    result: Ints = stays.reshape(nodes, topologies, nodes).sum(axis=1)
    return result


def _workers_by_group(
    problem: Problem, instance: Instance
) -> Iterator[tuple[int, int, Ints, Ints]]:
    """Yield node, topology, its groups and the executors of each, of every worker that runs."""
    slots, homes, groups = problem.current_slots(), problem.current_nodes(), instance.groups
    order = np.argsort(slots, kind="stable")
    order = order[homes[order] >= 0]
    for running in np.split(order, np.flatnonzero(np.diff(slots[order])) + 1):
        if len(running):
            topology = int(problem.executor_topology[running[0]])
            own = np.flatnonzero(groups.topology == topology)
            now = np.bincount(groups.of[running], minlength=len(groups.size))[own]
            yield int(homes[running[0]]), topology, own, now


class Candidate(NamedTuple):
    """Node ordinals of executors, and a number of those that share a worker there, (executors,)."""

    nodes: Ints
    workers: Ints


def candidate(task: Task, nodes: Ints) -> Candidate:
    """Return executors on nodes, on more if they have to be, with one worker on each or more."""
    broad = task.broad(nodes)
    return Candidate(broad, workers(task, broad))


def seat(task: Task, candidate: Candidate) -> Ints:
    """Return the slot of every executor on its node, so that few workers restart.

    With a price for restarts, workers whose executors all stay on their node stay as they are,
    though one worker might hold those of two.
    """
    slots = seating.seat(task.problem, *candidate)
    assert np.array_equal(task.problem.slot_node[slots], candidate.nodes)
    return slots


def workers(task: Task, nodes: Ints) -> Ints:
    """Return a number for each executor; those of a topology and node that share it share a worker.

    Takes O(executors log executors); with ``workers=keep`` O(pairs + executors x workers), too.
    """
    problem, keeps = task.problem, task.keeps_workers
    now = _workers_now(problem, nodes) if keeps or task.stays else np.zeros_like(nodes)
    return kept_workers(problem, task.graph, nodes, now) if keeps else now


def _workers_now(problem: Problem, nodes: Ints) -> Ints:
    """Return a number for each executor; those that share a slot now and stay share it.

    Only where all executors that a topology has on a node ran there before, and no other did; the
    rest gets number 0, one worker.
    """
    before = problem.current_nodes()
    homes = len(problem.nodes)
    after_key = problem.executor_topology * homes + nodes
    before_key = problem.executor_topology * homes + before
    strange = np.unique(np.concatenate((after_key[before != nodes], before_key[before != nodes])))
    same: Ints = np.where(np.isin(after_key, strange), 0, problem.current_slots() + 1)
    return same


def kept_workers(problem: Problem, graph: csr_array, nodes: Ints, now: Ints) -> Ints:
    """Return a number for each executor; those of a topology and node that share it share a worker.

    A topology gets the workers that it asks for, but at least one and at most one an executor on
    each of its nodes, and no more than nodes have slots. The next worker goes to the node whose CPU
    is then the least full; of those alike, where workers are largest. Traffic between workers of a
    node is kept low.

    Parameters
    ----------
    graph : csr_array of shape (executors, executors)
        What counts between executors, symmetric.
    nodes : array of shape (executors,)
        Node ordinals.
    now : array of shape (executors,)
        Workers that run and could stay as they are, as numbers above 0, else 0.
    """
    result = np.zeros(problem.executor_count, dtype=np.int64)
    room, parts = _WorkerRoom(problem, nodes), _Parts(graph)
    for topology, first in zip(problem.topologies, problem.topology_offsets.tolist(), strict=False):
        if topology.executor_count == 0:
            continue
        own = np.arange(first, first + topology.executor_count)
        used, counts = np.unique(nodes[own], return_counts=True)
        by_node = np.split(own[np.argsort(nodes[own], kind="stable")], np.cumsum(counts)[:-1])
        shared = room.shared(topology.workers or 0, used, counts)
        for members, workers in zip(by_node, shared, strict=True):
            running = np.unique(now[members])
            if running[0] > 0 and len(running) == workers:
                result[members] = now[members]
            elif workers > 1:
                parts.grow(members, workers, result)
    return result


class _WorkerRoom:
    """Slots and CPU that nodes have left once each topology has a worker on each of its nodes."""

    def __init__(self, problem: Problem, nodes: Ints) -> None:
        homes = len(problem.nodes)
        tenancies = np.unique(problem.executor_topology * homes + nodes) % homes
        self._workers = np.bincount(tenancies, minlength=homes)
        self._slots = np.array([len(node.ports) for node in problem.nodes], dtype=np.int64)
        self._cpu = np.bincount(nodes, weights=problem.executor_cpu, minlength=homes)
        capacity = [node.cpu_percent for node in problem.nodes]
        self._capacity = np.array([np.inf if each is None else each for each in capacity])
        self._costs = costs_of(problem)

    def shared(self, wanted: int, used: Ints, counts: Ints) -> list[int]:
        """Return the number of workers on each node used; what it adds is no longer left."""
        given = np.ones(len(used), dtype=np.int64)
        for _ in range(wanted - len(used)):
            able = (given < counts) & (self._workers[used] < self._slots[used])
            if not able.any():
                break
            full = self._full_with_another(used)
            best = int(np.lexsort((-counts / given, full, ~able))[0])
            given[best] += 1
            self._workers[used[best]] += 1
        workers: list[int] = given.tolist()
        return workers

    def _full_with_another(self, used: Ints) -> Floats:
        """Return how full each node's CPU is, transfer aside, with one worker more."""
        more = self._workers[used] + 1
        left = left_by_workers(self._capacity[used], more, self._costs)
        full: Floats = np.divide(
            self._cpu[used], left, out=np.full(len(used), np.inf), where=left > 0
        )
        return full


class _Parts:
    """Parts executors of a node, a worker each, so that little travels between them."""

    def __init__(self, graph: csr_array) -> None:
        self._graph = (
            *(each.astype(np.int64) for each in (graph.indptr, graph.indices)),
            graph.data,
        )
        self._pull = np.empty((2, graph.shape[0]), dtype=np.float64)

    def grow(self, members: Ints, count: int, part: Ints) -> None:
        """Write parts of equal size but for one, each grown along its heaviest edges.

        Takes O(edges of the members + members^2).

        Parameters
        ----------
        members : array of shape (members,)
            Executors, ascending.
        count : int
            From 1 to their number.
        part : array of shape (executors,)
            Of the members it is written, of all others at least 0.
        """
        part[members] = FREE
        sizes = np.array([len(each) for each in np.array_split(members, count)], dtype=np.int64)
        _grow_parts(*self._graph, members, sizes, self._pull[0], self._pull[1], part)
