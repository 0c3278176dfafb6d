"""On how many nodes topologies run that keep their workers (``workers=keep``).

Storm spreads workers over as many nodes as there are. A topology that asks for W workers stays on W
nodes, as far as limits allow and there are as many, and each of these has at least half of what an
even share would be: the loss of one takes a part of the topology, not all of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from stormcut.arrays import Bools, Floats, Ints
from stormcut.model.problem import Problem
from stormcut.placement.algorithms.cut.instance import Instance

#: Part of an even share of executors that each of these nodes has at least.
MIN_SHARE = 0.5


class Breadth(NamedTuple):
    """How many nodes each topology is on, and executors on each at least, (topologies,) both."""

    nodes: Ints
    share: Ints

    @classmethod
    def free(cls, problem: Problem) -> Breadth:
        """Return that of topologies that may be on any number of nodes."""
        none = np.zeros(len(problem.topologies), dtype=np.int64)
        return cls(none, none)

    @classmethod
    def asked(cls, problem: Problem, instance: Instance) -> Breadth:
        """Return that of topologies that are on a node for each worker that they ask for."""
        executors = np.array([t.executor_count for t in problem.topologies], dtype=np.int64)
        wanted = np.array([t.workers or 1 for t in problem.topologies], dtype=np.int64)
        most = np.minimum(executors, np.count_nonzero(instance.slots))
        nodes = np.clip(wanted, 1, np.maximum(most, 1))
        share = np.maximum(1, (MIN_SHARE * executors / nodes).astype(np.int64))
        return cls(nodes, np.where(nodes > 1, share, 0))

    def tenants(self, problem: Problem, nodes: Ints) -> Ints:
        """Return the executors of each topology on each node, shape (topologies, nodes)."""
        count, homes = len(self.nodes), len(problem.nodes)
        cells = np.bincount(problem.executor_topology * homes + nodes, minlength=count * homes)
        result: Ints = cells.reshape(count, homes)
        return result

    def lacking(self, tenants: Ints) -> Ints:
        """Return on how many nodes more each topology has to be, shape (topologies,)."""
        served = np.count_nonzero(tenants >= np.maximum(self.share, 1)[:, None], axis=1)
        return np.where(self.share > 0, np.maximum(self.nodes - served, 0), 0)


def broaden(
    problem: Problem, instance: Instance, graph: csr_array, breadth: Breadth, nodes: Ints
) -> Ints:
    """Return executors' nodes with topologies on as many nodes as asked, if limits allow.

    A node that has too little of a topology gets executors from those that have most of it, such as
    exchange most with what it has.

    Parameters
    ----------
    graph : csr_array of shape (executors, executors)
        Symmetric traffic.
    nodes : array of shape (executors,)
        Within all limits, as what is returned.

    Notes
    -----
    Takes O(executors + topologies x nodes) where nothing lacks; else, for each executor that moves,
    O(executors of its topology + its neighbours + nodes).
    """
    tenants = breadth.tenants(problem, nodes)
    lacking = breadth.lacking(tenants)
    if not lacking.any():
        return nodes
    moves = _Moves(problem, instance, graph, nodes.copy(), tenants)
    for topology in np.flatnonzero(lacking).tolist():
        share, missing = int(breadth.share[topology]), int(lacking[topology])
        for node in moves.candidates(topology, share):
            if missing and moves.serve(topology, node, share):
                missing -= 1
    return moves.nodes


class _Moves:
    """Moves of executors from node to node, within limits."""

    def __init__(
        self, problem: Problem, instance: Instance, graph: csr_array, nodes: Ints, tenants: Ints
    ) -> None:
        self.nodes = nodes
        self._asked, self._graph, self._tenants = instance, graph, tenants
        self._topology = problem.executor_topology
        self._group = instance.groups.of
        self._used = np.zeros_like(instance.bounds)
        np.add.at(self._used, nodes, instance.load[self._group])

    def candidates(self, topology: int, share: int) -> list[int]:
        """Return nodes that have less than its share, those that have most of it first."""
        own = self._tenants[topology]
        able = np.flatnonzero((own < share) & (self._asked.slots > 0))
        taken = np.count_nonzero(self._tenants, axis=0) / np.maximum(self._asked.slots, 1)
        order = np.lexsort((self._tenants.sum(axis=0)[able], taken[able], -own[able]))
        result: list[int] = able[order].tolist()
        return result

    def serve(self, topology: int, node: int, share: int) -> bool:
        """Move executors to a node until it has its share; return whether it has, else none do."""
        others = np.count_nonzero(self._tenants[:, node]) - int(self._tenants[topology, node] > 0)
        if others >= self._asked.slots[node]:
            return False
        moved: list[tuple[int, int]] = []
        pull = np.zeros(len(self.nodes))
        for there in np.flatnonzero((self._topology == topology) & (self.nodes == node)).tolist():
            self._attract(pull, there)
        while self._tenants[topology, node] < share:
            executor = self._choice(topology, node, share, pull)
            if executor is None:
                for each, home in reversed(moved):
                    self._move(each, home)
                return False
            moved.append((executor, int(self.nodes[executor])))
            self._move(executor, node)
            self._attract(pull, executor)
        return True

    def _choice(self, topology: int, node: int, share: int, pull: Floats) -> int | None:
        """Return the executor to move, of the nodes that can spare one the fullest, or None."""
        own = self._tenants[topology]
        homes = [n for n in np.argsort(-own, kind="stable").tolist() if n != node]
        for home in homes:
            # What has less than a share serves nobody, whatever it gives.
            if own[home] == 0 or own[home] == share:
                continue
            there = np.flatnonzero((self._topology == topology) & (self.nodes == home))
            able = there[self._fits(there, node)]
            if len(able):
                return int(able[np.argmax(pull[able])])
        return None

    def _fits(self, executors: Ints, node: int) -> Bools:
        groups, instance = self._group[executors], self._asked
        more = self._used[node] + instance.load[groups]
        # A load of nothing breaks no limit.
        fits: Bools = ((more <= instance.bounds[node]) | (instance.load[groups] == 0)).all(axis=1)
        return fits if instance.allowed is None else fits & instance.allowed[groups, node]

    def _move(self, executor: int, node: int) -> None:
        load, home = self._asked.load[self._group[executor]], self.nodes[executor]
        self._used[home] -= load
        self._used[node] += load
        self._tenants[self._topology[executor], home] -= 1
        self._tenants[self._topology[executor], node] += 1
        self.nodes[executor] = node

    def _attract(self, pull: Floats, executor: int) -> None:
        edges = slice(self._graph.indptr[executor], self._graph.indptr[executor + 1])
        pull[self._graph.indices[edges]] += self._graph.data[edges]
