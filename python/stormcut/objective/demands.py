"""What a tuple of each source asks of every resource: of those in trees, and of those that are not.

Loads follow from the placement, the selectivities that were measured, and the costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stormcut.model.placement import Placement
from stormcut.model.problem import CORE_PERCENT, CORE_US, Problem
from stormcut.model.traffic import Traffic
from stormcut.objective.anchoring import anchored_share, is_acker
from stormcut.objective.batching import batches_per_tuple
from stormcut.objective.closed_loop import Background, Stations
from stormcut.objective.cut import executor_nodes
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
    costs_of,
    rack_ordinals,
    uses,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: So few tuples/s are none: what is left of sums that cancel.
NONE = 1e-9


@dataclass(frozen=True, eq=False)
class Demands:
    """What a tuple/s of each source asks of each resource; of tuples in trees, and of others.

    Parameters
    ----------
    anchored, loose : array of shape (resources, sources)
        Load in the resource's unit.
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

    anchored: Floats
    loose: Floats
    tuples: Floats
    loose_tuples: Floats
    hops: Ints
    hop_loads: Floats
    hop_tuples: Floats
    capacity: Floats
    names: list[tuple[str, int]]

    @property
    def busy(self) -> Floats:
        """Part of each resource that a tuple/s of each source takes, anchored or not."""
        return (self.anchored + self.loose) / self._positive[:, None]

    @property
    def _positive(self) -> Floats:
        return np.maximum(self.capacity, 1e-300)

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
        share_of = self.loose / self._positive[:, None]
        out, into = self.hops.T

        def found(rates: Floats) -> Background:
            share, tuples = share_of @ rates, self.loose_tuples @ rates
            lost = np.where(binding, 0.0, 1.0 - 1.0 / np.maximum(share, 1.0))[into]
            count = len(share)
            load = np.bincount(out, lost * (self.hop_loads @ rates), count)
            share = share - load / self._positive
            tuples = tuples - np.bincount(out, lost * (self.hop_tuples @ rates), count)
            service = np.where(tuples > NONE, share / np.maximum(tuples, NONE), 0.0)
            return Background(share[binding], service[binding])

        return found


def demands_of(
    problem: Problem, placement: Placement, sources: Ints, rates: Floats | None = None
) -> Demands:
    """Return what tuples of each source ask of all resources.

    Parameters
    ----------
    rates : array of shape (sources,), optional
        At which they travel in batches; as measured without it.
    """
    traffic = problem.traffic.sized(DEFAULT_BYTES)
    source, target, rate, size = traffic.unfolded_sizes()
    emitted = problem.executor_rate[sources]
    part = _parts(problem, traffic, sources)
    # A pair's load is due to the sources whose tuples led to what its sender sends; what an acker
    # tells a source is due to that one.
    due = part[source] / emitted
    back = np.flatnonzero(is_acker(problem)[source] & problem.executor_is_spout[target])
    due[back] = (target[back, None] == sources) / emitted
    share = anchored_share(problem)
    costs, nodes = costs_of(problem), executor_nodes(problem, placement)
    racks, _ = rack_ordinals(problem)
    placed = nodes >= 0
    both = placed[source] & placed[target]
    points = rate * CORE_PERCENT / CORE_US
    growth = np.ones(len(rate)) if rates is None else due @ rates
    slots, most = placement.slots, costs.batches_per_s
    each = batches_per_tuple(slots[source], slots[target], rate * growth, most)
    sending = points * (costs.send_us_per_tuple * each + costs.send_us_per_kib / KIB * size)
    taking = points * (costs.receive_us_per_tuple * each + costs.receive_us_per_kib / KIB * size)
    carried = rate * (size + costs.link_bytes_per_tuple) / MBIT_BYTES
    used = {use.kind: use for use in uses(problem, placement)}
    names = [(kind, at) for kind, use in used.items() for at in range(len(use.load))]
    first = {kind: names.index((kind, 0)) for kind, use in used.items() if len(use.load)}
    count = len(names)
    anchored, loose, tuples, loose_tuples = (np.zeros((count, len(sources))) for _ in range(4))

    def add(kind: str, at: Ints, loads: Floats, shares: Floats) -> None:
        np.add.at(anchored, first[kind] + at, loads * shares[:, None])
        np.add.at(loose, first[kind] + at, loads * (1 - shares)[:, None])

    def add_link(kind: str, at: Ints, pairs: Ints) -> None:
        add(kind, at, carried[pairs, None] * due[pairs], share[target[pairs]])
        sent, kept = rate[pairs, None] * due[pairs], share[target[pairs]][:, None]
        np.add.at(tuples, first[kind] + at, sent * kept)
        np.add.at(loose_tuples, first[kind] + at, sent * (1 - kept))

    own = problem.executor_cpu[:, None] * part / emitted
    runs = np.flatnonzero(placed)
    add(EXECUTOR, runs, own[runs], share[runs])
    add(CPU, nodes[runs], own[runs], share[runs])
    apart = np.flatnonzero(both & (placement.slots[source] != placement.slots[target]))
    kept = share[target[apart]]
    add(CPU, nodes[source[apart]], sending[apart, None] * due[apart], kept)
    add(CPU, nodes[target[apart]], taking[apart, None] * due[apart], kept)
    away = np.flatnonzero(both & (nodes[source] != nodes[target]))
    add_link(LINK_OUT, nodes[source[away]], away)
    add_link(LINK_IN, nodes[target[away]], away)
    far = away[racks[nodes[source[away]]] != racks[nodes[target[away]]]]
    add_link(UPLINK_OUT, racks[nodes[source[far]]], far)
    add_link(UPLINK_IN, racks[nodes[target[far]]], far)
    unheld = away[share[target[away]] < 1]
    ends = np.column_stack(
        [first[LINK_OUT] + nodes[source[unheld]], first[LINK_IN] + nodes[target[unheld]]]
    )
    hops, which = np.unique(ends, axis=0, return_inverse=True)
    hop_loads, hop_tuples = (np.zeros((len(hops), len(sources))) for _ in range(2))
    free = (1 - share[target[unheld]])[:, None] * due[unheld]
    np.add.at(hop_loads, which.ravel(), carried[unheld, None] * free)
    np.add.at(hop_tuples, which.ravel(), rate[unheld, None] * free)
    capacity = np.concatenate([use.capacity for use in used.values()])
    return Demands(
        anchored, loose, tuples, loose_tuples, hops, hop_loads, hop_tuples, capacity, names
    )


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
