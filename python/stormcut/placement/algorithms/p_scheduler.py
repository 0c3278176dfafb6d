"""P-Scheduler: as few nodes as the load needs, cut by METIS so that little traffic crosses them.

Level 1 divides the executors of all topologies, as one graph, into ceil(load / capacity) parts and
gives each a node; level 2 divides each node's executors into workers (see `workers`), which never
mix topologies. METIS balances only approximately, so that parts are repaired (see `repair`).

What the thesis leaves open is decided thus (identifiers of the project's reading of it):

- P-1: recursive bisection. P-3: repair, then one node more.
- P-2: if the load needs more nodes than there are, or no placement is found within ``cpu_share``,
  the share rises in steps to 100 %, and the placement is noted as over-committed.
- P-4: an executor above a node's share gets a node of its own, and is noted.
- P-5: parts go to the nodes on which most of their executors already run; ties by node id.
- P-6: without traffic, or without load where CPU is the capacity, it refuses.
- P-8: nodes of different capacity are refused, or all counted as the smallest.

Capacity is CPU times ``cpu_share`` where nodes limit CPU, executors where they limit those, both if
both. Memory and slots are no resources of the thesis; they never lead to fewer nodes, but a
placement that breaks them is not returned: more nodes are tried, then it gives up. Nodes that can
hold nothing (no slot, a capacity of 0) are passed over. A topology's ``workers`` is ignored.

References
----------
L. Eskandari et al., "P-Scheduler: adaptive hierarchical scheduling in Apache Storm", ACSW 2016;
and her thesis, chapter 7.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from stormcut.arrays import Floats, Ints
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.verify import exceeds
from stormcut.placement.graph.partition import (
    Method,
    numbered_by_first_vertex,
    partition,
    traffic_graph,
)
from stormcut.placement.packing.alignment import aligned, running
from stormcut.placement.packing.capacity import CPU, EXECUTORS, MEMORY, Hosts, hosts, scarcest
from stormcut.placement.packing.capacity import loads as executor_loads
from stormcut.placement.packing.repair import repair
from stormcut.placement.packing.tenancy import limit_topologies
from stormcut.placement.packing.thesis import (
    ThesisOptions,
    notes,
    require_profile,
    shares,
)
from stormcut.placement.slots.workers import fill_slots


@dataclass(frozen=True)
class Options(ThesisOptions):
    """What can be set; names as in the thesis's formulas where it has any."""

    partitioner: Method = field(
        default="recursive",
        metadata={"help": "recursive bisection, or the better of that and direct k-way"},
    )
    capacity: Literal["refuse", "smallest"] = field(
        default="refuse", metadata={"help": "nodes of different capacity: refuse, or use smallest"}
    )


