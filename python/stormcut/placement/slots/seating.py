"""From nodes and groups of executors to slots: any groups, few slots, few restarts."""

from __future__ import annotations

import numpy as np

from stormcut.arrays import Bools, Ints
from stormcut.model.placement import UNASSIGNED
from stormcut.model.problem import Problem
from stormcut.placement.slots.workers import onto_slots


def seat(problem: Problem, nodes: Ints, groups: Ints, reluctance: Ints | None = None) -> Ints:
    """Return the slot of every executor so that groups share workers and few workers restart.

    An executor without a group joins the smallest worker of its topology on its node. Where a node
    has fewer slots than workers, the two of one topology that have fewest executors are merged,
    again and again.

    Parameters
    ----------
    nodes : array of shape (executors,)
        Node ordinals; no node holds more topologies than it has slots.
    groups : array of shape (executors,)
        Executors of one topology and node with the same number share a worker; -1: no group.
    reluctance : array of shape (executors,), optional
        Workers of executors with a lower value are merged before others.

    Notes
    -----
    Takes O(executors log executors + sum over nodes of workers x slots x min of both).
    """
    slots = np.full(problem.executor_count, UNASSIGNED, dtype=np.int64)
    reluctant = np.zeros_like(slots) if reluctance is None else reluctance
    own_slots = np.split(np.arange(problem.slot_count), np.cumsum(_ports(problem))[:-1])
    workers = _workers(nodes * len(problem.topologies) + problem.executor_topology, groups)
    for executors in _alike(nodes):
        own, sharing = own_slots[nodes[executors[0]]], workers[executors]
        _merge(problem, executors, sharing, reluctant[executors], len(own))
        numbered = np.unique(sharing, return_inverse=True)[1].reshape(-1)
        slots[executors] = onto_slots(problem, executors, numbered, own)[numbered]
    return slots


def _ports(problem: Problem) -> list[int]:
    return [len(node.ports) for node in problem.nodes]


def _alike(keys: Ints) -> list[Ints]:
    """Return the positions of each key in ascending order; no list for no key."""
    order = np.argsort(keys, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(keys[order])) + 1)
    return parts if len(keys) else []


def _workers(tenancies: Ints, groups: Ints) -> Ints:
    """Return the worker of each executor, numbered by their first executor.

    Parameters
    ----------
    tenancies, groups : array of shape (executors,)
        A number for the topology and node of each, and its group there; -1: no group.
    """
    keys = tenancies * (int(groups.max(initial=0)) + 2) + groups + 1
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    workers: Ints = first[inverse.reshape(-1)]
    alone = groups < 0
    joined = np.flatnonzero(np.isin(tenancies, np.intersect1d(tenancies[alone], tenancies[~alone])))
    for executors in _alike(tenancies[joined]):
        _join_smallest(workers, joined[executors], alone)
    return workers


def _join_smallest(workers: Ints, executors: Ints, alone: Bools) -> None:
    """Put those without a group into the smallest worker of a topology on a node, in place."""
    strangers = alone[executors]
    names, sizes = np.unique(workers[executors[~strangers]], return_counts=True)
    for stranger in executors[strangers].tolist():
        smallest = np.argmin(sizes)
        workers[stranger] = names[smallest]
        sizes[smallest] += 1


def _merge(problem: Problem, executors: Ints, workers: Ints, reluctance: Ints, slots: int) -> None:
    """Merge workers of one topology, in place, until there are no more than slots."""
    topology = problem.executor_topology[executors]
    while len(names := np.unique(workers)) > slots:
        tenants = np.array([topology[workers == name][0] for name in names])
        ranks = np.array(
            [(reluctance[workers == name].max(), (workers == name).sum()) for name in names]
        )
        order = np.lexsort((names, ranks[:, 1], ranks[:, 0]))
        pair = _first_pair(tenants[order].tolist())
        kept, gone = names[order[pair[0]]], names[order[pair[1]]]
        workers[workers == gone] = kept


def _first_pair(tenants: list[int]) -> tuple[int, int]:
    """Return the positions of the first two of one topology, the second as early as possible."""
    seen: dict[int, int] = {}
    for index, tenant in enumerate(tenants):
        if tenant in seen:
            return seen[tenant], index
        seen[tenant] = index
    raise ValueError("a node holds more topologies than it has slots")
