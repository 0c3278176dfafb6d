"""Streaming greedy partitioning: each executor, met once in an order, goes to the best host.

The score of a host is the weight of the executor's neighbours there times the share of its capacity
that is free (StroMAX, Eq. 5 and 10). What the formula leaves open decides the result (the readings
are the project's):

- A host without room for the executor, in its capacity or in the limits of the problem, is passed
  over. If none has room in its capacity, the one with the least share in use is taken.
- Ties, above all scores of 0: the least share in use, then the first. Scores are compared up to
  rounding: 6 (1 - 0.7) and 3 (1 - 0.4) are equal.

References
----------
J. Jiang et al., "StroMAX: Partitioning-based Scheduler for Real-time Stream Processing System",
sections 3.2 and 3.3. The idea is Stanton and Kliot's (SIGKDD 2012).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Protocol

import numpy as np

from stormcut.arrays import Bools, Floats, Ints
from stormcut.placement.packing.room import Room

Ties = Literal["least_load", "first"]

#: Scores, shares and loads that differ by less than this share are equal.
SAME = 1e-12


class Weights(Protocol):
    """How much draws an executor to each host."""

    def of(self, executor: int, at: Ints) -> Floats:
        """Return the weight of an executor's neighbours on each host, shape (hosts,).

        ``at`` holds the position of every executor, negative for none.
        """

    def put(self, executor: int, host: int) -> None:
        """Learn that an executor now is on a host."""


class NeighbourCosts:
    """Costs of the executors of neighbouring components on each host, as Eq. 5 and 10 have it.

    Every task of a component is joined to every task of the next, so that sums per component serve
    all executors: a score takes O(neighbouring components x hosts).

    Parameters
    ----------
    component : array of shape (executors,)
        Component of each executor.
    edges : iterable of (source, target)
        Different pairs of components.
    cost : array of shape (executors,)
    hosts : int
    """

    def __init__(
        self,
        component: Ints,
        edges: Iterable[tuple[int, int]],
        cost: Floats,
        hosts: int,
    ) -> None:
        self.component, self.cost = component, cost
        count = int(component.max(initial=-1)) + 1
        self.sums = np.zeros((count, hosts))
        linked: list[set[int]] = [set() for _ in range(count)]
        for source, target in edges:
            linked[source].add(target)
            linked[target].add(source)
        self.linked = [np.array(sorted(each), dtype=np.int64) for each in linked]

    def of(self, executor: int, at: Ints) -> Floats:
        """Return the cost of an executor's neighbours on each host, shape (hosts,)."""
        result: Floats = self.sums[self.linked[self.component[executor]]].sum(axis=0)
        return result

    def put(self, executor: int, host: int) -> None:
        """Count an executor that now is on a host."""
        self.sums[self.component[executor], host] += self.cost[executor]


def stream(
    order: Iterable[int],
    hosts: Ints,
    cost: Floats,
    used: Floats,
    capacity: Floats,
    weights: Weights,
    room: Room,
    ties: Ties = "least_load",
) -> Ints:
    """Return the position of each executor once those in ``order`` are placed one by one.

    Parameters
    ----------
    order : iterable of int
        Executors to place.
    hosts : array of shape (executors,)
        Positions of those that stay, negative for all others.
    cost : array of shape (executors,)
    used, capacity : array of shape (hosts,)
        What others than these executors use, and what there is in all, above 0, infinite for no
        limit; in the unit of cost.
    weights : Weights
    room : Room
        Knows, as ``weights`` does, the executors that stay; the others are added to both.
    ties : {"least_load", "first"}

    Notes
    -----
    Takes O(executors x (hosts x resources + a score)).
    """
    hosts = hosts.copy()
    stay = np.flatnonzero(hosts >= 0)
    used = used + np.bincount(hosts[stay], weights=cost[stay], minlength=len(capacity))
    for executor in order:
        share = used / capacity
        score = weights.of(executor, hosts) * (1 - share)
        fits = room.fits(executor)
        within = fits & (used + cost[executor] <= capacity * (1 + SAME))
        if within.any():
            host = best_host(score, share, within, ties)
        else:
            host = best_host(np.zeros(len(share)), share, fits | ~fits.any(), "least_load")
        hosts[executor] = host
        used[host] += cost[executor]
        room.put(executor, host)
        weights.put(executor, host)
    return hosts


def best_host(score: Floats, share: Floats, allowed: Bools, ties: Ties) -> int:
    """Return the allowed host of highest score; ties: least share in use if asked, then first."""
    left = np.flatnonzero(allowed)
    best = score[left].max()
    left = left[score[left] >= best - SAME * abs(best)]
    if ties == "least_load":
        least = share[left].min()
        left = left[share[left] <= least + SAME * abs(least)]
    return int(left[0])
