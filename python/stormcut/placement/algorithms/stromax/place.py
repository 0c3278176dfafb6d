"""StroMAX: streaming greedy partitioning of the task graph, and moves away from busy nodes.

*Bootstrap* knows the graph only: every executor costs 1, and those of one topology after another,
in topological order, go where most neighbours and most room are (Eq. 5). *Rebalance* knows
measurements: it does the same with measured costs for all topologies together (global topology
graph partitioning, Eq. 10) when a topology is submitted, and moves executors away from nodes above
average (Algorithm 2) then and on a skew.

What the paper leaves open is decided thus; see also `streaming` and `reassignment`:

- Order: components first in first out, spouts first as declared (the paper: at random); together,
  all topologies' spouts come first. Streams may form a cycle: its first component goes first.
- Capacity in Bootstrap: the node's ``max_executors``, else ``tasks_per_node``, 10 in the paper's
  cluster; more if the nodes could not take all. Executors of topologies placed before count, also
  of those that run already.
- Cost in Rebalance: CPU, where nodes limit it (the paper's cost per tuple times the rate, the only
  one that capacity has a unit for); capacity is ``cpu_share`` of a node's. Else 1 for each executor
  if nodes limit those; else CPU with a capacity of 1.2 times the mean.
- Eq. 10 weighs neighbours by their cost, though it is meant to save traffic: a node with a sixth of
  an executor's traffic can win. ``weight=comm`` weighs by traffic.
- Eq. 7 asks for less than the capacity, Eq. 3 for no more: no more. Parts may be empty; equal parts
  (Definition 2) contradict what Algorithm 1 gives.
- Algorithm 2 moves to the node with most of an executor's traffic, whatever its load. With
  ``guard=average`` that node stays below the limit, and the paper's figure 7 turns round.
- Traffic is bytes/s as far as tuples' sizes are known, else tuples/s.
- The paper names METIS as too slow for a stream of tasks; ``partitioner=metis`` uses it for the
  global graph all the same, on the fewest of the largest nodes that have the capacity.
- Parts are exchanged among equal nodes so that most executors stay where they run.
- Storm's own components (``__...``) come after the others, in turn on the topology's nodes.
- A worker holds all executors of a topology on a node; its ``workers`` is ignored.
- Limits of CPU, memory, executors and slots bind all along; what still breaks them is moved at the
  least cost in traffic (see `fit`), and the placement says so.

With all-to-all streams and ten executors a node no placement keeps more than a few percent of
traffic on nodes (8 to 12 % on the paper's LP and TSSA), so that its gains of 37 to 87 % need
local-or-shuffle streams or saturated links; with equal costs the global partitioning finds what
Bootstrap finds.

References
----------
J. Jiang et al., "StroMAX: Partitioning-based Scheduler for Real-time Stream Processing System".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.placement.algorithms.stromax.reassignment import (
    Guard,
    Rates,
    Threshold,
    load_limits,
    reassign,
)
from stormcut.placement.algorithms.stromax.streaming import NeighbourCosts, Ties, Weights, stream
from stormcut.placement.graph.component_graph import ComponentGraph, component_graph, linear_order
from stormcut.placement.graph.partition import partition, traffic_graph
from stormcut.placement.graph.weighing import weighed
from stormcut.placement.options import NOT_NEGATIVE, ONE_OR_MORE, POSITIVE_FRACTION, Bounded
from stormcut.placement.packing.alignment import among_equals
from stormcut.placement.packing.capacity import CPU, EXECUTORS, Hosts, hosts, loads
from stormcut.placement.packing.fit import NOWHERE, TrafficPlaces
from stormcut.placement.packing.groups import fold
from stormcut.placement.packing.room import Room
from stormcut.placement.slots.on_nodes import place_on_nodes

#: Part of the mean load that a node may hold where nothing limits it.
SLACK = 1.2


@dataclass(frozen=True)
class Options(Bounded):
    """What can be set; the variants that the paper leaves open."""

    mode: Literal["auto", "bootstrap", "rebalance"] = field(
        default="auto",
        metadata={"help": "auto: rebalance if traffic is measured and executors run, or bootstrap"},
    )
    steps: Literal["auto", "both", "partition", "reassign"] = field(
        default="auto",
        metadata={
            "help": "rebalance: partition the global graph, reassign from busy nodes, or both; "
            "auto: both on a submission, which leaves something to place, else reassign"
        },
    )
    partitioner: Literal["streaming", "metis"] = field(
        default="streaming", metadata={"help": "of the global graph: Eq. 10, or METIS"}
    )
    weight: Literal["cost", "comm"] = field(
        default="cost", metadata={"help": "neighbours in Eq. 10 weigh by cost (printed) or traffic"}
    )
    ties: Ties = field(
        default="least_load", metadata={"help": "equal scores: the least loaded node, or the first"}
    )
    tasks_per_node: int = field(
        default=10,
        metadata={
            "help": "bootstrap: capacity of a node without max_executors",
            "bounds": ONE_OR_MORE,
        },
    )
    cpu_share: float = field(
        default=0.8,
        metadata={
            "help": "rebalance: share of a node's CPU that is its capacity",
            "bounds": POSITIVE_FRACTION,
        },
    )
    skew: float = field(
        default=0.12,
        metadata={
            "help": "reassign: part above average that is too much (Eq. 11)",
            "bounds": NOT_NEGATIVE,
        },
    )
    guard: Guard = field(
        default="none",
        metadata={"help": "reassign to any node, below the limit, or below the node that is left"},
    )
    threshold: Threshold = field(
        default="above_average",
        metadata={"help": "reassign above (1 + skew) x average, or as printed: skew x average"},
    )
    rates: Rates = field(
        default="renewed",
        metadata={"help": "traffic between nodes: taken again after each move, or frozen"},
    )
    rest: float = field(
        default=60.0,
        metadata={"help": "brain: seconds after a change without another", "bounds": NOT_NEGATIVE},
    )


def place(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return StroMAX's placement; only METIS uses chance.

    Raises
    ------
    Infeasible
        No node can hold anything, or no way was found to keep within limits.
    NativeFailure
        METIS crashed or hung.
    """
    if not problem.executor_count:
        return Placement(np.zeros(0, dtype=np.int64))
    able = hosts(problem)
    if not len(able.ordinals):
        raise Infeasible("stromax found none: no node has a slot and capacity left", "slots")
    current = positions(problem, able, problem.current_slots())
    measured = any(topology.measured for topology in problem.topologies)
    mode = options.mode
    if mode == "auto":
        mode = "rebalance" if measured and (current >= 0).any() else "bootstrap"
    if mode == "bootstrap":
        homes = among_equals(problem, able, _bootstrap(problem, able, options))
    else:
        homes = _rebalance(problem, able, current, options, int(rng.integers(2**31)))
    return place_on_nodes("stromax", problem, able, homes)


