"""What a tuple of each source asks of every resource: of those in trees, and of those that are not.

Loads follow from the placement, the selectivities that were measured, and the costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stormcut.arrays import Floats, Ints
from stormcut.model.placement import Placement
from stormcut.model.problem import CORE_PERCENT, CORE_US, Problem
from stormcut.model.traffic import Traffic
from stormcut.objective.anchoring import anchored_share, is_acker
from stormcut.objective.batching import batches_each, group_by_workers
from stormcut.objective.closed_loop import Background, Stations
from stormcut.objective.cut import executor_nodes, routed
from stormcut.objective.relaying import relay
from stormcut.objective.resources import (
    CPU,
    DEFAULT_BYTES,
    EXECUTOR,
    KIB,
    LINK_IN,
    LINK_OUT,
    MBIT_BYTES,
    UPLINK_IN,
    UPLINK_OUT,
    capacities,
    costs_of,
    executor_loads,
    rack_ordinals,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array


#: What causes - pairs or executors - add to resources of a kind: its name, which resources, by
#: which cause each, and how much.
Entry = tuple[str, Ints, Ints, Floats]

#: So few tuples/s are none: what is left of sums that cancel.
NONE = 1e-9


@dataclass(frozen=True, eq=False)
class Demands:
    """What a tuple/s of each source asks of each resource; of tuples in trees, and of others.

    Parameters
    ----------
    unbatched : array of shape (2, resources, sources)
        Load in the resource's unit, in trees and in none, without what batches cost.
    batches : Batches
    tuples, loose_tuples : array of shape (resources, sources)
        Tuples/s that pass a link; 0 for other resources.
    hops : array of int, shape (hops, 2)
        Resources of a link out and a link in that loose tuples pass one after the other.
    hop_loads, hop_tuples : array of shape (hops, sources)
        What loose tuples ask of both.
    capacity : array of shape (resources,)
    names : list of (str, int)
        Kind and ordinal of resources.
    """

    unbatched: Floats
    batches: Batches
    tuples: Floats
    loose_tuples: Floats
    hops: Ints
    hop_loads: Floats
    hop_tuples: Floats
    capacity: Floats
    names: list[tuple[str, int]]

    @cached_property
    def _loads(self) -> Floats:
        return self.unbatched + self.batches.loads

    @property
    def anchored(self) -> Floats:
        """Load in the resource's unit of tuples in trees, shape (resources, sources)."""
        anchored: Floats = self._loads[0]
        return anchored

    @property
    def loose(self) -> Floats:
        """The same of tuples in no tree."""
        loose: Floats = self._loads[1]
        return loose

    @property
    def busy(self) -> Floats:
        """Part of each resource that a tuple/s of each source takes, anchored or not."""
        return (self.anchored + self.loose) / self._positive[:, None]

    @property
    def _positive(self) -> Floats:
        return np.maximum(self.capacity, 1e-300)

    @cached_property
    def _threads(self) -> tuple[Ints, Ints]:
        """Which resources are threads, and of which executors, both of shape (threads,)."""
        threads = [
            (row, ordinal) for row, (kind, ordinal) in enumerate(self.names) if kind == EXECUTOR
        ]
        rows, executors = np.array(threads, dtype=np.int64).reshape(-1, 2).T
        return rows, executors

    def at(self, rates: Floats) -> Demands:
        """Return the same with as many tuples in a batch as at these rates, shape (sources,)."""
        return replace(self, batches=self.batches.at(rates))

    def slowed(self, speeds: Floats) -> Demands:
        """Return the same with threads that get such parts of a core, shape (executors,)."""
        rows, executors = self._threads
        capacity = self.capacity.copy()
        capacity[rows] *= speeds[executors]
        return replace(self, capacity=capacity)

    def thread_use(self, rates: Floats, executors: int) -> Floats:
        """Return the part of its time for which each thread runs at such rates, (executors,)."""
        rows, of = self._threads
        use = np.zeros(executors)
        use[of] = (self.busy @ rates)[rows]
        return use

    def stations(self, binding: npt.NDArray[np.bool_]) -> Stations:
        """Return the resources that tuples in trees queue for."""
        in_order = np.array([kind not in (EXECUTOR, CPU) for kind, _ in self.names])
        busy = self.anchored / self._positive[:, None]
        return Stations(busy[binding], self.tuples[binding], in_order[binding])

    def background(self, binding: npt.NDArray[np.bool_]) -> Callable[[Floats], Background]:
        """Return a function from rates to the other traffic at these resources.

        A link in that no tuple in a tree takes may be offered more than it carries; the rest waits,
        and does not leave the link out either.
        """
        if not self.loose.any():
            count = int(binding.sum())
            # A column for each of rates, if those have columns.
            return lambda rates: Background(*np.zeros((2, count, *rates.shape[1:])))
        share_of = self.loose / self._positive[:, None]
        shares, tuples_of = share_of[binding], self.loose_tuples[binding]
        held = ~binding & np.isfinite(self.capacity)
        hops = np.flatnonzero(held[self.hops[:, 1]])
        out, into = self.hops[hops].T
        loads, sent, offered = self.hop_loads[hops], self.hop_tuples[hops], share_of[into]
        leaves = _sparse(np.ones(len(out)), out, np.arange(len(out)), (len(share_of), len(out)))
        leaves = leaves[np.flatnonzero(binding)]
        room = self._positive[binding]

        def background_at(rates: Floats) -> Background:
            share, tuples = shares @ rates, tuples_of @ rates
            if len(hops):
                lost = 1.0 - 1.0 / np.maximum(offered @ rates, 1.0)
                share = share - ((leaves @ (lost * (loads @ rates))).T / room).T
                tuples = tuples - leaves @ (lost * (sent @ rates))
            service = np.where(tuples > NONE, share / np.maximum(tuples, NONE), 0.0)
            return Background(share, service)

        return background_at