def place(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return P-Scheduler's placement.

    Raises
    ------
    Infeasible
        No traffic or no load is known, nodes differ (see ``capacity``), or no placement was found.
    """
    if not problem.executor_count:
        return Placement(np.zeros(0, dtype=np.int64))
    able = hosts(problem)
    require_profile("p-scheduler", problem, able)
    _require_equal_nodes(able, options)
    seed = int(rng.integers(2**31))
    graph = traffic_graph(problem.traffic, problem.executor_count)
    parts, nodes = _level_one(problem, able, graph, options, seed)
    slots = fill_slots(problem, graph, nodes[parts], options.max_tasks_per_worker, seed)
    return Placement(slots, tuple(notes(problem, able, nodes[parts], slots, options)))


def _require_equal_nodes(hosts: Hosts, options: Options) -> None:
    for resource, name in ((CPU, "cpu"), (EXECUTORS, "max_executors")):
        values = np.unique(hosts.limits[:, resource])
        if len(values) > 1 and options.capacity == "refuse":
            raise Infeasible(
                f"p-scheduler found none: nodes differ in {name} ({values[0]:g} to "
                f"{values[-1]:g}); --option capacity=smallest counts all as the smallest",
                name,
            )


def _level_one(
    problem: Problem, hosts: Hosts, graph: csr_array, options: Options, seed: int
) -> tuple[Ints, Ints]:
    """Return (part of each executor, node ordinal of each part)."""
    loads = executor_loads(problem)
    for share in shares(hosts, options.cpu_share):
        for count in _node_counts(loads, hosts, share):
            limits = _limits(hosts, share, count)
            divided = _divide(problem, hosts, graph, loads, limits, count, options, seed)
            for parts in divided:
                nodes = _match(problem, hosts, loads, parts)
                if nodes is not None:
                    return parts, nodes
    raise Infeasible("p-scheduler found none on any number of nodes", scarcest(loads, hosts.limits))


def _limits(hosts: Hosts, share: float, count: int) -> Floats:
    """Return what a part may hold if ``count`` nodes are used.

    CPU and executors: of the smallest node. Memory: of the count-th largest, which that many have.
    """
    limits: Floats = hosts.limits.min(axis=0)
    limits[CPU] *= share
    limits[MEMORY] = np.sort(hosts.limits[:, MEMORY])[-count]
    return limits


def _needed(loads: Floats, limits: Floats) -> Floats:
    """Return the number of nodes that each resource needs, shape (resources,) (Eq. 7.1)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        need = loads.sum(axis=0) / limits
    need = np.where(np.isnan(need), 0.0, need)
    return np.ceil(need * (1 - 1e-12))


def _node_counts(loads: Floats, hosts: Hosts, share: float) -> Iterator[int]:
    """Yield numbers of nodes to try: what the load needs, then more, in growing steps."""
    most = len(hosts.ordinals)
    need = _needed(loads, _limits(hosts, share, 1))
    count, tried = max(1, int(min(need[:MEMORY].max(), most + 1))), 0
    while count < most:
        yield count
        tried += 1
        count += max(1, tried - 4)
    if max(1.0, need[:MEMORY].max()) <= most:
        yield most


def _divide(
    problem: Problem,
    hosts: Hosts,
    graph: csr_array,
    loads: Floats,
    limits: Floats,
    count: int,
    options: Options,
    seed: int,
) -> list[Ints]:
    """Return the partitions into about ``count`` parts that keep within limits, best first."""
    methods: tuple[Method, ...] = ("recursive",)
    if options.partitioner == "kway":
        methods = ("recursive", "kway")
    most = len(hosts.ordinals)
    weights = loads[:, EXECUTORS]
    if (
        np.isfinite(limits[CPU])
        and _needed(loads, limits)[CPU] >= _needed(loads, limits)[EXECUTORS]
    ):
        weights = loads[:, CPU]
    tenants = int(np.sort(hosts.slots)[-count])
    divisions = []
    for method in methods:
        raw = partition(graph, count, weights, seed, method)
        parts = repair(graph, raw, loads, limits, most)
        if parts is not None:
            parts = limit_topologies(
                graph, parts, problem.executor_topology, loads, limits, tenants, most
            )
        if parts is not None:
            divisions.append(numbered_by_first_vertex(parts))
    return sorted(divisions, key=lambda parts: _cut(graph, parts))


def _cut(graph: csr_array, parts: Ints) -> float:
    edges = graph.tocoo()
    return float(edges.data[parts[edges.row] != parts[edges.col]].sum() / 2)


def _match(problem: Problem, hosts: Hosts, loads: Floats, parts: Ints) -> Ints | None:
    """Return the node ordinal of each part so that most executors stay on their node.

    None if no assignment respects every node's own limits and number of slots.
    """
    count, most = int(parts.max()) + 1, len(hosts.ordinals)
    if count > most:
        return None
    totals = np.zeros((count, loads.shape[1]))
    np.add.at(totals, parts, loads)
    tenants = np.zeros((count, len(problem.topologies)), dtype=bool)
    tenants[parts, problem.executor_topology] = True
    allowed = tenants.sum(axis=1)[:, None] <= hosts.slots
    for resource in range(loads.shape[1]):
        allowed &= ~exceeds(totals[:, resource][:, None], hosts.limits[:, resource])
    try:
        kept = running(problem, hosts, parts, count)
        return hosts.ordinals[aligned(kept, allowed, in_order=True)]
    except ValueError:
        return None
