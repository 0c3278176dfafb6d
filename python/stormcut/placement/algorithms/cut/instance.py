"""A problem as the search of `cut` sees it: groups, nodes, and how many of each may meet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from stormcut.arrays import Floats, Ints
from stormcut.model.problem import Problem
from stormcut.model.traffic import Traffic
from stormcut.objective.verify import TOLERANCE
from stormcut.placement.algorithms.cut.options import Options, excluded_nodes, kept_apart, pinned
from stormcut.placement.packing.capacity import CPU, EXECUTORS, MEMORY, node_limits, node_racks
from stormcut.placement.packing.groups import Groups, fold


@dataclass(frozen=True, eq=False)
class Instance:
    """Groups of executors to be spread over nodes; an answer is a matrix (groups, nodes) of counts.

    Parameters
    ----------
    groups : Groups
    load : array of shape (groups, resources)
        What one executor needs: CPU, 1, memory, and for each component to be kept apart a column
        that is 1 for its executors.
    limits : array of shape (nodes, resources)
        What a node has of it, the reserve taken off; all 0 for nodes that may not be used.
    slots : array of shape (nodes,)
        Most topologies that a node may hold.
    rack : array of shape (nodes,)
        Rack from 0; nodes that name none share one.
    allowed : array of bool of shape (groups, nodes), optional
        Where pins let executors of a group be; None if everywhere.
    start : array of shape (groups, nodes), optional
        Executors that run now on nodes that still exist, whether or not they may stay.
    """

    groups: Groups
    load: Floats
    limits: Floats
    slots: Ints
    rack: Ints
    allowed: npt.NDArray[np.bool_] | None
    start: Ints | None

    @cached_property
    def bounds(self) -> Floats:
        """Limits with half of the tolerance of `exceeds`, so that sums may be kept running."""
        finite = np.where(np.isfinite(self.limits), self.limits, 0.0)
        return self.limits + TOLERANCE / 2 * np.maximum(1.0, np.abs(finite))

    @property
    def shape(self) -> tuple[int, int]:
        """(groups, nodes), the shape of an answer."""
        return len(self.groups.size), len(self.limits)

    def counted(self, nodes: Ints) -> Ints:
        """Return the counts of executors on nodes, given by ordinal; shape (groups, nodes)."""
        counts = np.zeros(self.shape, dtype=np.int64)
        np.add.at(counts, (self.groups.of, nodes), 1)
        return counts

    def is_whole(self, counts: Ints) -> bool:
        """Return whether counts have every executor once, within all limits."""
        return bool((counts.sum(axis=1) == self.groups.size).all()) and self.admits(counts)

    def admits(self, counts: Ints) -> bool:
        """Return whether counts keep within all limits."""
        used = counts.T @ self.load
        topologies = int(self.groups.topology.max(initial=-1)) + 1
        held = np.zeros((topologies, counts.shape[1]), dtype=np.int64)
        np.add.at(held, self.groups.topology, counts)
        tenants = (held > 0).sum(axis=0)
        pinned = self.allowed is not None and bool((counts[~self.allowed] > 0).any())
        within = bool((used <= self.bounds).all() and (tenants <= self.slots).all())
        return within and not pinned

    def without(self, relaxed: str) -> Instance:
        """Return this instance without one kind of limit, to learn which one binds."""
        if relaxed == "slots":
            return replace(self, slots=np.where(self.slots > 0, self.groups.topology.max() + 1, 0))
        if relaxed == "pin":
            return replace(self, allowed=None)
        usable = self.slots > 0
        limits = self.limits.copy()
        named = {"cpu": CPU, "max_executors": EXECUTORS, "memory": MEMORY}
        apart = list(range(MEMORY + 1, self.load.shape[1]))
        columns = [named[relaxed]] if relaxed in named else apart
        limits[np.ix_(np.flatnonzero(usable), np.array(columns, dtype=np.int64))] = np.inf
        return replace(self, limits=limits)

    def limited(self, cpu: Floats) -> Instance:
        """Return this instance with no more than that CPU of each node in use, shape (nodes,).

        One executor is always allowed.
        """
        limits = self.limits.copy()
        most = np.maximum(cpu, self.load[:, CPU].max(initial=0.0))
        limits[:, CPU] = np.minimum(limits[:, CPU], np.where(self.slots > 0, most, 0.0))
        return replace(self, limits=limits)

    def on(self, nodes: Ints) -> Instance:
        """Return this instance with no node but those, given by ordinal."""
        is_other = ~np.isin(np.arange(len(self.slots)), nodes)
        limits = np.where(is_other[:, None], 0.0, self.limits)
        return replace(self, limits=limits, slots=np.where(is_other, 0, self.slots))

    def balanced(self, factor: float) -> Instance:
        """Return this instance with no node above that many fair shares of the CPU in use.

        A fair share is what the node would have if all were equally full; one executor is always
        allowed. Where no executor needs CPU, executors are shared out instead.
        """
        column = CPU if self.load[:, CPU].any() else EXECUTORS
        usable = self.slots > 0
        load = self.load[:, column]
        capacity = np.where(usable, self.limits[:, column], 0.0)
        allowed = np.full(len(usable), load.max(initial=0.0))
        if not np.isfinite(capacity).all():
            capacity = np.where(usable, 1.0, 0.0)
        fair = capacity * (load @ self.groups.size) / max(capacity.sum(), 1e-300)
        limits = self.limits.copy()
        most = np.maximum(factor * fair, allowed)
        limits[:, column] = np.minimum(limits[:, column], np.where(usable, most, 0.0))
        return replace(self, limits=limits)


def instance(problem: Problem, options: Options, weights: Traffic | None = None) -> Instance:
    """Return a problem under options as an instance.

    What counts between executors are ``weights``, by default tuples/s.

    Raises
    ------
    InvalidInput
        An option names what the problem does not have.
    """
    pins = [(executors, node) for executors, node in pinned(problem, options)]
    single = [executors.start for executors, _ in pins if len(executors) == 1]
    groups = fold(problem, single, weights)
    limits = _limits(problem, options)
    load, limits = _spread(problem, options, groups, limits)
    slots = np.array([len(node.ports) for node in problem.nodes], dtype=np.int64)
    slots[(limits[:, 1] < 1)] = 0
    start = None if problem.current is None else _start(problem, groups)
    allowed = _allowed(groups, pins, len(slots))
    result = Instance(groups, load, limits, slots, node_racks(problem), allowed, start)
    return result if options.balance is None else result.balanced(options.balance)


def _limits(problem: Problem, options: Options) -> Floats:
    """Return CPU, executors and memory of every node, shape (nodes, 3)."""
    limits = node_limits(problem) * (1.0 - options.reserve)
    limits[:, CPU] *= options.cpu_share
    limits[[not node.ports for node in problem.nodes]] = 0.0
    limits[excluded_nodes(problem, options)] = 0.0
    return limits


def _spread(
    problem: Problem, options: Options, groups: Groups, limits: Floats
) -> tuple[Floats, Floats]:
    """Return loads and limits with a column for each component to be kept apart.

    As few of its executors may be on one node as if all nodes that can be used shared them evenly:
    one, if there are enough nodes.
    """
    loads, bounds = [groups.load], [limits]
    usable = limits[:, 1] >= 1
    for executors in kept_apart(problem, options):
        column = np.zeros((len(groups.size), 1))
        column[groups.of[executors.start : executors.stop]] = 1.0
        most = -(-len(executors) // max(1, int(usable.sum())))
        loads.append(column)
        bounds.append(np.where(usable, float(most), 0.0)[:, None])
    return np.concatenate(loads, axis=1), np.concatenate(bounds, axis=1)


def _allowed(
    groups: Groups, pins: list[tuple[range, int]], nodes: int
) -> npt.NDArray[np.bool_] | None:
    """Return where pinned groups may be; a pin of one executor overrides one of its component."""
    if not pins:
        return None
    allowed = np.ones((len(groups.size), nodes), dtype=bool)
    for executors, node in sorted(pins, key=lambda pin: -len(pin[0])):
        held = np.unique(groups.of[executors.start : executors.stop])
        allowed[held] = False
        allowed[held, node] = True
    return allowed


def _start(problem: Problem, groups: Groups) -> Ints:
    counts = np.zeros((len(groups.size), len(problem.nodes)), dtype=np.int64)
    nodes = problem.current_nodes()
    running = nodes >= 0
    np.add.at(counts, (groups.of[running], nodes[running]), 1)
    return counts
