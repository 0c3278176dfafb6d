"""Operator instances to threads, threads to processes (phase 1).

RECONSTRUCTED from the paper's prose: the first partition keeps together what exchanges traffic, the
second spreads load evenly, the third is one thread in one process. On Storm:

- B-4: an executor runs one operator, so that a "thread" is executors that share a worker. Segments
  of the first partition are joined within a layer, as in the paper, although shuffle grouping links
  every layer with every other.
- B-5: a process holds at most ``process_cores`` and no more CPU, executors and memory than the
  median node; this splits the third partition too, and gives the second more processes.

References
----------
M. Mortazavi-Dehkordi and K. Zamanifar, "Efficient resource scheduling for the analysis of Big Data
streams", Intelligent Data Analysis 23(1), 2019, section 4.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.objective.verify import exceeds
from stormcut.placement.algorithms.bframework.partitioner import HEAVY, LIGHT, UNKNOWN
from stormcut.placement.algorithms.bframework.query import Query
from stormcut.placement.packing.capacity import CPU
from stormcut.placement.packing.groups import Groups


@dataclass(frozen=True, eq=False)
class Thread:
    """Executors of one partition that share a worker, and their CPU, number and memory."""

    partition: int
    executors: Ints
    load: Floats


@dataclass(frozen=True, eq=False)
class Process:
    """A worker of a topology: executors, mostly of one partition."""

    topology: int
    partition: int
    executors: Ints
    load: Floats


@dataclass(frozen=True, eq=False)
class Bounds:
    """What threads and processes may hold: CPU, executors, memory, each shape (3,)."""

    thread: Floats
    process: Floats


def assign_threads(
    query: Query, labels: Ints, loads: Floats, bounds: Bounds, chosen: Ints
) -> list[Thread]:
    """Return the threads of a query.

    Parameters
    ----------
    labels : array of shape (operators,)
        Partition of each operator.
    loads : array of shape (executors of the problem, 3)
    chosen : array of shape (n,)
        The query's executors to assign, ascending.

    Notes
    -----
    Takes O(layers x (operators + edges) + n log n).
    """
    partition = labels[query.operator_of(chosen)]
    heavy, light, unknown = (chosen[partition == p] for p in (HEAVY, LIGHT, UNKNOWN))
    groups = [
        (HEAVY, chunk)
        for segment in _segments(query, labels, heavy)
        for chunk in _fill(segment, loads, bounds.thread)
    ]
    if len(light):
        count = max(1, _needed(loads[light].sum(axis=0), bounds.thread))
        groups += [(LIGHT, chunk) for chunk in balanced(light, loads[light, CPU], count)]
    if len(unknown):
        groups += [(UNKNOWN, chunk) for chunk in _fill(unknown, loads, bounds.process)]
    return [Thread(p, members, loads[members].sum(axis=0)) for p, members in groups]


def _segments(query: Query, labels: Ints, executors: Ints) -> list[Ints]:
    """Return heavy executors by layer and connected part of it, each in topological order."""
    operators = query.operator_of(executors)
    layers = executors - query.first[operators]
    rank = np.empty(len(query.order), dtype=np.int64)
    rank[list(query.order)] = np.arange(len(query.order))
    edges = [(s, t) for s, t, _ in query.edges if labels[s] == HEAVY and labels[t] == HEAVY]
    known: dict[tuple[int, ...], list[set[int]]] = {}
    segments = []
    for layer in np.unique(layers).tolist():
        here = np.flatnonzero(layers == layer)
        here = here[np.argsort(rank[operators[here]])]
        present = tuple(operators[here].tolist())
        if present not in known:
            known[present] = _connected(present, edges)
        for part in known[present]:
            segments.append(executors[[k for k in here.tolist() if int(operators[k]) in part]])
    return segments


def _connected(vertices: Sequence[int], edges: Sequence[tuple[int, int]]) -> list[set[int]]:
    """Return the connected parts of a graph in order of their first vertex."""
    part = {vertex: {vertex} for vertex in vertices}
    for one, other in edges:
        if one in part and other in part and part[one] is not part[other]:
            joined = part[one] | part[other]
            part.update(dict.fromkeys(joined, joined))
    parts: list[set[int]] = []
    for vertex in vertices:
        if not any(vertex in each for each in parts):
            parts.append(part[vertex])
    return parts


def _fill(executors: Ints, loads: Floats, bound: Floats) -> list[Ints]:
    """Cut a walk into chunks: one is closed when the next executor would exceed the bound."""
    chunks: list[list[int]] = []
    total = np.zeros(3)
    for executor in executors.tolist():
        if not chunks or exceeds(total + loads[executor], bound).any():
            chunks.append([])
            total = np.zeros(3)
        chunks[-1].append(executor)
        total = total + loads[executor]
    return [np.array(chunk, dtype=np.int64) for chunk in chunks]


def balanced(items: Ints, weights: Floats, count: int) -> list[Ints]:
    """Return items in at most ``count`` groups of about equal weight.

    The heaviest item left goes to the lightest group; ties: fewer members, then the lower number.
    """
    groups: list[list[int]] = [[] for _ in range(min(count, len(items)))]
    heap = [(0.0, 0, k) for k in range(len(groups))]
    for index in np.argsort(-weights, kind="stable").tolist():
        total, members, k = heapq.heappop(heap)
        groups[k].append(int(items[index]))
        heapq.heappush(heap, (round(total + float(weights[index]), 9), members + 1, k))
    return [np.array(group, dtype=np.int64) for group in groups]


def assign_processes(
    query: Query, threads: Sequence[Thread], groups: Groups, bounds: Bounds, nodes: int
) -> list[Process]:
    """Return the processes of a query's threads, for so many available nodes.

    Takes O(threads x executors of the query).
    """
    heavy, light, unknown = (
        [t for t in threads if t.partition == p] for p in (HEAVY, LIGHT, UNKNOWN)
    )
    bundles = [(HEAVY, chunk) for chunk in _together(heavy, groups, bounds.process)]
    if light:
        total = np.sum([thread.load for thread in light], axis=0)
        room = bounds.process.copy()
        room[CPU] = np.inf  # the node's utilisation, not the process's, is balanced
        count = max(min(len(light), nodes), _needed(total, room))
        weights = np.array([thread.load[CPU] for thread in light])
        spread = balanced(np.arange(len(light)), weights, count)
        bundles += [(LIGHT, [light[k] for k in chunk.tolist()]) for chunk in spread]
    bundles += [(UNKNOWN, [thread]) for thread in unknown]
    return [_process(query.topology, p, bundle) for p, bundle in bundles]


def _needed(total: Floats, bound: Floats) -> int:
    """Return how many bounds a load fills, in its scarcest resource."""
    shares = np.divide(total, bound, out=np.zeros(len(total)), where=bound > 0)
    return math.ceil(float(shares.max()) * (1 - 1e-12))


def _process(topology: int, partition: int, threads: Sequence[Thread]) -> Process:
    executors = np.concatenate([thread.executors for thread in threads])
    return Process(
        topology, partition, executors, np.sum([thread.load for thread in threads], axis=0)
    )


def _together(threads: Sequence[Thread], groups: Groups, bound: Floats) -> list[list[Thread]]:
    """Return heavy threads in processes: the heaviest first, then those with most traffic to it."""
    if not threads:
        return []
    of = groups.of[np.concatenate([thread.executors for thread in threads])]
    owner = np.repeat(np.arange(len(threads)), [len(thread.executors) for thread in threads])
    cpu = np.array([thread.load[CPU] for thread in threads])
    waiting = np.ones(len(threads), dtype=bool)
    bundles: list[list[Thread]] = []
    total, traffic = np.zeros(3), np.zeros(len(threads))
    for _ in threads:
        chosen = int(np.argmax(np.where(waiting, traffic, -np.inf)))
        if not bundles or exceeds(total + threads[chosen].load, bound).any():
            chosen = int(np.argmax(np.where(waiting, cpu, -np.inf)))
            bundles.append([])
            total, traffic = np.zeros(3), np.zeros(len(threads))
        waiting[chosen] = False
        bundles[-1].append(threads[chosen])
        total = total + threads[chosen].load
        held = np.bincount(of[owner == chosen], minlength=len(groups.size)).astype(np.float64)
        reach = (groups.pair_rate @ held)[of]
        traffic += np.bincount(owner, weights=reach, minlength=len(threads))
    return bundles
