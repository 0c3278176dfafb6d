"""R-Storm as published: executors go where resources and network distance are closest.

Components are ordered breadth-first from the spouts; executors are taken from them in turn, one of
each. An executor goes to the node that minimises the distance ::

    sqrt((cpu_weight * (c - C) / (C + 1))^2 + (memory_weight * (m - M) / (M + 1))^2
         + (network_weight * d)^2)

with its CPU c and memory m, the node's available C and M, and d = 0, 0.5 or 1 if the node is the
reference node, in its rack, or elsewhere. The reference node is the one used last; the first
executor of a topology goes to the rack with most CPU and memory left.

Storm v1.0.x is followed where the paper leaves something open (formula, reference node), the paper
where the code strays from it. Our decisions:

- The paper calls CPU a soft constraint, which a user may make a hard one; Storm's code has it
  hard, and so has the default here. ``cpu=soft``: nodes may be chosen beyond their CPU. As that is
  a limit for the judge, what exceeds it then moves at the least cost in traffic (see `fit`), and
  the placement says so. Memory and the number of executors are always hard.
- Where nodes limit executors but not CPU, executors take the place of CPU in the distance. A
  resource without a limit adds the same to every node, the formula's limit of 1.
- Breadth-first goes along streams both ways, each component once (Storm's code lists one that is
  met twice twice). What no spout reaches follows in the order given; without spouts the first
  component is the start.
- If nothing in the first rack can take the first executor, all nodes are asked.
- Ties: fewer free slots and less room first, then the order of racks' names and of the nodes.
- A worker is filled up to ``worker_memory_mb`` (Storm's ``topology.worker.max.heap.size.mb``), then
  the next free slot is opened. Storm refuses more; the problem has no such limit, so that here the
  worker with least memory takes more when slots run out. ``workers`` is ignored, as in Storm.
- All or nothing; topologies in the order given. The current placement only decides which slots
  are used, so that the fewest workers restart.

O(executors x nodes) time.

References
----------
B. Peng et al., "R-Storm: resource-aware scheduling in Storm", Middleware 2015, sections 3 and 4;
Apache Storm 1.0.x, ``org.apache.storm.scheduler.resource``, DefaultResourceAwareStrategy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from stormcut.arrays import Floats, Ints
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem, Topology
from stormcut.objective.verify import exceeds
from stormcut.placement.options import NOT_NEGATIVE, Bounded
from stormcut.placement.packing.capacity import CPU, EXECUTORS, MEMORY, node_limits, node_racks
from stormcut.placement.packing.capacity import loads as executor_loads
from stormcut.placement.packing.fit import fit
from stormcut.placement.slots.seating import seat


@dataclass(frozen=True)
class Options(Bounded):
    """The paper's weights and constraints, and the size of workers."""

    cpu_weight: float = field(
        default=1.0, metadata={"help": "weight of CPU in the distance", "bounds": NOT_NEGATIVE}
    )
    memory_weight: float = field(
        default=1.0, metadata={"help": "weight of memory", "bounds": NOT_NEGATIVE}
    )
    network_weight: float = field(
        default=1.0, metadata={"help": "weight of the network distance", "bounds": NOT_NEGATIVE}
    )
    worker_memory_mb: float = field(
        default=768.0,
        metadata={
            "help": "memory up to which a worker is filled while slots last",
            "bounds": NOT_NEGATIVE,
        },
    )
    cpu: Literal["hard", "soft"] = field(
        default="hard", metadata={"help": "whether a node is only chosen if its CPU suffices"}
    )


