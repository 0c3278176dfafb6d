"""CAPS, contention-aware placement search: balance CPU, I/O and network over the machines.

A plan says how many tasks of each operator every worker holds; its cost is, for each resource, the
load of the worker that has most of it. CAPS searches the tree of plans: operator after operator,
heaviest CPU first (outer search), worker after worker (inner search). It prunes

- duplicates: workers that are alike take numbers of tasks that do not fall;
- partial plans in which a worker's load is above the threshold of a resource. With ratio a, the
  threshold lies that far from the least cost that any plan may have (even load; no traffic) to the
  load of a worker full of the heaviest tasks.

Ratios are tuned: a binary search finds the least that has a plan for each resource alone, the
others left free; from these all are relaxed together until there is a plan. Of the plans then
found those that no other plan dominates are kept.

Published (paper, and the authors' artifact): cost vector, both searches, pruning, thresholds,
tuning, choice among undominated plans. Read from Flink to Storm, or decided here:

- Flink's TaskManager, on which tasks contend, is Storm's node; its slots are the node's
  ``max_executors`` (without a limit, any number). An operator is a group of executors that can
  stand for one another (see `groups`); measured executors are groups of one.
- CPU counts in shares of the node's ``cpu_percent`` where all nodes have one, else in points. The
  problem knows no I/O, so that this dimension is 0 and left out. A node's network load is the
  tuples/s that its executors send to other nodes, counted as soon as both ends are placed (the
  paper has bytes). Of a local-or-shuffle stream that is all that sources on nodes without a target
  send; CPU counts as limits do, as if all targets took the same share.
- Limits of CPU, memory and executors and the number of slots prune too. Numbers of tasks that
  leave more than the other workers can take are not tried; no plan is lost by that.
- The authors stop a search after a time, and choose an undominated plan at random. Here a search
  ends after ``max_steps`` numbers tried, so that the answer does not depend on the machine; chosen
  is the plan whose largest cost is least, costs as part of the way between the bounds above.
- If no search finds a plan (many executors), executors go, heaviest first, to the node where that
  same measure grows least; if they do not fit so, they are fitted in (see `fit`). This is noted.
- Executors of a topology on a node are one worker process. ``workers`` is ignored. The current
  placement only decides on slots, so that the fewest workers restart.

O(max_steps x nodes) time for each of some 30 searches; the way out takes O(executors x nodes).

References
----------
Y. Wang, L. Huang, Z. Wang, V. Kalavri and I. Matta, "CAPSys: contention-aware task placement for
data stream processing", EuroSys 2025; the authors' repository CASP-Systems-BU/CAPSys,
``scripts/caps-go``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from stormcut.arrays import Bools, Floats, Ints
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.verify import TOLERANCE
from stormcut.placement.algorithms.caps.search import Tree, search
from stormcut.placement.options import ONE_OR_MORE, POSITIVE_FRACTION, Bounded
from stormcut.placement.packing.capacity import CPU, EXECUTORS, Hosts, hosts, scarcest
from stormcut.placement.packing.fit import fit
from stormcut.placement.packing.groups import (
    Groups,
    LocalFirst,
    fold,
    local_first_streams,
    sent_between,
)
from stormcut.placement.packing.room import Room
from stormcut.placement.slots.seating import seat

#: Columns of costs.
COMPUTE, NETWORK = range(2)


@dataclass(frozen=True)
class Options(Bounded):
    """Effort of the search; the authors' values where they have any."""

    max_steps: int = field(
        default=50_000,
        metadata={
            "help": "numbers of executors on a node tried in one search",
            "bounds": ONE_OR_MORE,
        },
    )
    granularity: float = field(
        default=0.01,
        metadata={"help": "where the binary search for a ratio ends", "bounds": POSITIVE_FRACTION},
    )
    relax_rate: float = field(
        default=0.2,
        metadata={
            "help": "part by which ratios grow until there is a plan",
            "bounds": POSITIVE_FRACTION,
        },
    )


