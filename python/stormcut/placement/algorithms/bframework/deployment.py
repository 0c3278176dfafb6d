"""Processes on nodes, while the schedulers put and move them.

- B-6: a node's load is CPU over its CPU; where it limits only executors, their number over that, of
  which all may be used; without a limit, their number over all executors there are.
- B-7: hard limits are kept: a process goes to a node within its target utilisation, else to one
  within its limits, else it is left over.
- B-8: queries are isolated: nodes without another query, in the problem or not, are preferred
  wherever a process fits.
"""

from __future__ import annotations

import numpy as np

from stormcut.arrays import Bools, Floats, Ints
from stormcut.model.placement import UNASSIGNED
from stormcut.model.problem import Problem
from stormcut.objective.verify import exceeds
from stormcut.placement.algorithms.bframework.assigner import Process
from stormcut.placement.packing.capacity import CPU, EXECUTORS, hosts, loads
from stormcut.placement.packing.groups import Groups
from stormcut.placement.packing.room import HostTotals


class Deployment:
    """Hosts (nodes that can hold something, by id) and the processes on each.

    Parameters
    ----------
    utilisation : float
        Share of a host's CPU that schedulers want to use.

    Attributes
    ----------
    host_of : dict from process to host
    at : array of shape (executors,)
        Host of each executor.
    names : list of str
        Node ids of the hosts.
    share : array of shape (hosts,)
        Target utilisation.
    """

    def __init__(self, problem: Problem, groups: Groups, utilisation: float) -> None:
        self.able, self.groups, self.loads = hosts(problem), groups, loads(problem)
        self.names = [problem.nodes[n].id for n in self.able.ordinals.tolist()]
        limits = self.able.limits
        by_cpu, by_number = np.isfinite(limits[:, CPU]), np.isfinite(limits[:, EXECUTORS])
        self._kind = np.where(by_cpu, CPU, EXECUTORS)
        everyone = float(max(1, problem.executor_count))
        self.capacity = np.where(
            by_cpu, limits[:, CPU], np.where(by_number, limits[:, EXECUTORS], everyone)
        )
        self.share = np.where(by_cpu, utilisation, 1.0)
        self.room = HostTotals(limits, self.able.slots, len(problem.topologies))
        self.at = np.full(problem.executor_count, UNASSIGNED, dtype=np.int64)
        self.host_of: dict[Process, int] = {}

    def put(self, process: Process, host: int) -> None:
        """Add a process to a host."""
        self.host_of[process] = host
        self.at[process.executors] = host
        self.room.add(process.load, process.topology, host)

    def take(self, process: Process) -> None:
        """Take a process off its host."""
        self.at[process.executors] = UNASSIGNED
        self.room.remove(process.load, process.topology, self.host_of.pop(process))

    def on(self, host: int) -> list[Process]:
        """Return the processes of a host in the order in which they came."""
        return [process for process, place in self.host_of.items() if place == host]

    def utilisation(self, process: Process | None = None) -> Floats:
        """Return every host's utilisation, with a further process if given, shape (hosts,)."""
        extra = np.zeros(3) if process is None else process.load
        hosts = np.arange(len(self.capacity))
        total = (self.room.totals + extra)[hosts, self._kind]
        result: Floats = np.round(total / self.capacity, 12)
        return result

    def available(self) -> Floats:
        """Return what is left of each host's target, shape (hosts,)."""
        result: Floats = (self.share - self.utilisation()) * self.capacity
        return result

    def within_limits(self, process: Process) -> Bools:
        """Return which hosts can take a process, shape (hosts,)."""
        return self.room.within(process.load) & self.room.has_slot(process.topology)

    def within_target(self, process: Process) -> Bools:
        """Return which hosts can take a process and stay within their target, shape (hosts,)."""
        after = self.utilisation(process)
        result: Bools = self.within_limits(process) & ~exceeds(after, self.share)
        return result

    def free_of_others(self, topology: int) -> Bools:
        """Return which hosts hold no other topology, shape (hosts,)."""
        held = self.room.held > 0
        result: Bools = (held.sum(axis=1) == held[:, topology]) & (self.able.others == 0)
        return result

    def free_slot(self) -> Bools:
        """Return which hosts have a slot without a process, shape (hosts,)."""
        result: Bools = self.slots_left() > 0
        return result

    def slots_left(self) -> Ints:
        """Return each host's slots without a process, shape (hosts,)."""
        result: Ints = self.able.slots - self.room.held.sum(axis=1)
        return result

    def reach(self, process: Process) -> Floats:
        """Return the tuples/s between a process and each executor, shape (executors,)."""
        of = self.groups.of
        held = np.bincount(of[process.executors], minlength=len(self.groups.size))
        result: Floats = (self.groups.pair_rate @ held.astype(np.float64))[of]
        return result

    def traffic(self, process: Process) -> Floats:
        """Return the tuples/s between a process and what else is on each host, shape (hosts,)."""
        others = self.at >= 0
        others[process.executors] = False
        reach = self.reach(process)[others]
        traffic = np.bincount(self.at[others], weights=reach, minlength=len(self.capacity))
        return traffic.astype(np.float64)
