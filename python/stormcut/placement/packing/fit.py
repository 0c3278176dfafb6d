"""Brings any assignment of executors to nodes within every node's own limits.

For algorithms that know no memory, no slots, or no difference between nodes. What already fits is
left alone; the rest moves at the least cost in traffic:

1. A node with more topologies than slots keeps as many as it has slots for; which one each topology
   cannot lose is an assignment that keeps most executors. The others' executors are lifted.
2. From a node above a limit executors move, cheapest move first, to nodes where they fit; where
   none fits, the executor with least traffic there is lifted.
3. Lifted executors go, largest first, where they fit and have most traffic. If one fits nowhere it
   takes the place of smaller ones, which are lifted instead.

If that fails, all executors are lifted, and step 3 is tried with one topology after another, each
where most room is, then once more largest first.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

import numpy as np
from scipy.sparse import coo_array, csr_array

from stormcut.arrays import Bools, Floats, Ints
from stormcut.model.problem import Problem
from stormcut.placement.packing.capacity import Hosts, hosts
from stormcut.placement.packing.capacity import loads as executor_loads
from stormcut.placement.packing.groups import Groups, fold
from stormcut.placement.packing.room import Room

#: Position of an executor that is on no host.
NOWHERE = -1


def fit(problem: Problem, nodes: Ints, able: Hosts | None = None) -> Ints | None:
    """Return nodes within the limits of CPU, memory, executors and slots, None if none is found.

    Parameters
    ----------
    problem : Problem
    nodes : array of shape (executors,)
        Node ordinals; anything that is no node that can hold something, such as -1, counts as
        nowhere, so that a partial placement can be completed too.
    able : Hosts, optional
        Nodes that may be used, in the order that decides ties; default: all, by id.

    Returns
    -------
    array of shape (executors,), or None
        Node ordinals; ``nodes`` itself if nothing has to move.

    Notes
    -----
    Takes O(executors + pairs + overfull nodes x executors + moves x (hosts + neighbours)).
    """
    able = hosts(problem) if able is None else able
    if not len(able.ordinals):
        return None if problem.executor_count else nodes
    position = np.full(len(problem.nodes) + 1, NOWHERE, dtype=np.int64)
    position[able.ordinals] = np.arange(len(able.ordinals))
    known = np.where((nodes >= 0) & (nodes < len(problem.nodes)), nodes, len(problem.nodes))
    groups = fold(problem)
    nothing = np.full(problem.executor_count, NOWHERE, dtype=np.int64)
    for start, by_topology in ((position[known], False), (nothing, True), (nothing, False)):
        packing = _Packing(problem, groups, able, start)
        if packing.settle(by_topology):
            return able.ordinals[packing.at]
    return None


class TrafficPlaces:
    """Traffic of single executors with places, from interchangeable groups of executors."""

    def __init__(self, groups: Groups, places: int) -> None:
        self.groups, self.places = groups, places

    def of(self, executor: int, at: Ints) -> Floats:
        """Return an executor's traffic with each place, both directions added, shape (places,).

        Parameters
        ----------
        executor : int
        at : array of shape (executors,)
            Place of each executor; negative ones count nowhere.
        """
        others, rates = self.neighbours(executor)
        placed = at[others] >= 0
        totals = np.bincount(at[others[placed]], weights=rates[placed], minlength=self.places)
        return totals.astype(np.float64)

    def neighbours(self, executor: int) -> tuple[Ints, Floats]:
        """Return the executors that exchange traffic with one, and its tuples/s with each."""
        rates = self.groups.pair_rate
        group = self.groups.of[executor]
        row = slice(rates.indptr[group], rates.indptr[group + 1])
        columns = rates.indices[row]
        if not len(columns):
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        others = np.concatenate([self.groups.members[c] for c in columns.tolist()])
        weights = np.repeat(rates.data[row], self.groups.size[columns])
        apart = others != executor
        return others[apart], weights[apart]


class _Crew:
    """The groups of executors on one host, and the traffic of one of each with every host.

    Attributes
    ----------
    groups : array of shape (groups here,)
    members : list of lists
        Executors of each group that are still here.
    traffic : array of shape (groups here, hosts)
    """

    def __init__(self, groups: Groups, at: Ints, host: int, hosts: int) -> None:
        here, placed = np.flatnonzero(at == host), np.flatnonzero(at >= 0)
        self.host, self.rates = host, groups.pair_rate
        self.groups = np.unique(groups.of[here])
        self.members = [here[groups.of[here] == group].tolist() for group in self.groups]
        counts = coo_array(
            (np.ones(len(placed)), (groups.of[placed], at[placed])),
            shape=(len(groups.size), hosts),
        ).tocsr()
        self.traffic: Floats = (self.rates[self.groups, :] @ counts).toarray()

    def own_traffic(self) -> Floats:
        """Return the traffic of one executor of each group with the others on the host."""
        result: Floats = self.traffic[:, self.host] - self.rates.diagonal()[self.groups]
        return result

    def moved(self, at: int, target: int) -> None:
        """Count that one executor of a group left for another host, or nowhere."""
        change = _rates_with(self.rates, int(self.groups[at]), self.groups)
        self.traffic[:, self.host] -= change
        if target != NOWHERE:
            self.traffic[:, target] += change


class _Packing:
    """Executors at positions in ``able``, with what the hosts still have room for."""

    def __init__(self, problem: Problem, groups: Groups, able: Hosts, at: Ints) -> None:
        self.groups, self.able, self.at = groups, able, at.copy()
        self.loads, self.topology = executor_loads(problem), problem.executor_topology
        self.room = Room(able, self.loads, self.topology)
        for executor in np.flatnonzero(at >= 0).tolist():
            self.room.put(executor, int(at[executor]))
        self.traffic = TrafficPlaces(groups, len(able.ordinals))
        self.size = _sizes(self.loads, able.limits)

    def settle(self, by_topology: bool) -> bool:
        """Make everything fit; return whether that worked.

        Lifted executors are put back largest first, or the largest topology's first.
        """
        if self.room.crowded().any():
            self._lift_topologies()
        for host in np.flatnonzero(self.room.exceeded().any(axis=1)).tolist():
            self._relieve(host)
        return self._insert(np.flatnonzero(self.at < 0), by_topology)

    def _lift(self, executors: Iterable[int]) -> None:
        for executor in executors:
            self.room.take(executor, int(self.at[executor]))
            self.at[executor] = NOWHERE

    def _put(self, executor: int, host: int) -> None:
        self.room.put(executor, host)
        self.at[executor] = host

    def _lift_topologies(self) -> None:
        """Leave on crowded hosts the topologies that live there, then those with most executors."""
        held, slots = self.room.held, self.able.slots
        home = _homes(held, slots)
        for host in np.flatnonzero(self.room.crowded()).tolist():
            own = home == host
            order = np.lexsort((-held[host], ~own))
            leaving = order[int(slots[host]) :]
            # A home that holds none of its topology yet keeps a slot free.
            here = (self.at == host) & np.isin(self.topology, leaving)
            self._lift(np.flatnonzero(here).tolist())

    def _relieve(self, host: int) -> None:
        """Move executors away from a host until it is within its limits; lift what fits nowhere."""
        crew = _Crew(self.groups, self.at, host, len(self.able.ordinals))
        while (exceeded := self.room.exceeded()[host]).any():
            index, target = self._cheapest(crew, exceeded)
            executor = crew.members[index].pop()
            self._lift([executor])
            crew.moved(index, target)
            if target != NOWHERE:
                self._put(executor, target)

    def _cheapest(self, crew: _Crew, exceeded: Bools) -> tuple[int, int]:
        """Return (position of a group in the crew, host or `NOWHERE`) whose move costs least.

        Only groups whose load includes a resource that is exceeded come into question.
        """
        relieves = (self.groups.load[crew.groups][:, exceeded] > 0).any(axis=1)
        relieves &= np.array([bool(members) for members in crew.members])
        allowed = np.zeros(crew.traffic.shape, dtype=bool)
        for index in np.flatnonzero(relieves).tolist():
            allowed[index] = self.room.fits(crew.members[index][-1])
        allowed[:, crew.host] = False
        own = crew.own_traffic()
        if not allowed.any():
            return int(np.argmin(np.where(relieves, own, np.inf))), NOWHERE
        cost = np.where(allowed, own[:, None] - crew.traffic, np.inf)
        index, target = divmod(int(np.argmin(cost)), len(self.able.ordinals))
        return index, target

    def _insert(self, lifted: Ints, by_topology: bool) -> bool:
        """Put lifted executors where they fit; return whether all found a host."""
        weight = np.bincount(self.topology, weights=self.size, minlength=1)
        first = -weight[self.topology] if by_topology else np.zeros(len(self.at))
        rank = np.empty(len(self.at), dtype=np.int64)
        rank[np.lexsort((self.topology, -self.size, first))] = np.arange(len(self.at))
        waiting = [(int(rank[executor]), executor) for executor in lifted.tolist()]
        heapify(waiting)
        for _ in range(4 * len(self.at)):
            if not waiting:
                return True
            executor = heappop(waiting)[1]
            host = self._best_host(executor, roomiest=by_topology)
            if host == NOWHERE:
                host, smaller = self._make_way(executor)
                self._lift(smaller)
                for each in smaller:
                    heappush(waiting, (int(rank[each]), each))
            if host == NOWHERE:
                return False
            self._put(executor, host)
        return not waiting

    def _best_host(self, executor: int, roomiest: bool) -> int:
        """Return the host with most traffic among those that fit, `NOWHERE` if none does.

        Ties: one that holds the executor's topology already, then the one with most room if asked,
        so that a topology takes few slots, then the first.
        """
        fits = np.flatnonzero(self.room.fits(executor))
        if not len(fits):
            return NOWHERE
        traffic = self.traffic.of(executor, self.at)[fits]
        at_home = self.room.held[fits, self.topology[executor]] > 0
        space = np.zeros(len(fits))
        if roomiest:
            left = self.able.limits[fits] - self.room.totals[fits]
            space = (left / _largest(self.able.limits)).min(axis=1)
        return int(fits[np.lexsort((-space, ~at_home, -traffic))[0]])

    def _make_way(self, executor: int) -> tuple[int, list[int]]:
        """Return (host, smaller executors there that leave room enough when lifted)."""
        welcome = np.flatnonzero(self.room.welcome(int(self.topology[executor])))
        need = self.loads[executor]
        # Every lifted executor is smaller than the one placed, so that this comes to an end.
        smaller = (self.at >= 0) & (self.size < self.size[executor])
        for host in welcome.tolist():
            there = np.flatnonzero(smaller & (self.at == host))
            there = there[np.argsort(-self.size[there], kind="stable")]
            freed = np.cumsum(self.loads[there], axis=0)
            after = self.room.totals[host] + need - freed
            enough = np.flatnonzero((after <= self.able.limits[host]).all(axis=1))
            if len(enough):
                return host, there[: int(enough[0]) + 1].tolist()
        return NOWHERE, []


def _sizes(loads: Floats, limits: Floats) -> Floats:
    """Return the largest share that each executor takes of the largest host, shape (executors,)."""
    bound = np.isfinite(limits).any(axis=0)
    shares: Floats = np.where(bound, loads / _largest(limits), 0.0).max(axis=1)
    return shares


def _largest(limits: Floats) -> Floats:
    """Return the largest finite limit of each resource, 1 if there is none, shape (resources,)."""
    largest: Floats = np.where(np.isfinite(limits), limits, 0.0).max(axis=0)
    largest[largest <= 0] = 1.0
    return largest


def _homes(held: Ints, slots: Ints) -> Ints:
    """Return a host for each topology, at most ``slots`` topologies a host, NOWHERE if too few.

    Most executors stay: those that a topology has on its home.
    """
    topologies = held.shape[1]
    owner = np.repeat(np.arange(len(slots)), np.minimum(slots, topologies))
    home = np.full(topologies, NOWHERE, dtype=np.int64)
    # A quarter of a second to import, which small problems do not need.
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(-held[owner].T)
    home[rows] = owner[columns]
    return home


def _rates_with(rates: csr_array, group: int, others: Ints) -> Floats:
    """Return the rates between one group and others, in ascending order, shape (others,)."""
    row = slice(rates.indptr[group], rates.indptr[group + 1])
    columns, values = rates.indices[row], rates.data[row]
    positions = np.searchsorted(columns, others)
    hit = positions < len(columns)
    hit[hit] = columns[positions[hit]] == others[hit]
    result = np.zeros(len(others))
    result[hit] = values[positions[hit]]
    return result
