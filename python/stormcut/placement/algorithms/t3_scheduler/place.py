"""T3-Scheduler: fills node after node, largest first, with groups of tasks that exchange most.

The start on an empty node is the pair of components with most traffic between them; then comes the
neighbour with most traffic to what is already there, until nothing fits. What does not fit as a
whole is split, pairs and single groups by rules of their own. Level 2 is `workers`.

What the thesis leaves open is decided thus (identifiers of the project's reading of it; P-4 and P-6
are as in P-Scheduler):

- T-1: ties between groups and pairs go to the lowest component in topological order.
- T-2: among nodes of equal capacity the lowest id; equal nodes are then exchanged so that most
  executors stay where they run.
- T-3: a node is full when no free task fits.
- T-4: a neighbour's weight is its traffic with everything on the node.
- T-5: without a free neighbour, a new pair starts on the same node, else the heaviest group.
- T-6: if there is room for one task of a pair only, the one with the highest rate.
- T-7: if nodes run out, the share of CPU rises in steps to 100 % and all is placed again; at last
  what is left is placed at the expense of what is not (see `fit`).
- T-8: a single split takes tasks by their best pair, then by their sum, then by id.
- T-9: a pair that does not fit is split even if one of its groups would fit.
- A pair or a neighbour of which no task fits is passed over, which ends loops that the printed
  algorithms do not end.

Capacity is CPU times ``cpu_share`` where nodes limit CPU, executors where they limit those, both if
both; "capacity" in an order of nodes is the one of which the nodes together have less to spare.
Memory limits too. All topologies are placed as one graph; one whose slot is missing on a node does
not fit there. A topology's ``workers`` is ignored.

References
----------
L. Eskandari et al., "T3-Scheduler: a topology and traffic aware two-level scheduler for stream
processing systems in a heterogeneous cluster", Future Generation Computer Systems 89 (2018);
and her thesis, chapter 8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from stormcut.arrays import Bools, Floats, Ints
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.verify import exceeds
from stormcut.placement.algorithms.t3_scheduler.operators import (
    SimplifiedGraph,
    first_largest,
    operators,
)
from stormcut.placement.algorithms.t3_scheduler.splitting import as_fit, split_group, split_pair
from stormcut.placement.graph.partition import traffic_graph
from stormcut.placement.packing.alignment import among_equals
from stormcut.placement.packing.capacity import Hosts, hosts, scarcest
from stormcut.placement.packing.capacity import loads as executor_loads
from stormcut.placement.packing.fit import fit
from stormcut.placement.packing.thesis import (
    ThesisOptions,
    capped_loads,
    leading_resource,
    notes,
    require_profile,
    shared_limits,
    shares,
)
from stormcut.placement.slots.workers import fill_slots


@dataclass(frozen=True)
class Options(ThesisOptions):
    """What can be set; names as in the thesis's formulas."""


