"""The simplified graph of T3-Scheduler: operators as vertices, split as their tasks are placed.

References
----------
L. Eskandari, thesis on task scheduling in data stream processing systems, section 8.2.2.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from stormcut.arrays import ROUNDING, Bools, Floats, Ints
from stormcut.model.problem import Problem
from stormcut.placement.graph.component_graph import component_graph, linear_order


class SimplifiedGraph:
    """Groups of tasks that are still free, and the traffic between them.

    A group is what is left of a component; the part of it that was placed is no vertex any more.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Symmetric traffic between executors without a diagonal.
    group : array of shape (n,)
        Group of each executor, numbered in the order that breaks ties.
    """

    def __init__(self, graph: csr_array, group: Ints) -> None:
        self.graph, self.group = graph, group
        self.count = int(group.max()) + 1
        self.free = np.ones(len(group), dtype=bool)
        edges = graph.tocoo()
        ends = (group[edges.row], group[edges.col])
        between = coo_array((edges.data, ends), shape=(self.count, self.count)).tocsr()
        between.sort_indices()
        # Both triangles are kept so that the pairs of a group are one range.
        self._starts, self._partners = between.indptr, between.indices.astype(np.int64)
        self._owners = np.repeat(np.arange(self.count), np.diff(between.indptr))
        self._weights = np.where(self._owners == self._partners, 0.0, between.data)

    @cached_property
    def _members(self) -> list[Ints]:
        order = np.argsort(self.group, kind="stable")
        sizes = np.bincount(self.group, minlength=self.count)
        return np.split(order, np.cumsum(sizes)[:-1])

    def members(self, group: int) -> Ints:
        """Return the free executors of a group in ascending order."""
        everyone = self._members[group]
        return everyone[self.free[everyone]]

    def sums(self, values: npt.ArrayLike) -> Floats:
        """Return the sum of a value of each free executor by group, shape (groups,)."""
        weights = np.asarray(values, dtype=np.float64)[self.free]
        sums = np.bincount(self.group[self.free], weights=weights, minlength=self.count)
        return sums.astype(np.float64)

    def heaviest_pair(self, eligible: Bools) -> tuple[int, int] | None:
        """Return the two groups with most traffic between them, one of them eligible.

        None if no such pair has traffic. Ties: lower first group, then lower second.
        """
        allowed = (self._owners < self._partners) & (
            eligible[self._owners] | eligible[self._partners]
        )
        index = first_largest(np.where(allowed, self._weights, 0.0))
        return None if index is None else (int(self._owners[index]), int(self._partners[index]))

    def remove(self, tasks: Ints) -> None:
        """Take executors out of their groups; weights between groups follow."""
        self.free[tasks] = False
        for group in np.unique(self.group[tasks]).tolist():
            self._reweigh(group)

    def _reweigh(self, group: int) -> None:
        """Add up the traffic of a group again: differences would leave rests of rounding."""
        pairs = slice(self._starts[group], self._starts[group + 1])
        partners = self._partners[pairs]
        edges = self.graph[self.members(group), :].tocoo()
        kept = self.free[edges.col] & (self.group[edges.col] != group)
        sums = np.bincount(
            self.group[edges.col[kept]], weights=edges.data[kept], minlength=self.count
        )
        self._weights[pairs] = sums[partners]
        for partner in partners[partners != group].tolist():
            begin, end = self._starts[partner : partner + 2]
            index = begin + int(np.searchsorted(self._partners[begin:end], group))
            self._weights[index] = sums[partner]


def first_largest(values: Floats) -> int | None:
    """Return the first index of the largest value, None if none is above 0."""
    largest = values.max(initial=0.0)
    if largest <= 0:
        return None
    return int(np.argmax(values >= largest * (1 - ROUNDING)))


def operators(problem: Problem) -> Ints:
    """Return the component of each executor, numbered in topological order, shape (executors,).

    Among components without another before them, and where a cycle leaves none, the one declared
    first comes first.
    """
    components = component_graph(problem)
    count = len(components.size)
    rank = np.empty(count, dtype=np.int64)
    rank[linear_order(count, components.edges, range(count))] = np.arange(count)
    return np.repeat(rank, components.size)
