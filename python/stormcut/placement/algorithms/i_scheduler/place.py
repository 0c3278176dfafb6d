"""I-Scheduler: fuses well connected executors until an optimiser can place what is left.

METIS divides the executors into parts of the size of the largest nodes; parts are fused into single
vertices (see `fusion`) until no more than phi are left, class of nodes after class. CP-SAT then
places them (see `assignment_model`). phi follows from ``theta``, the time that CP-SAT gets (see
`threshold`). With ``theta`` 0, or where so few cannot be reached, all parts are fused and mapped to
nodes of their class. Level 2 is `workers`.

What the thesis prints wrongly or leaves open is decided thus (identifiers of the project's reading
of it; P-4 and P-6 are as in P-Scheduler):

- I-1, I-8: vertices left are counted, fused and unfused, not computed by Eqs. 9.2 and 9.3.
- I-2, I-3: the fallback begins if all parts and those fused before are more than phi; the loop
  also ends when nothing is unfused.
- I-4: for the optimiser, parts with most internal traffic are fused first, then larger ones, then
  those of the lower first executor; in the fallback the fullest first.
- I-5: parts above the class's capacity are repaired, and never fused; ``parts=raw`` does not repair
  (what the thesis's own results show).
- I-6: leftovers go where they have most traffic among the nodes where they fit; if some fit
  nowhere, the share of CPU rises in steps to 100 %, and at last `fit` makes room.
- I-7: a class for single executors cannot shrink the graph; the fallback begins. If the classes are
  used up and there are still more than phi vertices, all is done again with ``theta`` 0.
- I-9: phi is calibrated for CP-SAT, so that it is not the thesis's, whose costs come out with 18 or
  19 only; ``phi`` gives another than that of ``theta``.
- I-10: if the rest fits on one node of a class, all of it is fused.
- I-11: the optimiser may put a fused vertex on any node that can hold it, and others beside it.
- I-12: when the fallback begins midway, what is fused stays.
- I-13: numbers of parts come from loads, phi counts vertices.
- I-14: a placement that is not proven to be the best of the reduced graph is compared with that of
  the fallback, and the better one is returned. ``theta`` is CP-SAT's deterministic time, about a
  second per second, so that the result does not depend on how busy the machine is.
- I-15: recursive bisection, from ``seeds`` seeds of METIS, which breaks ties by chance; the best is
  returned. With one seed 8 of 252 placements of the thesis's instances miss the optimum.

A class is all nodes of one capacity: CPU times ``cpu_share`` or executors, whichever the nodes
together have less to spare of. Other limits, memory and slots included, are those of its smallest
nodes, and lead to more parts. All topologies are placed as one graph. A topology's ``workers`` is
ignored.

References
----------
L. Eskandari et al., "Iterative scheduling for distributed stream processing systems", DEBS 2018;
and her thesis, chapter 9.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from scipy.sparse import coo_array, csr_array

from stormcut.arrays import Ints
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.placement.algorithms.i_scheduler.assignment_model import AssignmentProblem, assign
from stormcut.placement.algorithms.i_scheduler.fusion import Fusion, node_classes
from stormcut.placement.algorithms.i_scheduler.threshold import find_threshold
from stormcut.placement.graph.partition import traffic_graph
from stormcut.placement.options import NOT_NEGATIVE, ONE_OR_MORE
from stormcut.placement.packing.alignment import among_equals
from stormcut.placement.packing.capacity import Hosts, hosts, scarcest
from stormcut.placement.packing.capacity import loads as executor_loads
from stormcut.placement.packing.fit import fit
from stormcut.placement.packing.room import Room
from stormcut.placement.packing.thesis import (
    ThesisOptions,
    capped_loads,
    notes,
    require_profile,
    shared_limits,
    shares,
)
from stormcut.placement.slots.workers import fill_slots


@dataclass(frozen=True)
class Options(ThesisOptions):
    """What can be set; names as in the thesis's formulas where it has any."""

    theta: float = field(
        default=1.0,
        metadata={
            "help": "seconds for the optimiser, 0 for none (section 9.2.3)",
            "bounds": NOT_NEGATIVE,
        },
    )
    phi: int | None = field(
        default=None,
        metadata={
            "help": "most vertices that the optimiser gets; none: as theta determines",
            "bounds": ONE_OR_MORE,
        },
    )
    seeds: int = field(
        default=3,
        metadata={"help": "seeds of METIS, of which the best counts", "bounds": ONE_OR_MORE},
    )
    parts: Literal["repaired", "raw"] = field(
        default="repaired", metadata={"help": "METIS's parts: repaired, or as they come"}
    )


