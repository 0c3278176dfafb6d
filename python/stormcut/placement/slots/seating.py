"""From nodes and groups of executors to slots: any groups, few slots, few restarts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stormcut.model.placement import UNASSIGNED
from stormcut.model.problem import Problem
from stormcut.placement.slots.workers import onto_slots

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


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
    for node in np.unique(nodes).tolist():
        executors = np.flatnonzero(nodes == node)
        workers = _workers(problem, executors, groups[executors])
        _merge(problem, executors, workers, reluctant[executors], len(own_slots[node]))
        numbered = np.unique(workers, return_inverse=True)[1].reshape(-1)
        slots[executors] = onto_slots(problem, executors, numbered, own_slots[node])[numbered]
    return slots


def _ports(problem: Problem) -> list[int]:
    return [len(node.ports) for node in problem.nodes]


def _workers(problem: Problem, executors: Ints, groups: Ints) -> Ints:
    """Return the worker of each executor of a node, numbered by their first executor."""
    topology = problem.executor_topology[executors]
    keys = np.stack((topology, groups), axis=1)
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    workers = first[inverse.reshape(-1)]
    for tenant in np.unique(topology[groups < 0]).tolist():
        strangers = np.flatnonzero((groups < 0) & (topology == tenant))
        known = workers[(groups >= 0) & (topology == tenant)]
        for stranger in strangers.tolist() if len(known) else ():
            names, sizes = np.unique(known, return_counts=True)
            workers[stranger] = names[np.argmin(sizes)]
            known = np.append(known, workers[stranger])
    return workers


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
    for at, tenant in enumerate(tenants):
        if tenant in seen:
            return seen[tenant], at
        seen[tenant] = at
    raise ValueError("a node holds more topologies than it has slots")
