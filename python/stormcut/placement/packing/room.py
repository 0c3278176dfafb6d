"""What hosts still have room for, while executors come and go."""

from __future__ import annotations

import numpy as np

from stormcut.arrays import Bools, Floats, Ints
from stormcut.objective.verify import exceeds
from stormcut.placement.packing.capacity import EXECUTORS, Hosts


class HostTotals:
    """Running totals of loads and topologies per host.

    Parameters
    ----------
    limits : array of shape (hosts, 3)
    slots : array of shape (hosts,)
        Most topologies of each.
    topologies : int

    Attributes
    ----------
    totals : array of shape (hosts, 3)
        CPU, executors and memory in use.
    held : array of shape (hosts, topologies)
        Number of loads of each topology.
    """

    def __init__(self, limits: Floats, slots: Ints, topologies: int) -> None:
        self.limits, self.slots = limits, slots
        self.totals = np.zeros(limits.shape)
        self.held = np.zeros((len(limits), topologies), dtype=np.int64)
        # Topologies of each host, hosts of each topology.
        self._tenants = np.zeros(len(limits), dtype=np.int64)
        self._homes = np.zeros(topologies, dtype=np.int64)

    def add(self, load: Floats, topology: int, host: int) -> None:
        """Count a load of a topology on a host, whether it fits or not."""
        self.totals[host] += load
        if not self.held[host, topology]:
            self._tenants[host] += 1
            self._homes[topology] += 1
        self.held[host, topology] += 1

    def remove(self, load: Floats, topology: int, host: int) -> None:
        """Undo `add`."""
        self.totals[host] -= load
        self.held[host, topology] -= 1
        if not self.held[host, topology]:
            self._tenants[host] -= 1
            self._homes[topology] -= 1

    def within(self, load: Floats) -> Bools:
        """Return which hosts keep within their limits with one more load, shape (hosts,)."""
        result: Bools = np.logical_not(exceeds(self.totals + load, self.limits).any(axis=1))
        return result

    def has_slot(self, topology: int) -> Bools:
        """Return which hosts hold a topology or have a slot for it, shape (hosts,)."""
        result: Bools = (self._tenants < self.slots) | (self.held[:, topology] > 0)
        return result

    def exceeded(self) -> Bools:
        """Return which host is above which limit, shape (hosts, 3)."""
        return exceeds(self.totals, self.limits)

    def crowded(self) -> Bools:
        """Return which hosts hold more topologies than they have slots, shape (hosts,)."""
        return self._tenants > self.slots


class Room(HostTotals):
    """The same for executors that are placed one by one.

    A topology that has an executor somewhere may take a further slot only while every topology
    that has none yet is left one, so that no order of placing runs out of slots needlessly.
    """

    def __init__(self, able: Hosts, loads: Floats, topology: Ints) -> None:
        super().__init__(able.limits, able.slots, int(topology.max(initial=-1)) + 1)
        self.loads, self.topology = loads, topology

    def put(self, executor: int, host: int) -> None:
        """Count an executor on a host, whether it fits or not."""
        self.add(self.loads[executor], int(self.topology[executor]), host)

    def take(self, executor: int, host: int) -> None:
        """Undo `put`."""
        self.remove(self.loads[executor], int(self.topology[executor]), host)

    def fits(self, executor: int) -> Bools:
        """Return which hosts can take one more such executor, shape (hosts,)."""
        result: Bools = self.within(self.loads[executor])
        return result & self.welcome(int(self.topology[executor]))

    def welcome(self, topology: int) -> Bools:
        """Return which hosts hold a topology or may give it a slot, shape (hosts,)."""
        free = self.slots - self._tenants
        usable = (free > 0) & (self.totals[:, EXECUTORS] < self.limits[:, EXECUTORS])
        homeless = int((self._homes == 0).sum())
        if self._homes[topology] and int(free[usable].sum()) <= homeless:
            usable = np.zeros(len(free), dtype=bool)
        result: Bools = usable | (self.held[:, topology] > 0)
        return result
