"""Pipeline-based linear scheduling: placement by matrix transposition, blind to load and traffic.

Tasks are distributed so that every node sends to one node at a time (see `pipeline.distribution`),
and components that communicate are brought onto the same few nodes (`pipeline.refinement`). The
paper's third part, when each task sends, is no placement: `schedule` computes it.

What the paper leaves open is decided thus:

- Components are numbered so that streams lead to higher numbers; spouts first, ties as declared.
- More components than nodes go N at a time (see `pipeline.allocation`). If the number of tasks and
  nodes have no common divisor, dummies are added.
- Nodes are near if they follow each other by rack, then in the problem's order, which is by host
  for a cluster that runs. All that can hold something are used, as in the paper; a topology's
  ``workers`` is ignored, and it gets one on each node that runs it.
- Each topology is scheduled alone. Its first node follows the last that the one before it uses, so
  that different nodes stay empty; that of the first begins the longest row of nodes that hold
  nothing yet. Where slots are too few for every topology on every node, each
  gets an equal number of nodes, those with most slots left.
- Storm's own components (named ``__...``) go in turn to the nodes that run the topology's spouts.
- The paper knows no limits and only equal nodes. Executors that a node cannot hold move to others
  at the least cost in traffic (see `fit`), and the placement says so.

References
----------
N. Tantalaki, S. Souravlas, M. Roumeliotis, S. Katsavounis, "Pipeline-Based Linear Scheduling of
Big Data Streams in the Cloud", IEEE Access 2020, Algorithms 1 and 2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from stormcut.arrays import Ints
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.placement.algorithms.pipeline_linear.allocation import (
    LinearAllocation,
    Refinement,
    allocate,
)
from stormcut.placement.graph.component_graph import ComponentGraph, component_graph, linear_order
from stormcut.placement.packing.capacity import Hosts, hosts, node_racks
from stormcut.placement.slots.on_nodes import place_on_nodes


@dataclass(frozen=True)
class Options:
    """What can be set."""

    refinement: Refinement = field(
        default="fixed",
        metadata={
            "help": "Algorithm 2: its faults mended, edges looked at both ways too, as printed, or "
            "left out"
        },
    )


class LinearTopology(NamedTuple):
    """A topology whose tasks are allocated.

    Parameters
    ----------
    topology : int
        Ordinal in the problem.
    components : list of int
        In linear order, numbered as in a `ComponentGraph`.
    edges : list of (source, target)
        Between components, by their place in that order.
    nodes : array of shape (nodes,)
        Node ordinals; the allocation counts them from 0.
    allocation : LinearAllocation
    """

    topology: int
    components: list[int]
    edges: list[tuple[int, int]]
    nodes: Ints
    allocation: LinearAllocation


def place(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return the placement of pipeline-based linear scheduling; nothing in it is random.

    Raises
    ------
    Infeasible
        No node can hold anything, or no way was found to keep within limits.
    """
    if not problem.executor_count:
        return Placement(np.zeros(0, dtype=np.int64))
    able = _hosts(problem)
    positions, _ = _positions(problem, able, options)
    return place_on_nodes("pipeline-linear", problem, able, positions)


def allocations(problem: Problem, options: Options) -> list[LinearTopology]:
    """Return where the tasks of each topology are allocated, before limits are looked at.

    Raises
    ------
    Infeasible
        No node can hold anything.
    """
    return _positions(problem, _hosts(problem), options)[1] if problem.executor_count else []


def _hosts(problem: Problem) -> Hosts:
    able = _by_proximity(problem, hosts(problem))
    if not len(able.ordinals):
        raise Infeasible(
            "pipeline-linear found none: no node has a slot and capacity left", "slots"
        )
    return able


def _by_proximity(problem: Problem, able: Hosts) -> Hosts:
    """Return hosts by rack, then in the problem's order."""
    order = np.lexsort((able.ordinals, node_racks(problem)[able.ordinals]))
    return Hosts(able.ordinals[order], able.slots[order], able.limits[order], able.others[order])


def _positions(
    problem: Problem, able: Hosts, options: Options
) -> tuple[Ints, list[LinearTopology]]:
    """Return the position in ``able`` of each executor, before limits are looked at."""
    graph = component_graph(problem)
    topologies = np.unique(graph.topology)
    left = np.minimum(able.slots, len(topologies))
    share = max(1, int(left.sum()) // len(topologies))
    result = np.empty(problem.executor_count, dtype=np.int64)
    allocated: list[LinearTopology] = []
    first = _idle(able.others)
    for topology in topologies.tolist():
        ring = np.roll(np.arange(len(left)), -first)
        chosen = np.sort(np.argsort(-left[ring], kind="stable")[:share])
        ring = ring[chosen]
        left[ring] -= 1
        linear = _allocate(graph, topology, able.ordinals[ring], options.refinement)
        allocated += [linear] if linear else []
        used = _fill_in(graph, topology, ring, linear, result)
        first = (int(used[-1]) + 1) % len(left)
    return result, allocated


def _idle(others: Ints) -> int:
    """Return where the most hosts in a row begin that hold nothing yet, the last next to the first.

    0 if none or all do.
    """
    busy = np.flatnonzero(others)
    if not len(busy):
        return 0
    rows = np.diff(np.append(busy, busy[0] + len(others))) - 1
    longest = int(np.argmax(rows))
    return int(busy[longest] + 1) % len(others) if rows[longest] else 0


def _allocate(
    graph: ComponentGraph, topology: int, nodes: Ints, refinement: Refinement
) -> LinearTopology | None:
    """Return a topology with its allocation, None if it has none but Storm's own executors."""
    own = np.flatnonzero((graph.topology == topology) & ~graph.system)
    number = {component: index for index, component in enumerate(own.tolist())}
    edges = [(number[a], number[b]) for a, b in graph.edges if a in number and b in number]
    sources = sorted(range(len(own)), key=lambda index: not graph.spout[own[index]])
    order = linear_order(len(own), edges, sources)
    if not order:
        return None
    rank = {component: index for index, component in enumerate(order)}
    ranked = [(rank[a], rank[b]) for a, b in edges]
    allocation = allocate(graph.size[own[order]].tolist(), ranked, len(nodes), refinement)
    return LinearTopology(topology, own[order].tolist(), ranked, nodes, allocation)


def _fill_in(
    graph: ComponentGraph, topology: int, ring: Ints, linear: LinearTopology | None, result: Ints
) -> Ints:
    """Fill in the hosts of one topology's executors; return those used, in the ring's order."""
    used = np.zeros(len(ring), dtype=bool)
    homes: list[int] = []
    if linear:
        for component, nodes in zip(linear.components, linear.allocation.nodes, strict=True):
            result[graph.executors(component)] = ring[nodes]
            used[nodes] = True
            if graph.spout[component]:
                homes += nodes.tolist()
    # Without a spout Storm's own executors go where anything runs, else from the first node on.
    homes = sorted(set(homes)) or np.flatnonzero(used).tolist() or list(range(len(ring)))
    system = np.flatnonzero((graph.topology == topology) & graph.system)
    own = [e for component in system.tolist() for e in graph.executors(component).tolist()]
    if own:
        places = np.resize(np.array(homes, dtype=np.int64), len(own))
        result[own] = ring[places]
        used[places] = True
    return ring[used]