def place(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return the placement of the best plan found; the random generator is not used.

    Raises
    ------
    Infeasible
        Neither the search nor the way out found a plan within the nodes' limits.
    """
    if not problem.executor_count:
        return Placement(np.zeros(0, dtype=np.int64))
    able = hosts(problem)
    if not len(able.ordinals):
        raise Infeasible("caps found none: no node has a slot and capacity left", "slots")
    cluster = CapsModel.of(problem, able)
    plan = _tuned(cluster, options)
    if plan is not None:
        nodes = _nodes(cluster.groups, plan)
        return Placement(seat(problem, able.ordinals[nodes], np.zeros_like(nodes)))
    nodes = _greedy(cluster, problem.executor_topology)
    fitted = fit(problem, np.where(nodes < 0, nodes, able.ordinals[nodes]), able)
    if fitted is None:
        raise Infeasible(
            "caps found none: neither by search nor heaviest first",
            scarcest(cluster.groups.load[cluster.groups.of], able.limits),
        )
    return Placement(
        seat(problem, fitted, np.zeros_like(fitted)),
        (f"no plan found in {options.max_steps} steps a search: placed heaviest first",),
    )


@dataclass(frozen=True, eq=False)
class CapsModel:
    """Operators, machines, and the bounds between which the costs of plans lie.

    Parameters
    ----------
    groups : Groups
        The operators.
    able : Hosts
    sent : csr_array of shape (groups, groups)
        Tuples/s from one executor of a group to one of another, or of the same; without
        local-or-shuffle.
    streams : tuple of LocalFirst
    capacity : array of shape (nodes,)
        CPU load counts in parts of this.
    least, most : array of shape (2,)
        Bounds of the cost in `COMPUTE` and `NETWORK`.
    """

    groups: Groups
    able: Hosts
    sent: csr_array
    streams: tuple[LocalFirst, ...]
    capacity: Floats
    least: Floats
    most: Floats

    @classmethod
    def of(cls, problem: Problem, able: Hosts) -> CapsModel:
        """Return the cluster of a problem."""
        groups = fold(problem)
        sent = sent_between(problem.traffic.without_local_first(), groups.of)
        streams = tuple(local_first_streams(problem, groups.of))
        capacity = able.limits[:, CPU]
        capacity = capacity if np.isfinite(capacity).all() else np.ones(len(capacity))
        room = able.limits[:, EXECUTORS].max()
        compute, size = groups.load[:, CPU], groups.size
        sending = sent @ size.astype(np.float64)
        for stream in streams:
            sending[stream.sources] += stream.rate
        least = np.array([(compute @ size) / capacity.sum(), 0.0])
        most = np.array(
            [_heaviest(compute, size, room) / capacity.min(), _heaviest(sending, size, room)]
        )
        return cls(groups, able, sent, streams, capacity, least, np.maximum(least, most))

    @property
    def way(self) -> Floats:
        """From the least to the most possible cost, shape (2,); 1 where they are the same."""
        way = self.most - self.least
        return np.asarray(np.where(way > 0, way, 1.0))


def _heaviest(load: Floats, size: Ints, room: float) -> float:
    """Return the load of a machine full of the heaviest tasks."""
    order = np.argsort(-load, kind="stable")
    before = np.cumsum(size[order]) - size[order]
    taken = np.clip(room - before, 0, size[order])
    return float(load[order] @ taken)


class _PlanSearch:
    """The search of plans under thresholds; each ends after so many steps."""

    def __init__(self, cluster: CapsModel, max_steps: int) -> None:
        groups, able = cluster.groups, cluster.able
        self.cluster, self.max_steps = cluster, max_steps
        self.order = np.argsort(-groups.load[:, CPU], kind="stable")
        self.nodes = np.argsort(able.kinds, kind="stable")
        finite = np.where(np.isfinite(able.limits), able.limits, 0.0)
        limits = able.limits + TOLERANCE / 2 * np.maximum(1.0, finite)
        sent = cluster.sent[self.order, :][:, self.order].tocsr()
        received = sent.T.tocsr()
        rates, last, sends, takes = self._streams()
        self.tree = Tree(
            groups.size[self.order],
            groups.topology[self.order],
            groups.load[self.order],
            *(sent.indptr.astype(np.int64), sent.indices.astype(np.int64), sent.data),
            *(received.indptr.astype(np.int64), received.indices.astype(np.int64), received.data),
            limits[self.nodes],
            able.slots[self.nodes],
            np.diff(able.kinds[self.nodes], prepend=-1) == 0,
            cluster.capacity[self.nodes],
            rates,
            last,
            sends,
            takes,
        )

    def _streams(self) -> tuple[Floats, Ints, Bools, Bools]:
        """Return the fields of `Tree` for local-or-shuffle streams."""
        streams = self.cluster.streams
        rank = np.argsort(self.order)
        sends, takes = np.zeros((2, len(streams), len(rank)), dtype=np.bool_)
        for row, stream in enumerate(streams):
            sends[row, rank[stream.sources]] = takes[row, rank[stream.targets]] = True
        last = np.array([rank[stream.targets].max() for stream in streams], dtype=np.int64)
        return np.array([stream.rate for stream in streams]), last, sends, takes

    def best(self, ratios: Floats, first: bool = False) -> Ints | None:
        """Return the best plan found within thresholds, or the first; None if none is found.

        No plan that is found dominates the best: its largest cost is least, then its sum of costs.
        """
        cluster = self.cluster
        if len(self.order) * len(self.nodes) > self.max_steps:
            return None  # a plan takes a step for each operator and node
        bounds = cluster.least + ratios * (cluster.most - cluster.least)
        thresholds = bounds + TOLERANCE * np.maximum(1.0, bounds)
        is_found, plan = search(
            self.tree,
            thresholds,
            cluster.least,
            cluster.way,
            self.max_steps,
            first,
        )
        if not is_found:
            return None
        result: Ints = np.empty_like(plan)
        result[np.ix_(self.order, self.nodes)] = plan
        return result


def _tuned(cluster: CapsModel, options: Options) -> Ints | None:
    """Return the best plan for tuned thresholds, None if no search finds any."""
    tree = _PlanSearch(cluster, options.max_steps)
    if tree.best(np.ones(2), first=True) is None:
        return None
    ratios = np.array([_least_ratio(tree, column, options) for column in (COMPUTE, NETWORK)])
    while (plan := tree.best(ratios)) is None:
        ratios = np.minimum(1.0, ratios * (1 + options.relax_rate))
    return plan


def _least_ratio(tree: _PlanSearch, column: int, options: Options) -> float:
    """Return the least ratio of one resource that has a plan, the other left free."""
    low, high = 0.0, 1.0
    while high - low >= options.granularity:
        ratios = np.ones(2)
        ratios[column] = middle = (low + high) / 2
        if tree.best(ratios, first=True) is None:
            low = middle
        else:
            high = middle
    return high


def _row(rates: csr_array, group: int) -> tuple[Ints, Floats]:
    row = slice(rates.indptr[group], rates.indptr[group + 1])
    return rates.indices[row], rates.data[row]


def _nodes(groups: Groups, plan: Ints) -> Ints:
    """Return the node of each executor under a plan."""
    nodes = np.empty(int(groups.size.sum()), dtype=np.int64)
    for group, members in enumerate(groups.members):
        nodes[members] = np.repeat(np.arange(plan.shape[1]), plan[group])
    return nodes


def _greedy(cluster: CapsModel, topology: Ints) -> Ints:
    """Return the node of each executor, heaviest first to where the cost grows least.

    -1 for executors that fit nowhere any more.
    """
    groups, able = cluster.groups, cluster.able
    room = Room(able, groups.load[groups.of], topology)
    received = cluster.sent.T.tocsr()
    streams: list[list[LocalFirst]] = [[] for _ in groups.size]
    for stream in cluster.streams:
        for group in np.union1d(stream.sources, stream.targets).tolist():
            streams[group].append(stream)
    plan = np.zeros((len(groups.size), len(able.ordinals)), dtype=np.int64)
    network = np.zeros(len(able.ordinals))
    nodes = np.full(len(groups.of), -1, dtype=np.int64)
    for executor in np.argsort(-groups.load[groups.of, CPU], kind="stable").tolist():
        group = int(groups.of[executor])
        fits = np.flatnonzero(room.fits(executor))
        if not len(fits):
            continue
        targets, sent = _row(cluster.sent, group)
        there = sent @ plan[targets]
        sources, rates = _row(received, group)
        inward = rates @ plan[sources]
        compute = (room.totals[:, CPU] + groups.load[group, CPU]) / cluster.capacity
        before = _count_stranded(streams[group], plan)
        plan[group] += 1
        change = _count_stranded(streams[group], plan) - before
        plan[group] -= 1
        cost = np.column_stack((compute, network + there.sum() - there + change))
        parts = ((cost - cluster.least) / cluster.way)[fits]
        node = int(fits[np.lexsort((parts.sum(axis=1), np.round(parts.max(axis=1), 9)))[0]])
        network += inward
        network[node] += there.sum() - there[node] - inward[node]
        plan[group, node] += 1
        network += _count_stranded(streams[group], plan) - before
        room.put(executor, node)
        nodes[executor] = node
    return nodes


def _count_stranded(streams: list[LocalFirst], plan: Ints) -> Floats:
    """Return what local-or-shuffle streams send from each node, shape (nodes,).

    That is what sources send from nodes without a target, once there is one anywhere.
    """
    result: Floats = np.zeros(plan.shape[1])
    for stream in streams:
        takes = plan[stream.targets].any(axis=0)
        if takes.any():
            result += stream.rate * np.where(takes, 0, plan[stream.sources].sum(axis=0))
    return result
