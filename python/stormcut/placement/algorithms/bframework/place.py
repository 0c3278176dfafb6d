"""Bframework: partitions of a query by what its operators emit, and a strategy for each.

Everything here is RECONSTRUCTED: the published text lost its formulas, pseudo-code, thresholds and
parameters. What it states in words is kept: three partitions by the weight of outgoing edges; the
first keeps together, the second spreads and balances, the third (nothing known beforehand) is one
thread; off-line before a query starts, online while it runs. Nothing may be reported as the paper's
result. `query`, `assigner`, `deployment`, `online` and `acceptance` say how Storm's terms are read
(B-1 to B-8, B-13, B-14).

- B-9: an executor that no whole process finds room for goes where nodes still have some, at least
  cost in traffic (see `fit`).
- B-10: on a node with fewer slots than processes, those of the second partition are merged first,
  then of the third, then of the first; there it costs no traffic between nodes.
- B-11: topologies are scheduled one after another in the order of the problem.
- B-12: online, executors that run nowhere are scheduled off-line; workers of lost slots are
  processes to place again.

References
----------
M. Mortazavi-Dehkordi and K. Zamanifar, "Efficient resource scheduling for the analysis of Big Data
streams", Intelligent Data Analysis 23(1), 2019.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from stormcut.arrays import Ints
from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.model.problem import Problem, Topology
from stormcut.placement.algorithms.bframework import online
from stormcut.placement.algorithms.bframework.assigner import (
    Bounds,
    Process,
    assign_processes,
    assign_threads,
)
from stormcut.placement.algorithms.bframework.deployment import Deployment
from stormcut.placement.algorithms.bframework.offline import schedule
from stormcut.placement.algorithms.bframework.partitioner import (
    HEAVY,
    LIGHT,
    UNKNOWN,
    Partition,
    Threshold,
    partition,
    pull_boundary,
)
from stormcut.placement.algorithms.bframework.query import Query, queries
from stormcut.placement.options import NOT_NEGATIVE, POSITIVE, POSITIVE_FRACTION, Bounded
from stormcut.placement.packing.capacity import CPU, scarcest
from stormcut.placement.packing.fit import fit
from stormcut.placement.packing.groups import fold
from stormcut.placement.slots.seating import seat

#: Order in which a node's workers are merged when slots are short.
MERGED = {LIGHT: 0, UNKNOWN: 1, HEAVY: 2}


@dataclass(frozen=True)
class Options(Bounded):
    """What can be set; the paper's own values are lost, all defaults are ours."""

    mode: Literal["auto", "offline", "online"] = field(
        default="auto",
        metadata={"help": "auto: online if executors run and their traffic was measured"},
    )
    theta: float = field(
        default=1.0,
        metadata={"help": "output in means from which an operator is heavy", "bounds": POSITIVE},
    )
    ratio_min: float = field(
        default=1.5,
        metadata={
            "help": "largest over smallest output below which all are heavy",
            "bounds": POSITIVE,
        },
    )
    threshold: Threshold = field(
        default="mean", metadata={"help": "cut outputs at theta means, or at their largest gap"}
    )
    pull_boundary: bool = field(
        default=False, metadata={"help": "receivers of heavy edges become heavy too"}
    )
    utilisation: float = field(
        default=0.8,
        metadata={
            "help": "share of a thread's core and of a node's CPU to use",
            "bounds": POSITIVE_FRACTION,
        },
    )
    process_cores: float = field(
        default=1.6,
        metadata={"help": "cores that a first-partition process may use", "bounds": POSITIVE},
    )
    overload: float = field(
        default=0.8,
        metadata={
            "help": "online: share of CPU above which a node is overloaded",
            "bounds": POSITIVE_FRACTION,
        },
    )
    imbalance: float = field(
        default=0.3,
        metadata={
            "help": "online: difference of utilisation that is levelled",
            "bounds": NOT_NEGATIVE,
        },
    )
    hysteresis: float = field(
        default=0.1,
        metadata={
            "help": "online: share beyond theta means before a change",
            "bounds": NOT_NEGATIVE,
        },
    )
    gain: float = field(
        default=0.05,
        metadata={
            "help": "online: share of its crossing traffic a move must save",
            "bounds": NOT_NEGATIVE,
        },
    )
    moves_max: int = field(
        default=2, metadata={"help": "online: most processes to move", "bounds": NOT_NEGATIVE}
    )
    k_stable: int = field(
        default=3,
        metadata={
            "help": "brain: measurements in a row in which a move must save traffic",
            "bounds": NOT_NEGATIVE,
        },
    )
    t_cool: float = field(
        default=120.0,
        metadata={"help": "brain: seconds after a change without another", "bounds": NOT_NEGATIVE},
    )


