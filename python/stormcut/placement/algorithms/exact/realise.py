"""From counts per node to a slot for every executor, changing as little as possible.

Which of several equal nodes takes which pattern, and which of several equal executors it takes, is
free: workers that run unchanged come first, then executors that stay on their node. Each topology
has one worker per node, so that no traffic between workers stays on a node, and local-or-shuffle
finds all local targets.
"""

from __future__ import annotations

import numpy as np

from stormcut.arrays import Ints
from stormcut.model.placement import UNASSIGNED
from stormcut.model.problem import Problem
from stormcut.placement.algorithms.exact.folded import Folded
from stormcut.placement.packing.alignment import aligned
from stormcut.placement.slots.workers import onto_slots


def current_counts(problem: Problem, folded: Folded) -> Ints | None:
    """Return the present counts per node and group, None if they are not feasible."""
    counts = _counts_by(_hosts_now(problem), folded, len(problem.nodes))
    result = counts[np.concatenate(folded.nodes)]
    complete = np.array_equal(result.sum(axis=0), folded.size)
    return result if complete and folded.fits(result, folded.node_kinds).all() else None


def realise(problem: Problem, folded: Folded, counts: Ints) -> Ints:
    """Return the slot ordinal of every executor, shape (executors,).

    Parameters
    ----------
    counts : array of shape (nodes, groups)
        Nodes in the order of kinds; every executor is counted.
    """
    workers = _RunningWorkers(problem, folded)
    nodes = np.concatenate(list(folded.nodes))
    if workers.slots.size:
        nodes = _match(problem, folded, counts, workers)
    hosts = _choose_executors(problem, folded, counts, nodes, workers)
    slots = np.full(problem.executor_count, UNASSIGNED, dtype=np.int64)
    for node in np.unique(hosts).tolist():
        executors = np.flatnonzero(hosts == node)
        tenants = np.unique(problem.executor_topology[executors], return_inverse=True)[1]
        own = np.flatnonzero(problem.slot_node == node)
        slots[executors] = onto_slots(problem, executors, tenants, own)[tenants]
    return slots


class _RunningWorkers:
    """The workers that run now: their slots and node, shape (workers,), and counts per group."""

    def __init__(self, problem: Problem, folded: Folded) -> None:
        self.current = problem.current_slots()
        known = (self.current >= 0) & (self.current < problem.slot_count)
        self.slots = np.unique(self.current[known])
        self.node = problem.slot_node[self.slots]
        self.counts = _counts_by(self.current, folded, problem.slot_count)[self.slots]

    def unchanged(self, folded: Folded, node: int, row: Ints) -> list[int]:
        """Return the workers of a node, one per topology, that a pattern leaves as they are."""
        result: dict[int, int] = {}
        for worker in np.flatnonzero(self.node == node).tolist():
            groups = np.flatnonzero(self.counts[worker])
            topology = folded.topology[groups[0]]
            own = folded.topology == topology
            if np.array_equal(self.counts[worker][own], row[own]):
                result.setdefault(int(topology), worker)
        return list(result.values())


def _hosts_now(problem: Problem) -> Ints:
    current = problem.current_slots()
    hosts = np.full(len(current), UNASSIGNED, dtype=np.int64)
    hosts[current >= 0] = problem.slot_hosts[current[current >= 0]]
    return np.where(hosts < len(problem.nodes), hosts, UNASSIGNED)


def _counts_by(place: Ints, folded: Folded, places: int) -> Ints:
    """Return executors of each group at each place, shape (places, groups)."""
    result = np.zeros((places, len(folded.size)), dtype=np.int64)
    for group, members in enumerate(folded.members):
        here = place[members]
        here = here[(here >= 0) & (here < places)]
        result[:, group] = np.bincount(here, minlength=places)
    return result


def _match(problem: Problem, folded: Folded, counts: Ints, workers: _RunningWorkers) -> Ints:
    """Return the node of each row of counts: equal nodes are exchanged to keep most running."""
    now = _counts_by(_hosts_now(problem), folded, len(problem.nodes))
    result, first = [], 0
    for nodes in folded.nodes:
        rows = counts[first : first + len(nodes)]
        first += len(nodes)
        kept = np.zeros((len(nodes), len(nodes)))
        for index, row in enumerate(rows):
            groups = np.flatnonzero(row)
            kept[index] = np.minimum(now[nodes][:, groups], row[groups]).sum(axis=1)
            for to in np.flatnonzero(kept[index]).tolist():
                unchanged = len(workers.unchanged(folded, int(nodes[to]), row))
                kept[index, to] += unchanged * (problem.executor_count + 1)
        result.append(nodes[aligned(kept, np.ones(kept.shape, dtype=bool))])
    return np.concatenate(result)


def _choose_executors(
    problem: Problem, folded: Folded, counts: Ints, nodes: Ints, workers: _RunningWorkers
) -> Ints:
    """Return the node of every executor."""
    now = _hosts_now(problem)
    hosts = np.full(problem.executor_count, UNASSIGNED, dtype=np.int64)
    for row, node in zip(counts, nodes.tolist(), strict=True):
        for worker in workers.unchanged(folded, node, row):
            hosts[workers.current == workers.slots[worker]] = node
    missing = np.zeros(counts.shape, dtype=np.int64)
    missing[:] = counts - _counts_by(hosts, folded, len(problem.nodes))[nodes]
    for index, group in np.argwhere(missing).tolist():
        members = folded.members[group]
        staying = members[(now[members] == nodes[index]) & (hosts[members] < 0)]
        staying = staying[: missing[index, group]]
        hosts[staying] = nodes[index]
        missing[index, group] -= len(staying)
    for group, members in enumerate(folded.members):
        hosts[members[hosts[members] < 0]] = np.repeat(nodes, missing[:, group])
    return hosts
