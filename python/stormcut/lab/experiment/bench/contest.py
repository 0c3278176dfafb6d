"""The problem that every scheduler of a bench gets: one topology alone, measured, on equal terms.

Capacities are executors: a node holds at most so many, in proportion to its size. CPU is as
measured, but at the rate at which it takes half of all nodes' CPU, lest a profile of saturated
nodes leave no room for any other placement; traffic is scaled with it. R-Storm packs by declared
CPU: for it every executor counts as Storm's default of 10 points, and a node has 10 for each
executor it may hold. Those that know no capacities get none. Memory never binds: R-Storm would stop
at a worker's 768 MB. Each topology has one slot on each node, so a worker's tuples stay in it or
cross the network.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from stormcut.application.compare import Scheduler
from stormcut.arrays import Floats
from stormcut.model.cluster import RunningTopology
from stormcut.model.network import UNKNOWN, Link
from stormcut.model.placement import Placement
from stormcut.model.problem import DEFAULT_CPU_PERCENT, Component, Node, Problem, Topology
from stormcut.model.profile import Profile
from stormcut.objective.crossing import between_nodes
from stormcut.objective.headroom import headroom
from stormcut.objective.metrics import measure
from stormcut.objective.throughput import predict_throughput
from stormcut.placement.solve import Solution
from stormcut.running.workload import Workload, workload

#: Storm's key for the tuples of a source task that may be on their way.
WINDOW = "topology.max.spout.pending"
#: Of all nodes' CPU, at the rate at which topologies are placed.
CPU_SHARE = 0.5


@dataclass(frozen=True)
class Host:
    """A node of the cluster, its size relative to the others, its CPU in points, and its link."""

    address: str
    size: int
    cpu_percent: float | None = None
    link: Link = UNKNOWN


@dataclass(frozen=True)
class Seat:
    """A scheduler's placement: the host of each executor by first task, and what it is worth.

    ``between`` are the tuples/s that cross nodes by the profile, local-or-shuffle streams as they
    flow under the placement, ``total`` all of them;
    ``reachable`` what sources reach in closed loop by the cost model, None without a profile.
    ``problem`` is the topology as measured on what the nodes have, free of what the contest
    forbids, and ``solution`` the placement on it.
    """

    hosts: Mapping[int, str]
    between: float
    total: float
    reachable: float | None
    problem: Problem
    solution: Solution


def place(
    running: RunningTopology,
    profile: Profile | None,
    hosts: Sequence[Host],
    room: float,
    scheduler: Scheduler,
    seed: int,
    window: object = None,
) -> Seat:
    """Return where a scheduler puts a topology's executors.

    Parameters
    ----------
    profile : Profile, optional
        Its measured traffic; without one the declared structure counts.
    room : float
        How many times its even share of the executors a node may hold, 1 or more; rounded up.
    window : int, optional
        Tuples of a source task that may be on their way (`WINDOW`), for what sources reach.

    Raises
    ------
    Infeasible
        The scheduler finds no placement.
    """
    load = workload(running, profile)
    declared = profile is None or scheduler.by_declaration
    scale = 1.0 if declared else _scale(load, hosts)
    topology = _declared(load.topology) if declared else _scaled(load.topology, scale)
    topology = replace(topology, workers=len(hosts))
    limits = capacities([host.size for host in hosts], topology.executor_count, room)
    nodes = tuple(
        _node(host, limit, declared) if scheduler.knows_capacity else Node(host.address, (0,))
        for host, limit in zip(hosts, limits, strict=True)
    )
    problem = Problem(nodes, (topology,))
    solution = scheduler.solve(problem, seed)
    chosen = problem.slot_node[solution.placement.slots]
    real = windowed(Problem(tuple(_real(host) for host in hosts), (load.topology,)), window)
    placement = Placement(chosen)
    return Seat(
        {task: hosts[node].address for task, node in zip(load.tasks, chosen.tolist(), strict=True)},
        between_nodes(real, placement),
        float(real.traffic.total),
        None if profile is None else reachable(real, placement),
        real,
        replace(
            solution,
            placement=placement,
            metrics=measure(real, placement),
            headroom=headroom(real, placement),
            certificate=None,
        ),
    )


def _real(host: Host) -> Node:
    return Node(host.address, (0,), cpu_percent=host.cpu_percent, link=host.link)


def windowed(problem: Problem, window: object) -> Problem:
    """Return a problem whose sources have a window; none if ``window`` is no number of tuples."""
    pending = window if isinstance(window, int) and window > 0 else None
    topologies = tuple(replace(each, max_spout_pending=pending) for each in problem.topologies)
    return replace(problem, topologies=topologies)


def reachable(problem: Problem, placement: Placement) -> float | None:
    """Return the tuples/s that sources reach in closed loop, None if the model cannot tell."""
    predicted = predict_throughput(problem, placement)
    return None if predicted is None else predicted.total


def _scale(load: Workload, hosts: Sequence[Host]) -> float:
    """Return by what rates shrink so that CPU takes `CPU_SHARE` of what nodes have, at most 1."""
    total = sum(load.cpu_percent.values())
    has = sum(host.cpu_percent or np.inf for host in hosts)
    return min(1.0, CPU_SHARE * has / total) if total > 0 else 1.0


def _declared(topology: Topology) -> Topology:
    return _with_loads(topology, lambda each: np.full(each.executors, DEFAULT_CPU_PERCENT))


def _scaled(topology: Topology, scale: float) -> Topology:
    measured = tuple(
        pair._replace(tuples_per_second=pair.tuples_per_second * scale)
        for pair in topology.measured
    )
    streams = tuple(
        replace(stream, tuples_per_second=stream.tuples_per_second * scale)
        for stream in topology.streams
    )
    loaded = _with_loads(topology, lambda each: each.cpu_percent * scale)
    return replace(loaded, measured=measured, streams=streams)


def _with_loads(topology: Topology, cpu: Callable[[Component], Floats]) -> Topology:
    components = tuple(
        replace(each, cpu_percent=cpu(each), memory_mb=np.zeros(each.executors))
        for each in topology.components
    )
    return replace(topology, components=components)


def capacities(sizes: Sequence[int], executors: int, room: float) -> list[int]:
    """Return the most executors of each node."""
    share = executors / sum(sizes)
    return [math.ceil(room * share * size - 1e-9) for size in sizes]


def _node(host: Host, limit: int, declared: bool) -> Node:
    cpu = limit * DEFAULT_CPU_PERCENT if declared else host.cpu_percent
    return Node(host.address, (0,), cpu_percent=cpu, max_executors=limit, link=host.link)