def place(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return T3-Scheduler's placement.

    O(nodes (executors + component pairs) + traffic of split components per node) and level 2.

    Raises
    ------
    Infeasible
        No traffic or no load is known, or no placement was found.
    """
    if not problem.executor_count:
        return Placement(np.zeros(0, dtype=np.int64))
    able = hosts(problem)
    require_profile("t3-scheduler", problem, able)
    seed = int(rng.integers(2**31))
    graph = traffic_graph(problem.traffic, problem.executor_count)
    nodes = _level_one(problem, able, graph, options)
    slots = fill_slots(problem, graph, nodes, options.max_tasks_per_worker, seed)
    return Placement(slots, tuple(notes(problem, able, nodes, slots, options)))


def _level_one(problem: Problem, hosts: Hosts, graph: csr_array, options: Options) -> Ints:
    """Return the node ordinal of each executor."""
    loads = executor_loads(problem)
    group = operators(problem)
    for share in shares(hosts, options.cpu_share):
        limits = shared_limits(hosts, share)
        where = _fill_nodes(problem, hosts, graph, group, capped_loads(loads, limits), limits)
        if (where >= 0).all():
            return hosts.ordinals[among_equals(problem, hosts, where)]
    completed = fit(problem, np.append(hosts.ordinals, -1)[where])
    if completed is None:
        raise Infeasible(
            "t3-scheduler found none: executors are left when every node is full",
            scarcest(loads, hosts.limits),
        )
    return completed


def _fill_nodes(
    problem: Problem, hosts: Hosts, graph: csr_array, group: Ints, loads: Floats, limits: Floats
) -> Ints:
    """Return the host of each executor, -1 for those that are left when all nodes are full."""
    where = np.full(problem.executor_count, -1, dtype=np.int64)
    simplified = SimplifiedGraph(graph, group)
    leading = leading_resource(loads, limits)
    for host in _by_capacity(hosts, limits, leading):
        node = _NodeBeingFilled(
            simplified, loads, limits[host], problem.executor_topology, hosts.slots[host]
        )
        node.fill(leading)
        where[node.tasks()] = host
        if not simplified.free.any():
            break
    return where


def _by_capacity(hosts: Hosts, limits: Floats, leading: int) -> Iterator[int]:
    """Yield hosts by capacity, largest first; ties by what else they offer, then by id."""
    keys = (-hosts.slots, *(-limits[:, other] for other in range(limits.shape[1])))
    yield from np.lexsort((*keys, -limits[:, leading])).tolist()


class _NodeBeingFilled:
    """A node being filled: room left, topologies, and every task's traffic with what it holds."""

    def __init__(
        self, simplified: SimplifiedGraph, loads: Floats, limit: Floats, topology: Ints, slots: int
    ) -> None:
        self.simplified, self.loads, self.room = simplified, loads, limit.copy()
        self.topology, self.slots = topology, slots
        self.tenants = np.zeros(int(topology.max()) + 1, dtype=bool)
        self.total_rate = np.zeros(len(loads))
        self.best_rate = np.zeros(len(loads))
        self.taken: list[Ints] = []

    def tasks(self) -> Ints:
        """Return the executors on the node."""
        return np.concatenate(self.taken) if self.taken else np.zeros(0, dtype=np.int64)

    def fill(self, leading: int) -> None:
        """Take free tasks until none fits (Alg. 2, 3)."""
        while (fitting := self._fitting()).any():
            eligible = self.simplified.sums(fitting) > 0
            weights = self.simplified.sums(self.total_rate)
            neighbour = first_largest(np.where(eligible, weights, 0.0))
            if neighbour is not None:
                self._take(self._neighbour_tasks(neighbour))
            elif (pair := self.simplified.heaviest_pair(eligible)) is not None:
                self._take(self._pair_tasks(*pair))
            else:
                weights = self.simplified.sums(self.loads[:, leading])
                lone = first_largest(np.where(eligible, weights, 0.0))
                group = int(np.argmax(eligible)) if lone is None else lone
                self._take(as_fit(self.simplified.members(group), self.loads, self.room))

    def _fitting(self) -> Bools:
        """Return which free tasks fit, shape (executors,)."""
        welcome = self.tenants | (self.tenants.sum() < self.slots)
        small = ~exceeds(self.loads, self.room).any(axis=1)
        result: Bools = self.simplified.free & small & welcome[self.topology]
        return result

    def _holds(self, tasks: Ints) -> bool:
        return not exceeds(self.loads[tasks].sum(axis=0), self.room).any()

    def _neighbour_tasks(self, group: int) -> Ints:
        members = self.simplified.members(group)
        if self._holds(members):
            return members
        return split_group(
            members, self.best_rate[members], self.total_rate[members], self.loads, self.room
        )

    def _pair_tasks(self, one: int, other: int) -> Ints:
        ones, others = self.simplified.members(one), self.simplified.members(other)
        both = np.concatenate((ones, others))
        if self._holds(both):
            return both
        return split_pair(self.simplified.graph, ones, others, self.loads, self.room)

    def _take(self, tasks: Ints) -> None:
        self.taken.append(tasks)
        self.room = self.room - self.loads[tasks].sum(axis=0)
        self.tenants[self.topology[tasks]] = True
        self.simplified.remove(tasks)
        edges = self.simplified.graph[tasks, :].tocoo()
        self.total_rate += np.bincount(
            edges.col, weights=edges.data, minlength=len(self.total_rate)
        )
        np.maximum.at(self.best_rate, edges.col, edges.data)
