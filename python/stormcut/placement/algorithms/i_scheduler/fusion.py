"""How I-Scheduler fuses executors, class of nodes after class (Algs. 4 and 5).

References
----------
L. Eskandari, thesis on task scheduling in data stream processing systems, section 9.2.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from stormcut.arrays import Floats, Ints
from stormcut.model.problem import Problem
from stormcut.objective.verify import exceeds
from stormcut.placement.graph.partition import partition
from stormcut.placement.packing.capacity import EXECUTORS, Hosts
from stormcut.placement.packing.repair import repair
from stormcut.placement.packing.tenancy import limit_topologies
from stormcut.placement.packing.thesis import leading_resource


@dataclass(frozen=True, eq=False)
class NodeClass:
    """Nodes of one capacity.

    ``members`` are positions in the hosts; ``limits`` of shape (resources,) and ``slots`` are those
    that every member has at least.
    """

    members: Ints
    limits: Floats
    slots: int


def node_classes(hosts: Hosts, loads: Floats) -> list[NodeClass]:
    """Return the classes of nodes by capacity, largest first (the array N of section 9.2.3)."""
    capacity = hosts.limits[:, leading_resource(loads, hosts.limits)]
    groups = [np.flatnonzero(capacity == value) for value in np.unique(capacity)[::-1]]
    return [
        NodeClass(each, hosts.limits[each].min(axis=0), int(hosts.slots[each].min()))
        for each in groups
    ]


class Fusion:
    """A graph being reduced.

    Parameters
    ----------
    phi : int
        Number of vertices to reach; 0: fuse everything, without an optimiser.

    Attributes
    ----------
    unfused : array of executors, ascending
    fused : list of (number of the class, executors)
    optimising : bool
        Whether ``phi`` can still be reached; if not it is 0 from then on.
    """

    def __init__(
        self,
        problem: Problem,
        graph: csr_array,
        loads: Floats,
        phi: int,
        parts: Literal["repaired", "raw"],
        seed: int,
    ) -> None:
        self.topology = problem.executor_topology
        self.graph, self.loads, self.parts, self.seed = graph, loads, parts, seed
        self.phi, self.optimising = phi, phi > 0
        self.unfused = np.arange(len(loads), dtype=np.int64)
        self.fused: list[tuple[int, Ints]] = []

    @property
    def vertices(self) -> int:
        """Number of vertices of the reduced graph, t + f in the thesis."""
        return len(self.unfused) + len(self.fused)

    def vertex_of_executors(self) -> Ints:
        """Return the vertex of every executor: fused sets first, then the unfused ones."""
        vertex = np.empty(len(self.loads), dtype=np.int64)
        for index, (_, members) in enumerate(self.fused):
            vertex[members] = index
        vertex[self.unfused] = len(self.fused) + np.arange(len(self.unfused))
        return vertex

    def iterate(self, number: int, kind: NodeClass) -> None:
        """Fuse parts for one class of nodes: as few as reach ``phi``, no more than it has nodes."""
        count = self._parts_needed(kind)
        if count == 1:
            self._fuse(number, self.unfused)
            return
        if self.optimising and count + len(self.fused) > self.phi:
            self._fall_back()
        if self.optimising and kind.limits[EXECUTORS] <= 1:
            self._fall_back()
        for part in self._ordered(self._divide(count, kind), kind)[: len(kind.members)]:
            if self.vertices <= self.phi:
                break
            self._fuse(number, part)

    def _fall_back(self) -> None:
        self.optimising, self.phi = False, 0

    def _fuse(self, number: int, members: Ints) -> None:
        self.fused.append((number, members))
        self.unfused = np.setdiff1d(self.unfused, members, assume_unique=True)

    def _parts_needed(self, kind: NodeClass) -> int:
        """Return k, Eq. 9.1, for loads of several resources; slots count like a resource."""
        totals = self.loads[self.unfused].sum(axis=0)
        bound = (totals > 0) & np.isfinite(kind.limits)
        with np.errstate(divide="ignore"):
            need = np.ceil(totals[bound] / kind.limits[bound] * (1 - 1e-12))
        tenants = np.ceil(len(np.unique(self.topology[self.unfused])) / kind.slots)
        most = float(len(self.unfused))
        return int(min(most, max(1.0, tenants, need.max(initial=0.0))))

    def _divide(self, count: int, kind: NodeClass) -> list[Ints]:
        """Return parts of the unfused executors."""
        own = self.graph[self.unfused, :][:, self.unfused].tocsr()
        loads, topology = self.loads[self.unfused], self.topology[self.unfused]
        leading = leading_resource(loads, kind.limits[None, :])
        parts = partition(own, count, loads[:, leading], self.seed)
        if self.parts == "repaired":
            parts = self._mended(own, parts, loads, topology, kind)
        return [self.unfused[parts == part] for part in np.unique(parts)]

    def _mended(
        self, graph: csr_array, parts: Ints, loads: Floats, topology: Ints, kind: NodeClass
    ) -> Ints:
        """Return parts within the class's limits as far as this way finds them."""
        most = 2 * (int(parts.max()) + 1)
        repaired = repair(graph, parts, loads, kind.limits, most)
        if repaired is None:
            return parts
        limited = limit_topologies(graph, repaired, topology, loads, kind.limits, kind.slots, most)
        return repaired if limited is None else limited

    def _ordered(self, parts: list[Ints], kind: NodeClass) -> list[Ints]:
        """Return the parts that a node of the class can hold, those to be fused first first."""
        able = [part for part in parts if self._fits(part, kind)]
        leading = leading_resource(self.loads, kind.limits[None, :])
        fullness = np.array([self.loads[part, leading].sum() for part in able])
        internal = np.array([self.graph[part, :][:, part].sum() for part in able])
        first = np.array([part[0] for part in able])
        keys = (internal, fullness) if self.optimising else (fullness, internal)
        return [able[index] for index in np.lexsort((first, -keys[1], -keys[0]))]

    def _fits(self, part: Ints, kind: NodeClass) -> bool:
        over = exceeds(self.loads[part].sum(axis=0), kind.limits).any()
        return not over and len(np.unique(self.topology[part])) <= kind.slots
