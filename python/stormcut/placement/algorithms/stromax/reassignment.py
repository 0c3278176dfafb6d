"""Dynamic task reassignment: tasks with most traffic to other nodes leave overloaded nodes.

The readings are the project's; Algorithm 2 as printed compares with the threshold alone and never
adds a moved task to its new node:

- A node is overloaded above average + threshold, (1 + skew) x average (the prose); with
  ``threshold=literal`` (printed) above skew x average. Of unequal nodes, each one's average is its
  share of all load by its capacity.
- Targets: any node (printed), only those that stay below the limit for overload, as the prose's
  "idle" asks, or only those that end below the node left. A task without a target is passed over.
- Traffic between nodes is taken again after each move, or frozen as printed; then that to tasks
  which shared a node with the moved one does not count. The order of a node's tasks is fixed when
  the loop reaches it.
- Ties: the node of lower load, then the first; the task of higher number, as the last of the list.
  One pass over the nodes.

References
----------
J. Jiang et al., StroMAX, section 3.3, Algorithm 2 and Eq. 11.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.placement.packing.fit import TrafficPlaces
from stormcut.placement.packing.room import Room

Guard = Literal["average", "less", "none"]
Threshold = Literal["above_average", "literal"]
Rates = Literal["renewed", "frozen"]

#: Sums of loads differ by less for no reason.
EXCESS = 1 + 1e-9


@dataclass(frozen=True)
class TaskMove:
    """A task leaves one host for another."""

    executor: int
    source: int
    target: int


def load_limits(cost: Floats, capacity: Floats, skew: float, threshold: Threshold) -> Floats:
    """Return the load above which each host is overloaded, shape (hosts,) (Eq. 11).

    Parameters
    ----------
    cost : array of shape (executors,)
    capacity : array of shape (hosts,)
        In proportion to which load should be shared; hosts share equally unless all are finite.
    skew : float
        The paper's vartheta.
    threshold : {"above_average", "literal"}
    """
    part = capacity if np.isfinite(capacity).all() else np.ones(len(capacity))
    average: Floats = cost.sum() * part / part.sum()
    return average * (skew if threshold == "literal" else 1 + skew)


def reassign(
    at: Ints,
    cost: Floats,
    traffic: TrafficPlaces,
    limits: Floats,
    room: Room,
    guard: Guard = "none",
    rates: Rates = "renewed",
) -> list[TaskMove]:
    """Return the moves of one pass over all hosts (Algorithm 2).

    Parameters
    ----------
    at : array of shape (executors,)
        Host of each executor.
    cost : array of shape (executors,)
    traffic : TrafficPlaces
    limits : array of shape (hosts,)
        Load above which a host is overloaded, in the unit of cost.
    room : Room
        Filled as ``at`` says, and changed with every move; what does not fit is no target.
    guard : {"average", "less", "none"}
    rates : {"renewed", "frozen"}

    Notes
    -----
    Takes O(executors x (hosts + neighbours)).
    """
    return _Pass(at, cost, traffic, limits, room, guard, rates).run()


class _Pass:
    """Hosts and loads while Algorithm 2 runs."""

    def __init__(
        self,
        at: Ints,
        cost: Floats,
        traffic: TrafficPlaces,
        limits: Floats,
        room: Room,
        guard: Guard,
        rates: Rates,
    ) -> None:
        self.first, self.at, self.cost, self.traffic = at, at.copy(), cost, traffic
        self.limits, self.room, self.guard, self.rates = limits, room, guard, rates
        self.load = np.bincount(at, weights=cost, minlength=len(limits)).astype(np.float64)

    def run(self) -> list[TaskMove]:
        moves: list[TaskMove] = []
        for host in range(len(self.limits)):
            if not self._overloaded(host):
                continue
            waiting = np.flatnonzero(self.at == host)
            remote = np.array([self._remote(int(e)).sum() for e in waiting])
            # The paper takes the last of an ascending list: of equals the highest number first.
            for executor in waiting[np.lexsort((waiting, remote))][::-1].tolist():
                if not self._overloaded(host):
                    break
                target = self._target(executor, host)
                if target is not None:
                    self._move(executor, host, target)
                    moves.append(TaskMove(executor, host, target))
        return moves

    def _overloaded(self, host: int) -> bool:
        return bool(self.load[host] > self.limits[host] * EXCESS)

    def _remote(self, executor: int) -> Floats:
        """Return a task's traffic with each host that counts as traffic between nodes, (hosts,).

        Frozen, it is that with tasks which were elsewhere at first, wherever they are now.
        """
        others, rates = self.traffic.neighbours(executor)
        where = self.first if self.rates == "frozen" else self.at
        apart = where[others] != where[executor]
        others, rates = others[apart], rates[apart]
        result = np.bincount(self.at[others], weights=rates, minlength=len(self.limits))
        return result.astype(np.float64)

    def _target(self, executor: int, host: int) -> int | None:
        after = self.load + self.cost[executor]
        allowed = self.room.fits(executor)
        allowed[host] = False
        if self.guard == "average":
            allowed &= after <= self.limits * EXCESS
        elif self.guard == "less":
            allowed &= after < self.load[host]
        if not allowed.any():
            return None
        remote = np.where(allowed, self._remote(executor), -1.0)
        return int(np.lexsort((np.arange(len(after)), self.load, -remote))[0])

    def _move(self, executor: int, host: int, target: int) -> None:
        self.room.take(executor, host)
        self.room.put(executor, target)
        self.load[host] -= self.cost[executor]
        self.load[target] += self.cost[executor]
        self.at[executor] = target
