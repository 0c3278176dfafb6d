"""The problem that every scheduler of a bench gets: one topology alone, measured, on equal terms.

Capacities are executors: a node holds at most so many, in proportion to its size. For schedulers
that pack by CPU the same is said in points: every executor counts as Storm's default of 10, a node
has 10 for each executor it may hold. Memory never binds: R-Storm would stop at a worker's 768 MB.
Each topology has one slot on each node, so a worker's tuples stay in it or cross the network.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from stormcut.application.compare import Contender
from stormcut.application.place import solve
from stormcut.application.situation import workload
from stormcut.model.cluster import RunningTopology
from stormcut.model.problem import DEFAULT_CPU_PERCENT, Node, Problem
from stormcut.model.profile import Profile

#: These know nothing of capacities: Storm gives them none.
BLIND = ("even", "default")


@dataclass(frozen=True)
class Host:
    """A node of the cluster and its size relative to the others."""

    address: str
    size: int


@dataclass(frozen=True)
class Seat:
    """A scheduler's placement: the host of each executor by first task, and what it is worth.

    ``between`` are the tuples/s that cross nodes by the profile, ``total`` all of them.
    """

    hosts: Mapping[int, str]
    between: float
    total: float


def place(
    running: RunningTopology,
    profile: Profile | None,
    hosts: Sequence[Host],
    room: float,
    scheduler: Contender,
    seed: int,
) -> Seat:
    """Return where a scheduler puts a topology's executors.

    Parameters
    ----------
    profile : Profile, optional
        Its measured traffic; without one the declared structure counts.
    room : float
        How many times its even share of the executors a node may hold, 1 or more; rounded up.

    Raises
    ------
    Infeasible
        The scheduler finds no placement.
    """
    load = workload(running, profile)
    topology = replace(
        load.topology,
        components=tuple(
            replace(
                each,
                cpu_percent=np.full(each.executors, DEFAULT_CPU_PERCENT),
                memory_mb=np.zeros(each.executors),
            )
            for each in load.topology.components
        ),
        workers=len(hosts),
    )
    limits = capacities([host.size for host in hosts], topology.executor_count, room)
    nodes = tuple(
        _node(host, None if scheduler.algorithm in BLIND else limit)
        for host, limit in zip(hosts, limits, strict=True)
    )
    problem = Problem(nodes, (topology,))
    solution = solve(problem, scheduler.algorithm, seed, scheduler.options)
    chosen = problem.slot_node[solution.placement.slots]
    return Seat(
        {task: hosts[node].address for task, node in zip(load.tasks, chosen.tolist(), strict=True)},
        solution.metrics.inter_node_tuples_per_second,
        float(problem.traffic.total),
    )


def capacities(sizes: Sequence[int], executors: int, room: float) -> list[int]:
    """Return the most executors of each node."""
    share = executors / sum(sizes)
    return [math.ceil(room * share * size - 1e-9) for size in sizes]


def _node(host: Host, limit: int | None) -> Node:
    if limit is None:
        return Node(host.address, (0,))
    return Node(
        host.address,
        (0,),
        cpu_percent=limit * DEFAULT_CPU_PERCENT,
        max_executors=limit,
    )
