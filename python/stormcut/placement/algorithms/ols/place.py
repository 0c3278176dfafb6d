"""OLS, the online scheduler of Aniello et al.: pairs with most traffic first, into one worker.

Phase 1, for each topology: pairs of executors in descending order of traffic. If neither is placed,
both go to the least loaded worker. Else both are placed again: of all ways to put the two into the
workers where they are and the least loaded one, the way with the least traffic between workers.
Phase 2: pairs of workers in descending order of traffic, the same with nodes.

- alpha in [0, 1] sets the most executors of a worker (see `ols_offline`).
- beta in [0, 1] sets the number of nodes that a topology is to use (see `ols_offline`): while it
  uses fewer, the worker whose move costs least goes to a node that it does not use.
- gamma, if given, sets the largest CPU load of a worker: so many times the mean.
- delta in [0, 1] sets the most workers of a topology on one node, for W workers and n nodes, from
  ceil(W / n) (0) to W - n + 1 (1).
- improvement in [0, 1], if given, is the least share of the traffic between nodes that must go for
  a placement to replace the current one (``traffic.improvement`` there, in percent), unless that is
  incomplete or breaks a limit (the paper: overloads a node).

Names of the parameters are those of the authors' released code; its faults are not followed. What
the paper leaves open, or the problem asks for beyond it, is decided thus:

- W is ``workers``. Null: as in `ols_offline`; one worker for each node at first, so that OLS uses
  all nodes. A thesis that compares with OLS relies on that.
- The traffic of a pair is that of both directions. Pairs of equal traffic go in the order of their
  executors; of equally good ways the first is taken: where they are before the least loaded.
- Load is CPU, or executors where no executor has a load. Least loaded node: the smallest share of
  its capacity in use, or the least load where a node has no limit. Ties: fewer executors or
  workers, then the order given (nodes: by id).
- If no worker takes both executors, each goes to the least loaded that takes it. If gamma leaves no
  worker for one, it is not kept to; alpha always is.
- Executors without traffic go to the least loaded worker, heaviest first; workers that are still
  empty then take the executor whose move costs least. Workers without traffic go to the least
  loaded node, heaviest first.
- A node's CPU, memory, executors and slots are limits, which the paper has for CPU and slots only.
  Where delta leaves no node for a worker, it is not kept to.
- reschedule_timeout, the least time between two changes, and improvement are also the brain's rule
  (`acceptance`). Without improvement the current placement only decides which slots are used, so
  that the fewest workers restart.

O(pairs x executors' pairs + workers^2 x nodes) time, O(pairs) memory, streams written out.

References
----------
L. Aniello, R. Baldoni and L. Querzoni, "Adaptive online scheduling in Storm", DEBS 2013,
section 4.2; L. Eskandari, thesis on task scheduling in data stream processing systems, section 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy.sparse import coo_array, csr_array, triu

from stormcut.arrays import Bools, Floats, Ints
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.cut import inter_node_tuples_per_second
from stormcut.objective.verify import exceeds, violations
from stormcut.placement.algorithms.ols.offline import (
    SpreadOptions,
    most_executors,
    node_count,
    worker_counts,
)
from stormcut.placement.graph.partition import traffic_graph
from stormcut.placement.options import FRACTION, NOT_NEGATIVE, ONE_OR_MORE
from stormcut.placement.packing.capacity import CPU, EXECUTORS, Hosts, hosts, scarcest
from stormcut.placement.packing.capacity import loads as executor_loads
from stormcut.placement.slots.seating import seat


@dataclass(frozen=True)
class Options(SpreadOptions):
    """The parameters of the authors' code."""

    gamma: float | None = field(
        default=None,
        metadata={
            "help": "most CPU of a worker in times the mean, none: no limit",
            "bounds": ONE_OR_MORE,
        },
    )
    delta: float = field(
        default=0.0,
        metadata={
            "help": "from nodes with equally many workers (0) to any number (1)",
            "bounds": FRACTION,
        },
    )
    improvement: float | None = field(
        default=None,
        metadata={
            "help": "share of traffic that must go, or the current one stays; none: any",
            "bounds": FRACTION,
        },
    )
    reschedule_timeout: float = field(
        default=180.0,
        metadata={
            "help": "brain: least seconds from one change to the next",
            "bounds": NOT_NEGATIVE,
        },
    )