def place(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return R-Storm's placement; the random generator is not used.

    Raises
    ------
    Infeasible
        An executor fits no node any more.
    """
    cluster = _FreeNodes(problem, options)
    for ordinal, topology in enumerate(problem.topologies):
        cluster.start(topology)
        offset = int(problem.topology_offsets[ordinal])
        for executor in task_order(topology):
            cluster.add(offset + executor)
    if options.cpu == "hard":
        return Placement(seat(problem, cluster.nodes, cluster.workers))
    return _within_cpu(problem, cluster.nodes, cluster.workers)


def _within_cpu(problem: Problem, wanted: Ints, workers: Ints) -> Placement:
    """Return a placement within all limits; executors that move join workers on their new node."""
    nodes = fit(problem, wanted)
    if nodes is None:
        raise Infeasible(
            "r-storm-distance found none: what it places cannot be brought within the nodes' CPU",
            "cpu",
        )
    moved = nodes != wanted
    count = int(moved.sum())
    notes = (f"{count} executors moved to keep within the nodes' limits",) if count else ()
    return Placement(seat(problem, nodes, np.where(moved, -1, workers)), notes)


def task_order(topology: Topology) -> Iterator[int]:
    """Yield a topology's executors, counted within it: one of each component in turn."""
    queues = [
        deque(range(begin, begin + topology.components[c].executors))
        for c in breadth_first(topology)
        for begin in [topology.offsets[topology.components[c].name]]
    ]
    while queues:
        for queue in queues:
            yield queue.popleft()
        queues = [queue for queue in queues if queue]


def breadth_first(topology: Topology) -> list[int]:
    """Return the components' ordinals breadth-first from the spouts, along streams both ways."""
    ordinal_of = {component.name: ordinal for ordinal, component in enumerate(topology.components)}
    down: list[list[int]] = [[] for _ in ordinal_of]
    up: list[list[int]] = [[] for _ in ordinal_of]
    links = [(stream.source, stream.target) for stream in topology.streams]
    links += [(pair.source[0], pair.target[0]) for pair in topology.measured]
    for source, target in dict.fromkeys(links):
        down[ordinal_of[source]].append(ordinal_of[target])
        up[ordinal_of[target]].append(ordinal_of[source])
    spouts = [ordinal_of[c.name] for c in topology.components if c.kind == "spout"]
    order: list[int] = []
    seen: set[int] = set()
    for start in (*spouts, *range(len(ordinal_of))):
        waiting = deque([start] if start not in seen else [])
        seen.add(start)
        while waiting:
            component = waiting.popleft()
            order.append(component)
            for neighbour in (*down[component], *up[component]):
                if neighbour not in seen:
                    seen.add(neighbour)
                    waiting.append(neighbour)
    return order


class _FreeNodes:
    """What nodes have left, and where executors went: node and worker of each."""

    def __init__(self, problem: Problem, options: Options) -> None:
        self.options, self.names = options, [topology.id for topology in problem.topologies]
        self.topology, self.loads = problem.executor_topology, executor_loads(problem)
        self.limits = node_limits(problem)
        self.left = self.limits.copy()
        by_cpu = np.isfinite(self.limits[:, CPU]).any()
        self.columns = [CPU if by_cpu else EXECUTORS, MEMORY]
        self.hard = [EXECUTORS, MEMORY] if options.cpu == "soft" else [CPU, EXECUTORS, MEMORY]
        self.free = np.array([len(n.ports) for n in problem.nodes], dtype=np.int64)
        self.rack = node_racks(problem)
        self.nodes = np.full(problem.executor_count, -1, dtype=np.int64)
        self.workers = np.full(problem.executor_count, -1, dtype=np.int64)
        self.count = 0  # workers of all topologies
        self.reference: int | None = None
        self.own: dict[int, dict[int, float]] = {}

    def start(self, topology: Topology) -> None:
        """Begin with a topology: it has no worker yet, and no reference node."""
        self.reference = None
        #: node -> worker -> memory, of this topology's workers
        self.own = {}

    def add(self, executor: int) -> None:
        """Place an executor."""
        load = self.loads[executor]
        opened = np.zeros(len(self.free), dtype=bool)
        opened[list(self.own)] = True
        fits = ~exceeds(load, self._room())[:, self.hard].any(axis=1)
        able = fits & (opened | (self.free > 0))
        if not able.any():
            raise self._refusal(executor, opened)
        node = self._closest(load, able)
        self.left[node] -= load
        self.nodes[executor] = self.reference = node
        self.workers[executor] = self._worker(node, float(load[MEMORY]))

    def _room(self) -> Floats:
        # Differences lose digits; the judge's tolerance is relative to the whole limit.
        finite = np.where(np.isfinite(self.limits), self.limits, 0.0)
        result: Floats = self.left + 1e-12 * finite
        return result

    def _closest(self, load: Floats, able: npt.NDArray[np.bool_]) -> int:
        distance = self._resource_distance(load)
        if self.reference is None:
            best = able & (self.rack == self._largest_rack())
            able = best if best.any() else able
        else:
            apart = np.where(self.rack == self.rack[self.reference], 0.5, 1.0)
            apart[self.reference] = 0.0
            distance = distance + (self.options.network_weight * apart) ** 2
        candidates = np.flatnonzero(able)
        # Rounded, so that equal nodes with sums taken in another order still tie.
        keys = (
            self.rack[candidates],
            *(self.left[candidates, column] for column in range(self.left.shape[1])),
            self.free[candidates],
            np.round(distance[candidates], 12),
        )
        return int(candidates[np.lexsort(keys)[0]])

    def _resource_distance(self, load: Floats) -> Floats:
        weights = (self.options.cpu_weight, self.options.memory_weight)
        result = np.zeros(len(self.left))
        for column, weight in zip(self.columns, weights, strict=True):
            left = np.maximum(self.left[:, column], 0.0)
            limited = np.isfinite(left)
            term = np.full(len(left), -1.0)
            term[limited] = (load[column] - left[limited]) / (left[limited] + 1)
            result += (weight * term) ** 2
        return result

    def _largest_rack(self) -> int:
        left = self.left[:, self.columns]
        # Resources without a limit are as large on every node.
        finite = np.where(np.isfinite(left), left, 0.0).sum(axis=1)
        return int(np.argmax(np.round(np.bincount(self.rack, weights=finite), 6)))

    def _worker(self, node: int, memory: float) -> int:
        """Return the worker of this topology on a node that takes so many MB more."""
        workers = self.own.setdefault(node, {})
        for worker, held in workers.items():
            if held + memory <= self.options.worker_memory_mb:
                workers[worker] += memory
                return worker
        if self.free[node] > 0:
            self.free[node] -= 1
            workers[self.count] = memory
            self.count += 1
            return self.count - 1
        least = min(workers, key=lambda worker: (workers[worker], worker))
        workers[least] += memory
        return least

    def _refusal(self, executor: int, opened: npt.NDArray[np.bool_]) -> Infeasible:
        """Return the error that names what the executor lacks on most nodes that have a slot."""
        offered = opened | (self.free > 0)
        lacking = exceeds(self.loads[executor], self._room())[offered].sum(axis=0)
        name = "slots"
        if lacking.any():
            name = ("cpu", "max_executors", "memory")[int(np.argmax(lacking))]
        return Infeasible(
            f"r-storm-distance found none: an executor of {self.names[self.topology[executor]]} "
            "fits no node that has a slot for it",
            name,
        )
