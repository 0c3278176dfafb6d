"""What nodes can hold and what executors need, as vectors of resources."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.model.problem import Problem

#: Columns of loads and limits.
CPU, EXECUTORS, MEMORY = range(3)


@dataclass(frozen=True, eq=False)
class Hosts:
    """The nodes that can hold something, in order of their ids.

    ``ordinals``, ``slots`` (numbers of slots) and ``others`` (executors of topologies that are not
    in the problem) have shape (hosts,); ``limits`` (hosts, 3) with columns CPU, executors, memory,
    infinite where there is no limit.
    """

    ordinals: Ints
    slots: Ints
    limits: Floats
    others: Ints

    @cached_property
    def kinds(self) -> Ints:
        """A number that equal nodes have in common, shape (hosts,)."""
        features = np.column_stack((self.limits, self.slots))
        kinds: Ints = np.unique(features, axis=0, return_inverse=True)[1].reshape(-1)
        return kinds


def hosts(problem: Problem) -> Hosts:
    """Return the nodes that have a slot and neither CPU nor executors limited to 0."""
    order = sorted(range(len(problem.nodes)), key=lambda n: problem.nodes[n].id)
    ordinals = np.array(order, dtype=np.int64)
    limits = node_limits(problem)[ordinals]
    slots = np.array([len(problem.nodes[n].ports) for n in order], dtype=np.int64)
    able = (slots > 0) & (limits[:, CPU] > 0) & (limits[:, EXECUTORS] > 0)
    others = np.array([problem.nodes[n].others for n in order], dtype=np.int64)
    return Hosts(ordinals[able], slots[able], limits[able], others[able])


def node_limits(problem: Problem) -> Floats:
    """Return CPU, executors and memory of every node, infinite without a limit, (nodes, 3)."""
    rows = [(n.cpu_percent, n.max_executors, n.memory_mb) for n in problem.nodes]
    values = [[np.inf if value is None else value for value in row] for row in rows]
    return np.array(values, dtype=np.float64).reshape(-1, 3)


def node_racks(problem: Problem) -> Ints:
    """Return the rack of every node, numbered by name; nodes that name none share one, (nodes,)."""
    names = [node.rack or "" for node in problem.nodes]
    numbers: Ints = np.unique(names, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return numbers


def loads(problem: Problem) -> Floats:
    """Return (CPU, 1, memory) of every executor, shape (executors, 3)."""
    ones = np.ones(problem.executor_count)
    return np.stack((problem.executor_cpu, ones, problem.executor_memory), axis=1)


def scarcest(loads: Floats, limits: Floats) -> str:
    """Return the resource of which the largest share is needed, slots if none is limited.

    Parameters
    ----------
    loads : array of shape (executors, 3)
    limits : array of shape (nodes, 3)
    """
    offered = limits.sum(axis=0)
    usage = np.divide(
        loads.sum(axis=0),
        offered,
        out=np.zeros(len(offered)),
        where=np.isfinite(offered) & (offered > 0),
    )
    return ("cpu", "max_executors", "memory")[int(np.argmax(usage))] if usage.any() else "slots"
