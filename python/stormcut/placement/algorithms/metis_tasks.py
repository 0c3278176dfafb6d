"""METIS divides the executors straight into workers: the plainest use of a graph partitioner.

All topologies are one graph, edges weighted with traffic, executors with their load. It is divided
into as many parts as workers are wanted; a part is a worker process, and each has its node.

What the paper leaves open is decided thus:

- The number of parts is ``workers``; else the sum of the topologies' ``workers`` if all give one;
  else one for each node. Never more than slots or executors. With fewer parts than nodes the
  largest nodes are used; with more, nodes take one part each in turn until all are dealt out.
- The paper's machines are alike. Parts here are sized in proportion to their nodes' capacity of the
  scarcest resource (CPU, executors or memory), which is also the executors' weight.
- Partitioners balance only approximately and know one resource: executors are moved at least cost
  until every node is within all its limits (see `fit`).
- A worker holds one topology, so that a part with several becomes as many workers; where that
  takes more slots than the node has, workers of the same topology are joined.
- Equal nodes change places so that most executors stay where they run, slots so that the fewest
  workers restart. No traffic: dealt out by load.

``partitioner`` and its presets other than METIS are not in the paper; they are there to compare
with. KaHIP and Mt-KaHyPar come with ``pip install 'stormcut[partitioners]'``.

References
----------
L. Fischer and A. Bernstein, "Workload scheduling in distributed stream processors using graph
partitioning", IEEE Big Data 2015.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.placement.graph.partition import PRESETS, Partitioner, divide, traffic_graph
from stormcut.placement.options import FRACTION, ONE_OR_MORE, Bounded
from stormcut.placement.packing.alignment import aligned, running
from stormcut.placement.packing.capacity import EXECUTORS, Hosts, hosts, scarcest
from stormcut.placement.packing.capacity import loads as executor_loads
from stormcut.placement.packing.fit import fit
from stormcut.placement.slots.seating import seat

#: What `scarcest` calls the columns of loads.
_COLUMN = {"cpu": 0, "max_executors": 1, "memory": 2, "slots": EXECUTORS}


@dataclass(frozen=True)
class Options(Bounded):
    """What can be set."""

    workers: int | None = field(
        default=None,
        metadata={
            "help": "number of parts, none for the topologies' or one a node",
            "bounds": ONE_OR_MORE,
        },
    )
    partitioner: Partitioner = field(
        default="metis", metadata={"help": "metis, kahip or mt-kahypar"}
    )
    preset: str | None = field(
        default=None,
        metadata={"help": "metis: recursive, kway; kahip: strong, eco, ...; none for the best"},
    )
    imbalance: float | None = field(
        default=None,
        metadata={
            "help": "part by which a worker may exceed its share, none for the default",
            "bounds": FRACTION,
        },
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        presets = PRESETS[self.partitioner]
        if self.preset is not None and self.preset not in presets:
            raise InvalidInput(
                f"{self.partitioner} has no preset {self.preset!r}; it has {', '.join(presets)}",
                "option preset",
            )


def place(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return the placement by parts of a graph partitioner.

    Raises
    ------
    Infeasible
        No node can hold anything, or parts cannot be brought within the nodes' limits.
    InvalidInput
        The partitioner is not installed.
    NativeFailure
        It crashed or hangs.
    """
    if not problem.executor_count:
        return Placement(np.zeros(0, dtype=np.int64))
    able = hosts(problem)
    if not len(able.ordinals):
        raise Infeasible("metis-tasks found none: no node has a slot and capacity left", "slots")
    loads = executor_loads(problem)
    constraint = scarcest(loads, able.limits)
    weights, capacity = loads[:, _COLUMN[constraint]], _capacity(able.limits, constraint)
    seats = _seats(able, capacity, _part_count(problem, able, options))
    shares = (capacity / np.maximum(1, np.bincount(seats, minlength=len(capacity))))[seats]
    graph = traffic_graph(problem.traffic, problem.executor_count)
    seed = int(rng.integers(2**31))
    parts = divide(
        graph, shares, weights, seed, options.partitioner, options.preset, options.imbalance
    )
    parts = _exchanged(problem, able, seats, parts)
    nodes = fit(problem, able.ordinals[seats[parts]], able)
    if nodes is None:
        raise Infeasible(
            "metis-tasks found none: its parts cannot be brought within the nodes' limits",
            constraint,
        )
    return Placement(seat(problem, nodes, parts))


def _part_count(problem: Problem, hosts: Hosts, options: Options) -> int:
    counts = [topology.workers for topology in problem.topologies]
    wanted = len(hosts.ordinals)
    if options.workers is not None:
        wanted = options.workers
    elif None not in counts:
        wanted = sum(workers for workers in counts if workers is not None)
    return min(wanted, int(hosts.slots.sum()), problem.executor_count)


def _capacity(limits: Floats, constraint: str) -> Floats:
    """Return each node's capacity for parts; where it has no limit, that of the largest."""
    capacity = limits[:, _COLUMN[constraint]]
    finite = np.isfinite(capacity)
    largest = capacity[finite].max() if finite.any() else 1.0
    result: Floats = np.where(finite, np.maximum(capacity, 1e-9 * largest), largest)
    return result


def _seats(hosts: Hosts, capacity: Floats, parts: int) -> Ints:
    """Return the node of each part, a position in ``hosts``: in turn, largest nodes first."""
    order = np.argsort(-capacity, kind="stable")
    # A node's first slot comes before any node's second, as in Storm's own scheduler.
    turns = np.concatenate([np.arange(hosts.slots[node]) for node in order])
    seats = np.repeat(order, hosts.slots[order])[np.argsort(turns, kind="stable")]
    return seats[:parts]


def _exchanged(problem: Problem, hosts: Hosts, seats: Ints, parts: Ints) -> Ints:
    """Return parts exchanged among seats on equal nodes so that most executors stay on theirs."""
    kept = running(problem, hosts, parts, len(seats))[:, seats]
    kind = np.column_stack((hosts.kinds, np.bincount(seats, minlength=len(hosts.kinds))))[seats]
    equal = (kind[:, None] == kind).all(axis=2)
    return aligned(kept, equal, in_order=True)[parts]