@dataclass(frozen=True, eq=False)
class Batches:
    """What the batches cost in which tuples travel from worker to worker.

    Parameters
    ----------
    tuples : array of shape (2, connections, sources)
        Tuples/s of a tuple/s of each source, in trees and in none, on each pair of workers.
    rate : array of shape (connections,)
        All tuples/s on each pair of workers: they share batches.
    cost : csr_array of shape (resources, connections)
        Load of a batch/s.
    most : float
        ``batches_per_s`` of `Costs`.
    """

    tuples: Floats
    rate: Floats
    cost: csr_array
    most: float

    def at(self, rates: Floats) -> Batches:
        """Return the same at other rates of the sources, shape (sources,)."""
        return replace(self, rate=self.tuples.sum(axis=0) @ rates)

    @property
    def loads(self) -> Floats:
        """Load due to a tuple/s of each source, shape (2, resources, sources)."""
        each = batches_each(self.rate, self.most)[:, None]
        return np.array([self.cost @ (each * tuples) for tuples in self.tuples])


def demands_of(problem: Problem, placement: Placement, sources: Ints) -> Demands:
    """Return what tuples of each source ask of all resources, in batches as at measured rates.

    Notes
    -----
    Takes O(pairs x sources), after the cube of the executors for what is due to which source.
    """
    flowing, _ = relay(problem, placement.slots)
    traffic = routed(flowing.sized(DEFAULT_BYTES), placement.slots)
    anchored = anchored_share(problem)
    part = _parts(problem, traffic, sources) / problem.executor_rate[sources]
    pairs = _pairs(problem, placement, traffic)
    due, kept = _due(problem, pairs, part, sources), anchored[pairs.target]
    most = capacities(problem, placement)
    names = [(kind, ordinal) for kind, every in most.items() for ordinal in range(len(every))]
    first = {kind: names.index((kind, 0)) for kind, every in most.items() if len(every)}

    def both(entries: list[Entry], causes: Floats, share: Floats) -> Floats:
        """Return what causes, a row each, add to all resources in trees, and in none."""
        rows = np.concatenate([first[kind] + ordinal for kind, ordinal, _, _ in entries])
        columns, amounts = (np.concatenate([each[n] for each in entries]) for n in (2, 3))
        table = _sparse(amounts, rows, columns, (len(names), len(causes)))
        return np.array([table @ (causes * of[:, None]) for of in (share, 1 - share)])

    links = _crossings(pairs)
    carried = pairs.rate * (pairs.size + costs_of(problem).link_bytes_per_tuple) / MBIT_BYTES
    loads = both(_own(executor_loads(problem, placement), pairs.nodes), part, anchored)
    content = [(kind, ordinal, which, carried[which]) for kind, ordinal, which in links]
    loads += both([*_contents(problem, pairs), *content], due, kept)
    tuples = both(
        [(kind, ordinal, which, pairs.rate[which]) for kind, ordinal, which in links], due, kept
    )
    out, into = (first[kind] + ordinal for kind, ordinal, _ in links[:2])
    away = links[0][2]
    loose = due[away] * (1 - kept[away, None])
    hops, hop_loads, hop_tuples = _hops(out, into, loose, carried[away], pairs.rate[away])
    return Demands(
        unbatched=loads,
        batches=_batches(problem, pairs, due, kept, (first[CPU], len(names))),
        tuples=tuples[0],
        loose_tuples=tuples[1],
        hops=hops,
        hop_loads=hop_loads,
        hop_tuples=hop_tuples,
        capacity=np.concatenate([*most.values()]),
        names=names,
    )