def positions(problem: Problem, able: Hosts, slots: Ints) -> Ints:
    """Return the position in ``able`` of each executor's slot, `NOWHERE` for none or another."""
    position = np.full(int(problem.slot_hosts.max(initial=0)) + 1, NOWHERE, dtype=np.int64)
    position[able.ordinals] = np.arange(len(able.ordinals))
    return np.where(slots >= 0, position[problem.slot_hosts[slots]], NOWHERE)


def _bootstrap(problem: Problem, able: Hosts, options: Options) -> Ints:
    """Return the position of each executor (Algorithm 1)."""
    capacity, used = able.limits[:, EXECUTORS] + able.others, able.others.astype(np.float64)
    equal = -(-(problem.executor_count + able.others.sum()) // len(capacity))
    capacity[~np.isfinite(capacity)] = max(options.tasks_per_node, equal)
    cost = np.ones(problem.executor_count)
    graph = component_graph(problem)
    order = [c for t in range(len(problem.topologies)) for c in _order(graph, t)]
    nothing = np.full(problem.executor_count, NOWHERE, dtype=np.int64)
    return _stream(problem, able, graph, order, nothing, cost, used, capacity, "cost", options.ties)


def _rebalance(problem: Problem, able: Hosts, current: Ints, options: Options, seed: int) -> Ints:
    """Return the position of each executor (section 3.3)."""
    cost, capacity = costs(problem, able, options.cpu_share)
    steps = options.steps
    if steps == "auto":
        steps = "reassign" if (current >= 0).all() else "both"
    if steps == "reassign" or options.partitioner == "streaming":
        start = np.full_like(current, NOWHERE) if steps != "reassign" else current
        graph = component_graph(problem)
        hosts = _stream(
            problem,
            able,
            graph,
            _order(graph),
            start,
            cost,
            np.zeros(len(capacity)),
            capacity,
            options.weight,
            options.ties,
        )
    else:
        hosts = _metis(problem, cost, capacity, seed)
    if steps != "reassign":
        hosts = among_equals(problem, able, hosts)
    if steps != "partition":
        limits = load_limits(cost, capacity, options.skew, options.threshold)
        traffic = _traffic(problem, len(capacity))
        room = _room(problem, able, hosts)
        for move in reassign(hosts, cost, traffic, limits, room, options.guard, options.rates):
            hosts[move.executor] = move.target
    return hosts


def costs(problem: Problem, able: Hosts, cpu_share: float) -> tuple[Floats, Floats]:
    """Return (cost of each executor, capacity of each host) for Rebalance."""
    cpu, ones = problem.executor_cpu, np.ones(problem.executor_count)
    if np.isfinite(able.limits[:, CPU]).any() and cpu.sum() > 0:
        return cpu, cpu_share * able.limits[:, CPU]
    if np.isfinite(able.limits[:, EXECUTORS]).any():
        return ones, able.limits[:, EXECUTORS]
    cost = cpu if cpu.sum() > 0 else ones
    return cost, np.full(len(able.ordinals), SLACK * cost.sum() / len(able.ordinals))


def _traffic(problem: Problem, hosts: int) -> TrafficPlaces:
    return TrafficPlaces(fold(problem, weights=weighed(problem)[0]), hosts)


def _order(graph: ComponentGraph, topology: int | None = None) -> list[int]:
    """Return the components of one or all topologies in topological order, Storm's own last."""
    inside = np.ones(len(graph.size), bool) if topology is None else graph.topology == topology
    components = np.flatnonzero(inside & ~graph.system).tolist()
    number = {component: index for index, component in enumerate(components)}
    edges = [(number[a], number[b]) for a, b in graph.edges if a in number and b in number]
    sources = sorted(range(len(components)), key=lambda index: not graph.spout[components[index]])
    ordered = [components[index] for index in linear_order(len(components), edges, sources)]
    return ordered + np.flatnonzero(inside & graph.system).tolist()


def _stream(
    problem: Problem,
    able: Hosts,
    graph: ComponentGraph,
    order: list[int],
    start: Ints,
    cost: Floats,
    used: Floats,
    capacity: Floats,
    weight: Literal["cost", "comm"],
    ties: Ties,
) -> Ints:
    """Return the position of each executor; those that ``start`` names stay there."""
    component = np.repeat(np.arange(len(graph.size)), graph.size)
    weights: Weights = _TrafficWeights(_traffic(problem, len(capacity)))
    if weight == "cost":
        edges = [(a, b) for a, b in graph.edges if not (graph.system[a] or graph.system[b])]
        weights = NeighbourCosts(component, edges, cost, len(capacity))
    for executor in np.flatnonzero(start >= 0).tolist():
        weights.put(executor, int(start[executor]))
    room = _room(problem, able, start)
    executors = [
        executor
        for each in order
        if not graph.system[each]
        for executor in graph.executors(each).tolist()
        if start[executor] < 0
    ]
    hosts = stream(executors, start, cost, used, capacity, weights, room, ties)
    _deal_system_executors(graph, problem.executor_topology, order, hosts)
    return hosts


class _TrafficWeights:
    """Neighbours weigh what they exchange with an executor."""

    def __init__(self, traffic: TrafficPlaces) -> None:
        self.traffic = traffic

    def of(self, executor: int, at: Ints) -> Floats:
        """Return an executor's traffic with each host."""
        return self.traffic.of(executor, at)

    def put(self, executor: int, host: int) -> None:
        """Positions tell everything."""


def _deal_system_executors(
    graph: ComponentGraph, topology: Ints, order: list[int], at: Ints
) -> None:
    """Place Storm's own executors that are nowhere in turn on the hosts their topology uses."""
    for tenant in np.unique(graph.topology[graph.system]).tolist():
        own = [c for c in order if graph.system[c] and graph.topology[c] == tenant]
        waiting = [e for c in own for e in graph.executors(c).tolist() if at[e] < 0]
        used = np.unique(at[(topology == tenant) & (at >= 0)])
        at[waiting] = np.resize(used if len(used) else np.zeros(1, dtype=np.int64), len(waiting))


def _room(problem: Problem, able: Hosts, at: Ints) -> Room:
    room = Room(able, loads(problem), problem.executor_topology)
    for executor in np.flatnonzero(at >= 0).tolist():
        room.put(executor, int(at[executor]))
    return room


def _metis(problem: Problem, cost: Floats, capacity: Floats, seed: int) -> Ints:
    """Return METIS's parts of about equal cost on the fewest of the largest hosts."""
    largest = np.argsort(-capacity, kind="stable")
    enough = np.cumsum(capacity[largest]) >= cost.sum()
    parts = int(np.argmax(enough)) + 1 if enough.any() else len(capacity)
    graph = traffic_graph(weighed(problem)[0], problem.executor_count)
    of = partition(graph, parts, cost, seed)
    heaviest = np.argsort(-np.bincount(of, weights=cost), kind="stable")
    host = np.empty(len(heaviest), dtype=np.int64)
    host[heaviest] = largest[: len(heaviest)]
    return host[of]