def place(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return I-Scheduler's placement.

    O(classes of nodes x pairs x log parts), and ``theta``.

    Raises
    ------
    Infeasible
        No traffic or no load is known, or no placement was found.
    NativeFailure
        METIS or CP-SAT crashed or hangs.
    """
    if not problem.executor_count:
        return Placement(np.zeros(0, dtype=np.int64))
    able = hosts(problem)
    require_profile("i-scheduler", problem, able)
    seed = int(rng.integers(2**31))
    graph = traffic_graph(problem.traffic, problem.executor_count)
    nodes = _level_one(problem, able, graph, options, seed)
    slots = fill_slots(problem, graph, nodes, options.max_tasks_per_worker, seed)
    return Placement(slots, tuple(notes(problem, able, nodes, slots, options)))


def _level_one(
    problem: Problem, hosts: Hosts, graph: csr_array, options: Options, seed: int
) -> Ints:
    """Return the node ordinal of each executor."""
    for share in shares(hosts, options.cpu_share):
        tried = [
            _Attempt(problem, hosts, graph, options, share, seed + index).run()
            for index in range(options.seeds)
        ]
        where = max(tried, key=lambda each: ((each >= 0).sum(), _local(graph, each)))
        if (where >= 0).all():
            return hosts.ordinals[among_equals(problem, hosts, where)]
    completed = fit(problem, np.append(hosts.ordinals, -1)[where])
    if completed is None:
        raise Infeasible(
            "i-scheduler found none: executors are left when every node is full",
            scarcest(executor_loads(problem), hosts.limits),
        )
    return completed


class _Attempt:
    """One share of CPU."""

    def __init__(
        self,
        problem: Problem,
        hosts: Hosts,
        graph: csr_array,
        options: Options,
        share: float,
        seed: int,
    ) -> None:
        self.problem, self.graph, self.options, self.seed = problem, graph, options, seed
        limits = shared_limits(hosts, share)
        self.hosts = replace(hosts, limits=limits)
        self.loads = capped_loads(executor_loads(problem), limits)
        self.classes = node_classes(self.hosts, self.loads)

    def run(self) -> Ints:
        """Return the position of each executor's node in ``hosts``, -1 for those left over."""
        theta, phi = self.options.theta, self.options.phi
        phi = find_threshold(theta) if phi is None else phi
        fusion = self._fuse(phi if theta > 0 else 0)
        if not fusion.optimising:
            return self._map(fusion)
        if fusion.vertices > phi and len(fusion.unfused):
            return self._map(self._fuse(0))
        solved = self._solve(fusion)
        if solved is not None and solved[1]:
            return solved[0]
        mapped = self._map(self._fuse(0))
        if solved is None or self._better(mapped, solved[0]):
            return mapped
        return solved[0]

    def _fuse(self, phi: int) -> Fusion:
        fusion = Fusion(self.problem, self.graph, self.loads, phi, self.options.parts, self.seed)
        for number, kind in enumerate(self.classes):
            if not len(fusion.unfused) or fusion.vertices <= fusion.phi:
                break
            fusion.iterate(number, kind)
        return fusion

    def _solve(self, fusion: Fusion) -> tuple[Ints, bool] | None:
        """Return (host of each executor, whether proven) from the optimiser."""
        vertex = fusion.vertex_of_executors()
        count = fusion.vertices
        loads = np.zeros((count, self.loads.shape[1]))
        np.add.at(loads, vertex, self.loads)
        tenants = np.zeros((count, len(self.problem.topologies)), dtype=bool)
        tenants[vertex, self.problem.executor_topology] = True
        reduced = AssignmentProblem(
            contract(self.graph, vertex, count), loads, tenants, self.hosts.limits, self.hosts.slots
        )
        solved = assign(reduced, self.options.theta, self.seed)
        return None if solved is None else (solved.nodes[vertex], solved.proven)

    def _map(self, fusion: Fusion) -> Ints:
        """Give every fused vertex a node of its class, then the leftovers what room there is."""
        where = np.full(self.problem.executor_count, -1, dtype=np.int64)
        unused = [kind.members.tolist() for kind in self.classes]
        for number, members in fusion.fused:
            where[members] = unused[number].pop(0)
        self._fit_leftovers(where)
        return where

    def _fit_leftovers(self, where: Ints) -> None:
        """Place leftovers where they fit and have most traffic; ties: the lower node (I-6)."""
        room = Room(self.hosts, self.loads, self.problem.executor_topology)
        for executor in np.flatnonzero(where >= 0).tolist():
            room.put(executor, int(where[executor]))
        for executor in np.flatnonzero(where < 0).tolist():
            fits = room.fits(executor)
            if not fits.any():
                continue
            begin, end = self.graph.indptr[executor : executor + 2]
            neighbours, rates = where[self.graph.indices[begin:end]], self.graph.data[begin:end]
            traffic = np.bincount(
                neighbours[neighbours >= 0], weights=rates[neighbours >= 0], minlength=len(fits)
            )
            host = int(np.argmax(np.where(fits, traffic, -1.0)))
            where[executor] = host
            room.put(executor, host)

    def _better(self, one: Ints, other: Ints) -> bool:
        return bool((one >= 0).all()) and _local(self.graph, one) > _local(self.graph, other)


def _local(graph: csr_array, where: Ints) -> float:
    """Return twice the tuples/s that stay on a node."""
    edges = graph.tocoo()
    return float(edges.data[where[edges.row] == where[edges.col]].sum())


def contract(graph: csr_array, vertex: Ints, count: int) -> csr_array:
    """Return the graph between fused vertices: rates summed, those inside left out."""
    edges = graph.tocoo()
    ends = vertex[edges.row], vertex[edges.col]
    apart = ends[0] != ends[1]
    result = coo_array(
        (edges.data[apart], (ends[0][apart], ends[1][apart])), shape=(count, count)
    ).tocsr()
    result.sort_indices()
    return result