@dataclass(frozen=True, eq=False)
class _PlacedPairs:
    """Pairs of executors, and where all executors run.

    Parameters
    ----------
    source, target, rate, size : array of shape (pairs,)
    slots, nodes, racks : array of shape (executors,)
        Negative for what runs nowhere.
    """

    source: Ints
    target: Ints
    rate: Floats
    size: Floats
    slots: Ints
    nodes: Ints
    racks: Ints

    def apart(self, places: Ints) -> Ints:
        """Return the pairs of which both run, and not at one place."""
        source, target = places[self.source], places[self.target]
        return np.flatnonzero((source >= 0) & (target >= 0) & (source != target))


def _pairs(problem: Problem, placement: Placement, traffic: Traffic) -> _PlacedPairs:
    nodes = executor_nodes(problem, placement)
    racks, _ = rack_ordinals(problem)
    homes = np.where(nodes >= 0, racks[nodes], -1)
    return _PlacedPairs(*traffic.unfolded_sizes(), placement.slots, nodes, homes)


def _due(problem: Problem, pairs: _PlacedPairs, part: Floats, sources: Ints) -> Floats:
    """Return which part of what each pair sends is due to a tuple/s of each source.

    A pair's load is due to the sources whose tuples led to what its sender sends; what an acker
    tells a source is due to that one.
    """
    due = part[pairs.source]
    completions = is_acker(problem)[pairs.source] & problem.executor_is_spout[pairs.target]
    due[completions] = (pairs.target[completions, None] == sources) / problem.executor_rate[sources]
    return due


def _own(loads: Floats, nodes: Ints) -> list[Entry]:
    """Return what executors' own work adds to their threads and nodes."""
    runs = np.flatnonzero(nodes >= 0)
    work = loads[runs]
    return [(EXECUTOR, runs, runs, work), (CPU, nodes[runs], runs, work)]


def _contents(problem: Problem, pairs: _PlacedPairs) -> list[Entry]:
    """Return what the content of tuples adds to nodes, where it is sent and taken."""
    costs, apart = costs_of(problem), pairs.apart(pairs.slots)
    points = pairs.rate[apart] * pairs.size[apart] / KIB * (CORE_PERCENT / CORE_US)
    return [
        (CPU, pairs.nodes[pairs.source[apart]], apart, points * costs.send_us_per_kib),
        (CPU, pairs.nodes[pairs.target[apart]], apart, points * costs.receive_us_per_kib),
    ]


