"""Storm's own bookkeeping goes where its topology is: no node is used for it alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from stormcut.application.control.situation import Situation
from stormcut.model.placement import Placement
from stormcut.objective.cut import executor_nodes
from stormcut.objective.verify import violations

Ints = npt.NDArray[np.int64]

#: Components that only listen: every task sends them a little, so that a node of their own relieves
#: every link a little. (An acker is a partner like any other.)
BOOKKEEPERS = ("__metrics", "__eventlogger")


def gathered(at: Situation, placement: Placement, keep_workers: bool = False) -> Placement:
    """Return a placement whose bookkeepers share a node with others, where limits allow it.

    Parameters
    ----------
    at : Situation
        Of one topology.
    placement : Placement
        Feasible, with every executor in a slot.
    keep_workers : bool
        A bookkeeper that had a worker of its own has one on the other node, too, if a slot is free.
    """
    own = _bookkeepers(at)
    nodes, slots = executor_nodes(at.problem, placement), placement.slots.copy()
    used = set(np.delete(nodes, own).tolist())
    for executor in own:
        if nodes[executor] in used:
            continue
        for node in _by_traffic(at, nodes, executor, used):
            tried = slots.copy()
            shared = int(placement.slots[nodes == node].min())
            free = _free_slots(at, slots, node) if keep_workers else ()
            tried[executor] = min(free, default=shared)
            if not violations(at.problem, Placement(tried)):
                slots = tried
                break
    return replace(placement, slots=slots)


def _free_slots(at: Situation, slots: Ints, node: int) -> list[int]:
    on_node = np.flatnonzero(at.problem.slot_node == node)
    return [int(slot) for slot in np.setdiff1d(on_node, slots)]


def _bookkeepers(at: Situation) -> list[int]:
    topology = at.load.topology
    return [
        executor
        for component in topology.components
        if component.name.startswith(BOOKKEEPERS)
        for executor in range(
            topology.offsets[component.name],
            topology.offsets[component.name] + component.executors,
        )
    ]


def _by_traffic(at: Situation, nodes: Ints, executor: int, used: set[int]) -> list[int]:
    """Return the nodes in use by what they send to an executor, most first."""
    traffic = at.problem.traffic
    to = traffic.target == executor
    sent = np.bincount(nodes[traffic.source[to]], traffic.rate[to], len(at.problem.nodes))
    return sorted(used, key=lambda node: (-sent[node], node))