def place(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return Bframework's placement.

    Raises
    ------
    InvalidInput
        ``mode`` is online, and nothing runs or no traffic was measured.
    Infeasible
        No room was found for all executors.
    """
    running = bool((problem.current_slots() >= 0).any())
    measured = any(topology.measured for topology in problem.topologies)
    if options.mode == "online" and not (running and measured):
        raise InvalidInput("online needs a current placement and measured traffic", "option mode")
    if options.mode == "offline" or not (running and measured):
        return _offline(problem, options)
    return _online(problem, options)


def bounds(deployment: Deployment, options: Options) -> Bounds:
    """Return what threads and processes may hold (B-5)."""
    limits = deployment.able.limits.copy()
    limits[:, CPU] *= options.utilisation
    median = np.sort(limits, axis=0)[(len(limits) - 1) // 2]
    thread, process = median.copy(), median.copy()
    thread[CPU] = min(median[CPU], 100 * options.utilisation)
    process[CPU] = min(median[CPU], 100 * options.process_cores)
    return Bounds(thread, process)


def labelled(query: Query, volumes: Sequence[float | None], options: Options) -> Partition:
    """Return the partition of a query's operators by given volumes."""
    partitioned = partition(volumes, options.theta, options.ratio_min, options.threshold)
    if not options.pull_boundary:
        return partitioned
    known = [volume for volume in volumes if volume is not None]
    edges = [(s, t, v) for s, t, v in query.edges if v is not None]
    limit = options.theta * sum(known) / max(1, len(known))
    labels = pull_boundary(partitioned.labels, edges, limit)
    return Partition(labels, partitioned.ratio, len(np.unique(labels)))


def _deployment(problem: Problem, options: Options) -> Deployment:
    deployment = Deployment(problem, fold(problem), options.utilisation)
    if not len(deployment.capacity) and problem.executor_count:
        raise Infeasible("bframework found none: no node has a slot and capacity left", "slots")
    return deployment


def _offline(problem: Problem, options: Options) -> Placement:
    if not problem.executor_count:
        return Placement(np.zeros(0, dtype=np.int64))
    deployment = _deployment(problem, options)
    notes, labels = [], np.full(problem.executor_count, UNKNOWN, dtype=np.int64)
    for query in queries(problem):
        partitioned = labelled(query, query.declared, options)
        own = np.arange(query.first[0], query.first[0] + query.size.sum())
        labels[own] = np.repeat(partitioned.labels, query.size)
        topology = problem.topologies[query.topology]
        notes += [f"{topology.id}: {_described(partitioned)}", *_unreadable(topology)]
        _start(deployment, query, partitioned.labels, own, options)
    return _result(problem, deployment, labels, notes)


def _start(
    deployment: Deployment, query: Query, labels: Ints, executors: Ints, options: Options
) -> None:
    """Assign executors of a query to processes and put these on hosts."""
    bound = bounds(deployment, options)
    threads = assign_threads(query, labels, deployment.loads, bound, executors)
    nodes = len(deployment.capacity)
    schedule(deployment, assign_processes(query, threads, deployment.groups, bound, nodes))


def _online(problem: Problem, options: Options) -> Placement:
    deployment = _deployment(problem, options)
    current = problem.current_slots()
    labels = np.full(problem.executor_count, UNKNOWN, dtype=np.int64)
    changed: list[Process] = []
    lost: list[Process] = []
    notes: list[str] = []
    for query in queries(problem):
        own = np.arange(query.first[0], query.first[0] + query.size.sum())
        before = labelled(query, query.declared, options)
        after = labelled(query, query.measured, options)
        now = online.measured_labels(query, before, after, options.theta, options.hysteresis)
        topology = problem.topologies[query.topology]
        notes += [f"{topology.id}: {_compared(before, after)}", *_unreadable(topology)]
        labels[own] = online.executor_labels(query, now, current[own])
        planned = np.repeat(before.labels, query.size)
        for process in _running(deployment, query, labels, current, own):
            homeless = not _put_back(problem, deployment, process, current)
            if homeless:
                lost.append(process)
            elif process.partition != online.majority(planned[process.executors - own[0]]):
                changed.append(process)
        idle = own[current[own] < 0]
        if len(idle):
            _start(deployment, query, now, idle, options)
    for ordinal in range(len(problem.topologies)):
        schedule(deployment, [process for process in lost if process.topology == ordinal])
    limits = online.Triggers(options.overload, options.imbalance, options.gain, options.moves_max)
    period = online.Period(deployment, limits)
    period.run(changed)
    return _result(problem, deployment, labels, [*notes, *period.notes])


def _described(partitioned: Partition) -> str:
    ratio = "none" if partitioned.ratio is None else f"{partitioned.ratio:.2f}"
    return f"{partitioned.count} partition{'s' * (partitioned.count != 1)}, R {ratio}"


def _compared(before: Partition, after: Partition) -> str:
    """Return the partitions that were declared and those that were measured, and how many agree."""
    same, of = int((before.labels == after.labels).sum()), len(before.labels)
    return (
        f"{_described(before)} as declared; {_described(after)} as measured; "
        f"{same} of {of} operators in the same one"
    )


def _unreadable(topology: Topology) -> list[str]:
    """Return why operators cannot be used that someone has declared."""
    return [
        f"{topology.id}: the operator of {each.name} cannot be read: {each.operator.unreadable}"
        for each in topology.components
        if each.operator and each.operator.unreadable
    ]


def _running(
    deployment: Deployment, query: Query, labels: Ints, current: Ints, own: Ints
) -> list[Process]:
    """Return the workers of a query as processes, in order of their slots."""
    slots = current[own]
    processes = []
    for slot in np.unique(slots[slots >= 0]).tolist():
        members = own[slots == slot]
        load = deployment.loads[members].sum(axis=0)
        kind = online.majority(labels[members])
        processes.append(Process(query.topology, kind, members, load))
    return processes


def _put_back(problem: Problem, deployment: Deployment, process: Process, current: Ints) -> bool:
    """Put a running process on its host; return whether that exists and has room."""
    node = problem.slot_hosts[current[process.executors[0]]]
    lost = current[process.executors[0]] >= problem.slot_count
    host = np.flatnonzero(deployment.able.ordinals == node)
    if lost or not len(host) or not deployment.within_limits(process)[host[0]]:
        return False
    deployment.put(process, int(host[0]))
    return True


def _result(
    problem: Problem, deployment: Deployment, labels: Ints, notes: Sequence[str]
) -> Placement:
    nodes = np.full(problem.executor_count, UNASSIGNED, dtype=np.int64)
    groups = np.full(problem.executor_count, UNASSIGNED, dtype=np.int64)
    for number, (process, host) in enumerate(deployment.host_of.items()):
        nodes[process.executors] = deployment.able.ordinals[host]
        groups[process.executors] = number
    left = int((nodes == UNASSIGNED).sum())
    notes = [*notes, *_over_target(deployment)]
    if left:
        fitting = fit(problem, nodes)
        if fitting is None:
            raise Infeasible(
                f"bframework found none: {left} executors are left over, and nodes have no room "
                "for them",
                scarcest(deployment.loads, deployment.able.limits),
            )
        groups[fitting != nodes] = UNASSIGNED
        nodes = fitting
        notes.append(f"{left} executors in processes that no node has room for: placed singly")
    rank = np.array([0, MERGED[HEAVY], MERGED[LIGHT], MERGED[UNKNOWN]])
    return Placement(seat(problem, nodes, groups, rank[labels]), tuple(notes))


def _over_target(deployment: Deployment) -> list[str]:
    over = np.flatnonzero(deployment.utilisation() > deployment.share + 1e-9)
    names = ", ".join(deployment.names[host] for host in over.tolist())
    return [f"overloaded: above the target utilisation on {names}"] if len(over) else []