def place(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return the online scheduler's placement; the random generator is not used.

    Raises
    ------
    Infeasible
        There is no traffic, or workers do not fit the nodes.
    """
    if not problem.executor_count:
        return Placement(np.zeros(0, dtype=np.int64))
    if problem.traffic.total <= 0:
        raise Infeasible("ols does not schedule without traffic: measure it", "traffic")
    able = hosts(problem)
    graph = traffic_graph(problem.traffic, problem.executor_count)
    for counts in worker_counts(problem, able, "ols"):
        workers = _phase_one(problem, graph, counts, options)
        nodes = _phase_two(problem, graph, workers, able, options)
        if nodes is not None:
            proposed = Placement(seat(problem, able.ordinals[nodes[workers]], workers))
            return _at_least(problem, proposed, options.improvement)
    raise Infeasible(
        "ols found none: its workers do not fit the nodes",
        scarcest(executor_loads(problem), able.limits),
    )


def _at_least(problem: Problem, proposed: Placement, improvement: float | None) -> Placement:
    """Return a placement if it improves on the current one by that share, else the current one."""
    current = Placement(problem.current_slots())
    if improvement is None or violations(problem, current):
        return proposed
    now, then = (inter_node_tuples_per_second(problem, each) for each in (current, proposed))
    return proposed if now - then >= improvement * now else current


class Bins:
    """Items in bins, placed by pairs; both phases of OLS.

    Parameters
    ----------
    graph : csr_array of shape (items, items)
        Symmetric traffic without a diagonal.
    needs : array of shape (items, 3)
        CPU, executors and memory.
    capacity : array of shape (bins,)
        Load is CPU in shares of it, or executors where no item needs CPU.
    accepts : callable
        ``accepts(bins, items)`` says which bins can take these items at once, shape (bins,).
    """

    def __init__(
        self,
        graph: csr_array,
        needs: Floats,
        capacity: Floats,
        accepts: Callable[[Bins, list[int]], Bools],
    ) -> None:
        self.graph, self.needs, self.capacity, self._accepts = graph, needs, capacity, accepts
        self.column = CPU if needs[:, CPU].any() else EXECUTORS
        self.of = np.full(len(needs), -1, dtype=np.int64)
        self.totals = np.zeros((len(capacity), needs.shape[1]))
        self.items = np.zeros(len(capacity), dtype=np.int64)

    def put(self, item: int, bin_: int) -> None:
        """Place an item that is in no bin."""
        self.of[item] = bin_
        self.totals[bin_] += self.needs[item]
        self.items[bin_] += 1

    def take(self, item: int) -> None:
        """Undo `put`."""
        bin_ = self.of[item]
        self.of[item] = -1
        self.totals[bin_] -= self.needs[item]
        self.items[bin_] -= 1

    def accepts(self, *items: int) -> Bools:
        """Return which bins can take these items at once, shape (bins,)."""
        return self._accepts(self, list(items))

    def traffic(self, item: int) -> Floats:
        """Return an item's traffic with every bin, shape (bins,)."""
        row = slice(self.graph.indptr[item], self.graph.indptr[item + 1])
        bins = self.of[self.graph.indices[row]]
        placed = bins >= 0
        rates = self.graph.data[row][placed]
        return np.bincount(bins[placed], weights=rates, minlength=len(self.items)).astype(
            np.float64
        )

    def least_loaded(self, able: Bools) -> int | None:
        """Return the least loaded of some bins, None if there is none."""
        candidates = np.flatnonzero(able)
        if not len(candidates):
            return None
        # Rounded, so that equal loads summed in another order still tie.
        share = np.round(self.totals[candidates, self.column] / self.capacity[candidates], 9)
        return int(candidates[np.lexsort((self.items[candidates], share))[0]])

    def heaviest_first(self, items: Ints) -> list[int]:
        """Return items in descending order of load."""
        order: list[int] = items[
            np.argsort(-self.needs[items, self.column], kind="stable")
        ].tolist()
        return order

    def put_alone(self, item: int) -> bool:
        """Place an item in the least loaded bin that takes it; say whether there is one."""
        bin_ = self.least_loaded(self.accepts(item))
        if bin_ is not None:
            self.put(item, bin_)
        return bin_ is not None

    def put_pair(self, one: int, other: int, rate: float) -> bool:
        """Place a pair, again if need be; say whether there was room."""
        known = {item: int(self.of[item]) for item in (one, other) if self.of[item] >= 0}
        for item in known:
            self.take(item)
        together = self.accepts(one, other)
        if not known and (least := self.least_loaded(together)) is not None:
            known = {one: least, other: least}
        elif known:
            some = together if together.any() else self.accepts(one) | self.accepts(other)
            known = self._best(one, other, rate, [*known.values(), self.least_loaded(some)])
        for item, bin_ in known.items():
            self.put(item, bin_)
        return all(self.of[item] >= 0 or self.put_alone(item) for item in (one, other))

    def _best(self, one: int, other: int, rate: float, bins: list[int | None]) -> dict[int, int]:
        """Return the bins of a pair, of those given, with the least traffic between bins."""
        candidates = list(dict.fromkeys(bin_ for bin_ in bins if bin_ is not None))
        local_one, local_other = self.traffic(one), self.traffic(other)
        able_one, able_other = self.accepts(one), self.accepts(other)
        able_both = self.accepts(one, other)
        best, most = {}, -np.inf
        for here, there in product(candidates, candidates):
            able = able_both[here] if here == there else able_one[here] and able_other[there]
            local = local_one[here] + local_other[there] + rate * (here == there)
            if able and local > most:
                best, most = {one: here, other: there}, local
        return best


def _pairs(graph: csr_array) -> list[tuple[int, int, float]]:
    """Return (item, item, traffic) in descending order of traffic."""
    upper = triu(graph, 1).tocoo()
    order = np.lexsort((upper.col, upper.row, -upper.data))
    return list(
        zip(
            upper.row[order].tolist(),
            upper.col[order].tolist(),
            upper.data[order].tolist(),
            strict=True,
        )
    )


def _phase_one(problem: Problem, graph: csr_array, counts: list[int], options: Options) -> Ints:
    """Return the worker of each executor, numbered through topologies; none is empty."""
    workers = np.empty(problem.executor_count, dtype=np.int64)
    needs = executor_loads(problem)
    first = 0
    for topology, count in enumerate(counts):
        own = slice(*problem.topology_offsets[topology : topology + 2].tolist())
        inside = graph[own, :][:, own].tocsr()
        bins = Bins(inside, needs[own], np.ones(count), _worker_limits(needs[own], count, options))
        for one, other, rate in _pairs(inside):
            bins.put_pair(one, other, rate)
        for item in bins.heaviest_first(np.flatnonzero(bins.of < 0)):
            bins.put_alone(item)
        _fill_empty(bins)
        workers[own] = first + bins.of
        first += count
    return workers


def _worker_limits(
    needs: Floats, workers: int, options: Options
) -> Callable[[Bins, list[int]], Bools]:
    most = most_executors(len(needs), workers, options.alpha)
    heaviest = np.inf
    if options.gamma is not None:
        heaviest = options.gamma * needs[:, CPU].sum() / workers

    def accepts(bins: Bins, items: list[int]) -> Bools:
        room = bins.items + len(items) <= most
        load = bins.totals[:, CPU] + needs[items, CPU].sum()
        light = room & ~exceeds(load, heaviest)
        # A pair parts before the limit is given up.
        return light if light.any() or len(items) > 1 else room

    return accepts


def _fill_empty(bins: Bins) -> None:
    """Move to each empty worker the executor whose move costs least; ties: the first."""
    for empty in np.flatnonzero(bins.items == 0).tolist():
        candidates = np.flatnonzero(bins.items[bins.of] > 1)
        costs = [bins.traffic(item)[bins.of[item]] for item in candidates.tolist()]
        item = int(candidates[int(np.argmin(costs))])
        bins.take(item)
        bins.put(item, empty)


def _phase_two(
    problem: Problem, graph: csr_array, workers: Ints, able: Hosts, options: Options
) -> Ints | None:
    """Return the node of each worker, a position in ``able``; None if they do not fit."""
    count = int(workers.max()) + 1
    needs = np.zeros((count, able.limits.shape[1]))
    np.add.at(needs, workers, executor_loads(problem))
    owner = np.empty(count, dtype=np.int64)
    owner[workers] = problem.executor_topology
    edges = graph.tocoo()
    ends = (workers[edges.row], workers[edges.col])
    between = coo_array((edges.data, ends), shape=(count, count)).tocsr()
    between.setdiag(0)
    between.eliminate_zeros()
    column = CPU if needs[:, CPU].any() else EXECUTORS
    capacity = able.limits[:, column]
    capacity = capacity if np.isfinite(capacity).all() else np.ones(len(capacity))
    bins = Bins(between, needs, capacity, _node_limits(owner, able, options))
    for one, other, rate in _pairs(between):
        if not bins.put_pair(one, other, rate):
            return None
    for worker in bins.heaviest_first(np.flatnonzero(bins.of < 0)):
        if not bins.put_alone(worker):
            return None
    for topology in range(len(problem.topologies)):
        _spread(bins, np.flatnonzero(owner == topology), able, options.beta)
    return bins.of


def _node_limits(owner: Ints, able: Hosts, options: Options) -> Callable[[Bins, list[int]], Bools]:
    most = [_most_workers(int(count), able.slots, options) for count in np.bincount(owner)]

    def accepts(bins: Bins, workers: list[int]) -> Bools:
        room = ~exceeds(bins.totals + bins.needs[workers].sum(axis=0), able.limits).any(axis=1)
        room &= bins.items + len(workers) <= able.slots
        # Pairs with traffic are of one topology.
        topology = owner[workers[0]]
        mates = bins.of[(bins.of >= 0) & (owner == topology)]
        few = room & (np.bincount(mates, minlength=len(room)) + len(workers) <= most[topology])
        # A pair parts before the limit is given up.
        return few if few.any() or len(workers) > 1 else room

    return accepts


def _most_workers(workers: int, slots: Ints, options: Options) -> int:
    nodes = node_count(workers, slots, options.beta)
    least, most = math.ceil(workers / nodes), workers - nodes + 1
    return least + math.ceil(options.delta * (most - least))


def _spread(bins: Bins, own: Ints, able: Hosts, beta: float) -> None:
    """Move workers of a topology, at least cost, until it uses as many nodes as it should."""
    wanted = node_count(len(own), able.slots, beta)
    while len(used := np.unique(bins.of[own])) < wanted:
        moves = []
        for worker in own.tolist():
            home = int(bins.of[worker])
            if (bins.of[own] == home).sum() < 2:
                continue
            traffic = bins.traffic(worker)
            unused = bins.accepts(worker)
            unused[used] = False
            moves += [(traffic[home] - traffic[n], worker, n) for n in np.flatnonzero(unused)]
        if not moves:
            return
        _, worker, node = min(moves)
        bins.take(worker)
        bins.put(worker, int(node))
