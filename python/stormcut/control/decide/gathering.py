"""Storm's own bookkeeping goes where its topology is: no node is used for it alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stormcut.arrays import Ints
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem, Topology
from stormcut.objective.cut import executor_nodes
from stormcut.objective.verify import violations
from stormcut.running.situation import Situation

#: Components that only listen: every task sends them a little, so that a node of their own relieves
#: every link a little. (An acker is a partner like any other.)
BOOKKEEPERS = ("__metrics", "__eventlogger")


def gathered(situation: Situation, placement: Placement, keep_workers: bool = False) -> Placement:
    """Return a placement whose bookkeepers share a node with others of theirs, if limits allow it.

    Parameters
    ----------
    situation : Situation
    placement : Placement
        Feasible, with every executor in a slot.
    keep_workers : bool
        A bookkeeper that had a worker of its own has one on the other node, too, if a slot is free.
    """
    slots = placement.slots.copy()
    for topology, own in zip(situation.problem.topologies, situation.executors, strict=True):
        _gather(situation.problem, slots, own, _bookkeepers(topology, own.start), keep_workers)
    return replace(placement, slots=slots)


def _gather(
    problem: Problem, slots: Ints, own: slice, bookkeepers: list[int], keep_workers: bool
) -> None:
    """Move the bookkeepers of one topology, whose executors are ``own``."""
    if not bookkeepers:
        return
    nodes, first = executor_nodes(problem, Placement(slots)), slots.copy()
    workers = np.setdiff1d(np.arange(own.start, own.stop), bookkeepers)
    used = set(nodes[workers].tolist())
    for executor in bookkeepers:
        if nodes[executor] in used:
            continue
        for node in _by_traffic(problem, nodes, executor, used):
            tried = slots.copy()
            shared = int(first[own][nodes[own] == node].min())
            free = _free_slots(problem, slots, node) if keep_workers else ()
            tried[executor] = min(free, default=shared)
            if not violations(problem, Placement(tried)):
                slots[:] = tried
                break


def _free_slots(problem: Problem, slots: Ints, node: int) -> list[int]:
    on_node = np.flatnonzero(problem.slot_node == node)
    return [int(slot) for slot in np.setdiff1d(on_node, slots)]


def _bookkeepers(topology: Topology, first: int) -> list[int]:
    return [
        first + topology.offsets[component.name] + index
        for component in topology.components
        if component.name.startswith(BOOKKEEPERS)
        for index in range(component.executors)
    ]


def _by_traffic(problem: Problem, nodes: Ints, executor: int, used: set[int]) -> list[int]:
    """Return the nodes in use by what they send to an executor, most first."""
    traffic = problem.traffic
    to = traffic.target == executor
    sent = np.bincount(nodes[traffic.source[to]], traffic.rate[to], len(problem.nodes))
    return sorted(used, key=lambda node: (-sent[node], node))
