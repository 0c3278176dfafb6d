"""Which nodes shall run nothing, or nothing new, and a state in which they have no room for it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from stormcut.control.orders import Orders
from stormcut.control.policy import Policy
from stormcut.model.cluster import ClusterState
from stormcut.running.declared import MAX_EXECUTORS_KEY

#: A limit that nothing fits under: a node that shall run nothing takes no executor.
NOTHING = {MAX_EXECUTORS_KEY: "0"}


def drained_nodes(state: ClusterState, orders: Orders, policy: Policy) -> frozenset[str]:
    """Return the ids of the nodes that shall run nothing, by order or by policy."""
    by_policy = {s.id for s in state.supervisors if policy.is_drained(s.id, s.host)}
    return orders.drained_nodes(state.supervisors) | by_policy


def without_room(state: ClusterState, nodes: Collection[str]) -> ClusterState:
    """Return a state in which nodes have no room for anything."""
    if not nodes:
        return state
    supervisors = tuple(
        replace(s, meta={**s.meta, **NOTHING}) if s.id in nodes else s for s in state.supervisors
    )
    return replace(state, supervisors=supervisors)


def executors_left(state: ClusterState, nodes: Collection[str]) -> dict[str, int]:
    """Return how many executors run on each of these nodes, by host."""
    left = {s.id: 0 for s in state.supervisors if s.id in nodes}
    for topology in state.topologies:
        for worker in topology.assignment:
            if worker.slot.node in left:
                left[worker.slot.node] += len(worker.executors)
    hosts = state.hosts
    return {hosts[node]: count for node, count in sorted(left.items())}
