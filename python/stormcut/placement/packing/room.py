"""What hosts still have room for, while executors come and go one at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stormcut.objective.verify import exceeds
from stormcut.placement.packing.capacity import EXECUTORS, Hosts

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Room:
    """Running totals of loads and topologies per host.

    A topology that has an executor somewhere may take a further slot only while every topology
    that has none yet is left one, so that no order of placing runs out of slots needlessly.

    Attributes
    ----------
    totals : array of shape (hosts, 3)
        CPU, executors and memory in use.
    held : array of shape (hosts, topologies)
        Number of executors of each topology.
    """

    def __init__(self, able: Hosts, loads: Floats, topology: Ints) -> None:
        self.able, self.loads, self.topology = able, loads, topology
        topologies = int(topology.max(initial=-1)) + 1
        self.totals = np.zeros((len(able.ordinals), loads.shape[1]))
        self.held = np.zeros((len(able.ordinals), topologies), dtype=np.int64)
        self._tenants = np.zeros(len(able.ordinals), dtype=np.int64)
        self._homes = np.zeros(topologies, dtype=np.int64)

    def put(self, executor: int, host: int) -> None:
        """Count an executor on a host, whether it fits or not."""
        self.totals[host] += self.loads[executor]
        tenant = self.topology[executor]
        if not self.held[host, tenant]:
            self._tenants[host] += 1
            self._homes[tenant] += 1
        self.held[host, tenant] += 1

    def take(self, executor: int, host: int) -> None:
        """Undo `put`."""
        self.totals[host] -= self.loads[executor]
        tenant = self.topology[executor]
        self.held[host, tenant] -= 1
        if not self.held[host, tenant]:
            self._tenants[host] -= 1
            self._homes[tenant] -= 1

    def fits(self, executor: int) -> Bools:
        """Return which hosts can take one more such executor, shape (hosts,)."""
        within = ~exceeds(self.totals + self.loads[executor], self.able.limits).any(axis=1)
        result: Bools = within & self.welcome(int(self.topology[executor]))
        return result

    def welcome(self, topology: int) -> Bools:
        """Return which hosts hold a topology or have a slot for it, shape (hosts,)."""
        free = self.able.slots - self._tenants
        usable = (free > 0) & (self.totals[:, EXECUTORS] < self.able.limits[:, EXECUTORS])
        homeless = int((self._homes == 0).sum())
        if self._homes[topology] and int(free[usable].sum()) <= homeless:
            usable = np.zeros(len(free), dtype=bool)
        return usable | (self.held[:, topology] > 0)

    def exceeded(self) -> Bools:
        """Return which host is above which limit, shape (hosts, 3)."""
        return exceeds(self.totals, self.able.limits)

    def crowded(self) -> Bools:
        """Return which hosts hold more topologies than they have slots, shape (hosts,)."""
        return self._tenants > self.able.slots
