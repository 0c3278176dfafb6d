"""A problem without its symmetries: groups of equal executors, kinds of equal nodes.

Executors that exchange the same traffic with every other one are equal even if they belong to
different components of a topology (all middle components of a diamond, say), and two nodes are
equal if they differ in nothing that can bind. What is left to decide is how many executors of each
group run on a node of each kind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from stormcut.arrays import Floats, Ints
from stormcut.model.problem import Problem
from stormcut.objective.verify import TOLERANCE
from stormcut.placement.packing.groups import Groups, LocalFirst, fold, local_first_streams

#: Rates that agree in so many digits count as equal when groups are compared.
DIGITS = 12

#: Beyond this number of groups only streams of one component are folded: O(groups^2) memory.
MAX_GROUPS = 2000


@dataclass(frozen=True, eq=False)
class Folded:
    """Groups of executors, ordered by topology, and kinds of nodes.

    Parameters
    ----------
    members : tuple of arrays
        Executors of each group, ascending.
    size : array of shape (groups,)
    load : array of shape (groups, 3)
        CPU, 1 and memory of one executor (columns of `capacity`).
    topology : array of shape (groups,)
        Ascending.
    rate : csr_array of shape (groups, groups)
        Symmetric: tuples/s, both directions, between two executors; without local-or-shuffle.
    local_first : tuple of LocalFirst
    nodes : tuple of arrays
        Node ordinals of each kind; nodes that can hold nothing are in none.
    limit : array of shape (kinds, 3)
        Infinite where nothing can bind; the judge's tolerance is included.
    slots : array of shape (kinds,)
        Most topologies on a node.
    total : float
        Tuples/s between different executors.
    """

    members: tuple[Ints, ...]
    size: Ints
    load: Floats
    topology: Ints
    rate: csr_array
    local_first: tuple[LocalFirst, ...]
    nodes: tuple[Ints, ...]
    limit: Floats
    slots: Ints
    total: float

    @property
    def node_kinds(self) -> Ints:
        """Kind of every node that can hold something, shape (nodes,), ascending."""
        return np.repeat(np.arange(len(self.nodes)), [len(nodes) for nodes in self.nodes])

    def local(self, counts: npt.NDArray[np.integer]) -> Floats:
        """Return the tuples/s that stay on each node, shape (nodes,).

        Exact if each topology has one worker per node.

        Parameters
        ----------
        counts : array of shape (nodes, groups)
            Executors of each group on each node.
        """
        held = counts.astype(np.float64)
        own = held @ self.rate.diagonal()
        result: Floats = (((self.rate @ held.T).T * held).sum(axis=1) - own) / 2
        for stream in self.local_first:
            has_target = counts[:, stream.targets].any(axis=1)
            result = result + stream.rate * held[:, stream.sources].sum(axis=1) * has_target
        return result

    def fits(self, counts: npt.NDArray[np.integer], kinds: Ints) -> npt.NDArray[np.bool_]:
        """Return whether each node can hold its executors, shape (nodes,).

        Parameters
        ----------
        counts : array of shape (nodes, groups)
        kinds : array of shape (nodes,)
        """
        loads = counts @ self.load
        within = np.all(loads <= self.limit[kinds], axis=1)
        return np.asarray(within & (self.tenants(counts) <= self.slots[kinds]), dtype=np.bool_)

    def tenants(self, counts: npt.NDArray[np.integer]) -> Ints:
        """Return the number of topologies on each node, shape (nodes,)."""
        starts = np.flatnonzero(np.diff(self.topology, prepend=-1))
        present = np.add.reduceat(counts, starts, axis=1) > 0
        return np.asarray(present.sum(axis=1), dtype=np.int64)


def fold_symmetry(problem: Problem) -> Folded:
    """Return the groups and kinds of a problem with at least one executor.

    O(groups^2 log groups) up to `MAX_GROUPS` groups, beyond them O(executors log executors).
    """
    plain = problem.traffic.without_local_first()
    groups = _without_own_rate_of_singles(fold(problem, weights=plain))
    streams = tuple(local_first_streams(problem, groups.of))
    merged = _twins(groups, streams)
    order = _order(groups, np.unique(merged, return_index=True)[1])
    rank = np.empty(len(order), dtype=np.int64)
    rank[merged[order]] = np.arange(len(order))
    of = rank[merged][groups.of]
    size = np.bincount(of)
    nodes, limit, slots = _kinds(problem)
    result = Folded(
        tuple(np.split(np.argsort(of, kind="stable"), np.cumsum(size)[:-1])),
        size,
        groups.load[order],
        groups.topology[order],
        groups.pair_rate[order, :][:, order].tocsr(),
        tuple(
            LocalFirst(
                np.unique(rank[merged[s.sources]]), np.unique(rank[merged[s.targets]]), s.rate
            )
            for s in streams
        ),
        nodes,
        limit,
        slots,
        0.0,
    )
    return replace(result, total=float(result.local(size[None, :])[0]))


def _without_own_rate_of_singles(groups: Groups) -> Groups:
    """Drop what executors of a group of one would send to others of their group."""
    rate = groups.pair_rate.copy()
    rate.setdiag(rate.diagonal() * (groups.size > 1))
    rate.eliminate_zeros()
    return replace(groups, pair_rate=rate)


def _twins(groups: Groups, streams: tuple[LocalFirst, ...]) -> Ints:
    """Return a number for each group, the same for groups whose executors are all equal."""
    count = len(groups.size)
    if count > MAX_GROUPS:
        return np.arange(count)
    rates = groups.pair_rate.toarray()
    roles = np.zeros((count, 2 * len(streams)))
    for index, stream in enumerate(streams):
        roles[stream.sources, 2 * index] = roles[stream.targets, 2 * index + 1] = 1
    with np.errstate(divide="ignore"):
        scale = 10.0 ** (
            DIGITS - np.ceil(np.log10(rates, where=rates > 0, out=np.zeros_like(rates)))
        )
    rows = np.hstack((groups.topology[:, None], groups.load, roles, np.rint(rates * scale) / scale))
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)


def _order(groups: Groups, first: Ints) -> Ints:
    """Return groups by topology, each next to those it exchanges most with."""
    rates = groups.pair_rate[first, :][:, first] * groups.size[first][None, :]
    weight = np.asarray(rates.sum(axis=1)).reshape(-1)
    rates = rates.tocsr()
    left = np.ones(len(first), dtype=bool)
    near = np.zeros(len(first))
    result = []
    for topology in np.unique(groups.topology[first]).tolist():
        own = np.flatnonzero(groups.topology[first] == topology)
        for _ in own:
            free = own[left[own]]
            chosen = free[np.lexsort((first[free], -weight[free], -near[free]))[0]]
            left[chosen] = False
            row = slice(rates.indptr[chosen], rates.indptr[chosen + 1])
            near[rates.indices[row]] += rates.data[row]
            result.append(chosen)
    return first[np.array(result, dtype=np.int64)]


def _kinds(problem: Problem) -> tuple[tuple[Ints, ...], Floats, Ints]:
    """Return (nodes of each kind, limits, slots), largest kind first, ties in order of ids."""
    everything = np.array(
        [problem.executor_cpu.sum(), problem.executor_count, problem.executor_memory.sum()]
    )
    topologies = len(np.unique(problem.executor_topology))
    rows, ordinals = [], []
    for ordinal in sorted(range(len(problem.nodes)), key=lambda n: problem.nodes[n].id):
        node = problem.nodes[ordinal]
        slots = min(len(node.ports), topologies)
        if slots and node.max_executors != 0:
            limits = (node.cpu_percent, node.max_executors, node.memory_mb)
            rows.append((slots, *(np.inf if each is None else each for each in limits)))
            ordinals.append(ordinal)
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    limit = table[:, 1:]
    limit += np.where(np.isfinite(limit), TOLERANCE * np.maximum(1.0, np.abs(limit)), 0.0)
    limit[limit >= everything] = np.inf
    kinds, inverse = np.unique(-table, axis=0, return_inverse=True)
    numbers = np.array(ordinals, dtype=np.int64)
    nodes = tuple(numbers[inverse.reshape(-1) == kind] for kind in range(len(kinds)))
    return nodes, -kinds[:, 1:], (-kinds[:, 0]).astype(np.int64)