def _batches(
    problem: Problem, pairs: _PlacedPairs, due: Floats, kept: Floats, resources: tuple[int, int]
) -> Batches:
    """Return what tuples cost by the batch.

    Parameters
    ----------
    due : array of shape (pairs, sources)
        Part of what each pair sends that is due to a tuple/s of each source.
    kept : array of shape (pairs,)
        Part that is in trees.
    resources : (int, int)
        Ordinal of the first node's CPU, and number of resources.
    """
    costs, apart, (first, count) = costs_of(problem), pairs.apart(pairs.slots), resources
    source, target = pairs.source[apart], pairs.target[apart]
    one, connection = group_by_workers(pairs.slots[source], pairs.slots[target])
    shape, every = (len(one), len(apart)), np.arange(len(apart))
    of = _sparse(pairs.rate[apart], connection, every, shape)
    ends = np.concatenate((pairs.nodes[source[one]], pairs.nodes[target[one]]))
    points = np.repeat([costs.send_us_per_tuple, costs.receive_us_per_tuple], len(one))
    return Batches(
        np.array([of @ (due[apart] * part[apart, None]) for part in (kept, 1 - kept)]),
        of @ np.ones(len(apart)),
        _sparse(
            points * (CORE_PERCENT / CORE_US),
            first + ends,
            np.tile(np.arange(len(one)), 2),
            (count, len(one)),
        ),
        costs.batches_per_s,
    )


def _crossings(pairs: _PlacedPairs) -> list[tuple[str, Ints, Ints]]:
    """Return the places whose links and uplinks pairs cross, and the pairs; nodes' links first."""
    away, far = pairs.apart(pairs.nodes), pairs.apart(pairs.racks)
    return [
        (LINK_OUT, pairs.nodes[pairs.source[away]], away),
        (LINK_IN, pairs.nodes[pairs.target[away]], away),
        (UPLINK_OUT, pairs.racks[pairs.source[far]], far),
        (UPLINK_IN, pairs.racks[pairs.target[far]], far),
    ]


def _hops(
    out: Ints, into: Ints, loose: Floats, carried: Floats, rate: Floats
) -> tuple[Ints, Floats, Floats]:
    """Return links that loose tuples pass one after the other, and load and tuples/s of each two.

    Parameters
    ----------
    out, into : array of shape (pairs,)
        Resources that pairs pass.
    loose : array of shape (pairs, sources)
        Part of what they send, loose and due to a tuple/s of each source.
    carried, rate : array of shape (pairs,)
    """
    free = np.flatnonzero(loose.any(axis=1))
    ends = np.column_stack([out[free], into[free]])
    hops, hop = np.unique(ends, axis=0, return_inverse=True)
    of = _sparse(np.ones(len(free)), hop.ravel(), np.arange(len(free)), (len(hops), len(free)))
    return hops, of @ (carried[free, None] * loose[free]), of @ (rate[free, None] * loose[free])


def _sparse(amounts: Floats, rows: Ints, columns: Ints, shape: tuple[int, int]) -> csr_array:
    # Takes a tenth of a second to load: not for help.
    from scipy.sparse import coo_array

    return coo_array((amounts, (rows, columns)), shape).tocsr()


def growth(problem: Problem, sources: Ints, rates: Floats) -> Floats:
    """Return by which factor each executor does more when sources emit at these rates.

    Parameters
    ----------
    sources : array of shape (sources,)
        Executor ordinals.
    rates : array of shape (sources,)
        Tuples/s of each.

    Returns
    -------
    array of shape (executors,)
        1 where nothing is due to any source.
    """
    part = _parts(problem, problem.traffic, sources)
    known = part.sum(axis=1)
    factor = part @ (rates / problem.executor_rate[sources])
    result: Floats = np.where(known > NONE, factor / np.maximum(known, NONE), 1.0)
    return result


def _parts(problem: Problem, traffic: Traffic, sources: Ints) -> Floats:
    """Return which part of what each executor does is due to each source, (executors, sources).

    Tuples mix in every executor: what it sends is due to the sources as what it takes is. Where
    traffic goes round in circles the parts are those that settle.
    """
    source, target, rate, _ = traffic.unfolded_sizes()
    count = problem.executor_count
    taken = np.zeros(count)
    np.add.at(taken, target, rate)
    flow = np.zeros((count, count))
    np.add.at(flow, (target, source), rate / np.maximum(taken[target], 1e-300))
    flow[problem.executor_is_spout] = 0.0
    start = np.zeros((count, len(sources)))
    start[sources, np.arange(len(sources))] = 1.0
    # Slightly less than all is handed on, so that circles nothing enters come to an end.
    settled = np.linalg.solve(np.eye(count) - (1 - 1e-9) * flow, start)
    return np.asarray(settled, dtype=np.float64)
