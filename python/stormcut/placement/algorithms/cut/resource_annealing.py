"""Simulated annealing over moves and exchanges of executors, by how full every resource is.

Executors that can stand for one another are a group, so that what a move changes costs O(neighbours
of the group). A move changes the loads of two nodes and of two racks only; where batches of tuples
count, of all nodes that it exchanges with. A local-or-shuffle stream is counted as it flows: each
source shares its tuples among the targets in its worker, if there are any, else among all. So a
move of one of its executors changes what all its targets take, and what they pass on by further
such streams, in O(nodes) for each of these. Other streams of such targets count as if each sent the
same. resource_annealing.cpp has the loops.

References
----------
S. Kirkpatrick, C. D. Gelatt and M. P. Vecchi, "Optimization by simulated annealing", Science 220
(1983).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from stormcut.arrays import Bools, Floats, Ints
from stormcut.model.network import UNKNOWN
from stormcut.model.problem import CORE_PERCENT, CORE_US, Problem
from stormcut.model.relays import Relay
from stormcut.model.traffic import Block, Traffic
from stormcut.native.library import (
    BOOL_ROWS,
    FLOAT,
    FLOAT_ROWS,
    FLOATS,
    INT,
    INT_ROWS,
    INTS,
    SEED,
    NativeRecord,
    function,
)
from stormcut.objective.resources import (
    DEFAULT_BYTES,
    KIB,
    MBIT_BYTES,
    MIN_LEFT,
    costs_of,
    rack_ordinals,
)
from stormcut.placement.algorithms.cut.breadth import Breadth
from stormcut.placement.algorithms.cut.instance import Instance
from stormcut.placement.algorithms.cut.model import NOTHING, seed_from

#: Moves and exchanges tried: for each executor, and at most.
STEPS = 4000
MAX_STEPS = 400_000

#: What all traffic weighs while the fullest resource is relieved.
LIGHT = 0.01

#: Groups and nodes that all steps look at, at most: about 0.3 s.
MAX_LOOKS = 30_000_000

#: Pairs of nodes, for all topologies together, between which tuples are counted: 32 MB. Of more,
#: what batches cost is counted where placements are compared, but not while they are annealed.
MAX_BETWEEN = 4_000_000


class Pairs(NamedTuple):
    """Rows of groups that exchange traffic.

    ``loads`` has, for one executor of the row's group and one of the other, what the first sends
    and gets and the CPU that it and the other spend on its bytes when they are apart, tuples/s that
    it sends and gets, and those of them that are in tuple trees, shape (pairs, 8).
    """

    starts: Ints
    neighbours: Ints
    loads: Floats


class Streams(NamedTuple):
    """Local-or-shuffle streams.

    ``loads``: tuples/s of a source; Mbit/s, and points that sending and taking costs, of a tuple/s
    that travels; points of a tuple/s that is taken; which part is in trees, shape (streams, 6).
    ``of``: topology, and row of ``threads`` or -1. ``sends``, ``takes``: which groups do, shape
    (streams, groups). ``threads``: of each component whose load depends on such streams, what one
    executor does besides, and can do, in points. ``row``: of those of each group, or -1.
    """

    loads: Floats
    of: Ints
    sends: Floats
    takes: Bools
    moves: Bools
    threads: Floats
    row: Ints
    relays: Floats


class Resources(NamedTuple):
    """What does not change while a placement is annealed.

    ``cpu`` is what an executor of each group needs without transfer, and without what local-or-
    shuffle streams bring; ``floor`` the share of the fullest thread that no placement changes;
    ``costs`` the CPU that sending and taking a batch of tuples costs, batches/s from worker to
    worker at most, the CPU that a worker takes, the part of a node's that executors have all the
    same, and what a tuple to another rack counts more;
    ``weight`` what a tuple of each topology counts; ``breadth`` on how many nodes each is at least,
    and how many executors each of these has, shape (topologies, 2).
    """

    starts: Ints
    neighbours: Ints
    pair: Floats
    size: Ints
    cpu: Floats
    load: Floats
    topology: Ints
    thread: Ints
    group: Ints
    limits: Floats
    slots: Ints
    allowed: Bools
    rack: Ints
    node_capacity: Floats
    rack_capacity: Floats
    threads: Floats
    stream: Floats
    stream_of: Ints
    sends: Floats
    takes: Bools
    moves: Bools
    relays: Floats
    floor: Floats
    costs: Floats
    weight: Floats
    breadth: Ints

    def throttled(self, part: Floats) -> Resources:
        """Return the same with topologies at a part of their rates that all threads can do.

        A tuple/s asked for counts as before.

        Parameters
        ----------
        part : array of shape (topologies,)
            Above 0.
        """
        by_group, threads, stream = part[self.topology], self.threads.copy(), self.stream.copy()
        relays = self.relays.copy()
        relays[self.stream_of[:, 3]] *= part[self.stream_of[:, 0], None]
        streams, has_thread = part[self.stream_of[:, 0]], self.stream_of[:, 1] >= 0
        stream[:, 0] *= streams
        own = self.stream_of[has_thread, 1]
        threads[own, 0] = self.threads[own, 0] * streams[has_thread]
        pairs = np.repeat(by_group, np.diff(self.starts))
        return self._replace(
            cpu=self.cpu * by_group,
            pair=self.pair * pairs[:, None],
            threads=threads,
            stream=stream,
            relays=relays,
            floor=np.zeros(1),
            weight=self.weight / part,
        )


_RESOURCES = NativeRecord(
    *(INTS, INTS, FLOAT_ROWS, INTS, FLOATS, FLOAT_ROWS, INTS, INTS, INTS),
    *(FLOAT_ROWS, INTS, BOOL_ROWS, INTS, FLOAT_ROWS, FLOAT_ROWS),
    *(FLOAT_ROWS, FLOAT_ROWS, INT_ROWS, FLOAT_ROWS, BOOL_ROWS, BOOL_ROWS, FLOAT_ROWS),
    *(FLOATS, FLOATS, FLOATS, INT_ROWS),
)
_most_headroom = function(
    "most_headroom", _RESOURCES, INT, FLOAT_ROWS, INT, FLOAT, FLOAT, INTS, SEED
)
_least_congestion = function(
    "least_congestion", _RESOURCES, INT, FLOAT_ROWS, INT, FLOAT, FLOAT, FLOAT, INTS, SEED
)


def resources(
    problem: Problem,
    instance: Instance,
    breadth: Breadth,
    anchored: Floats | None,
    further: float,
) -> Resources:
    """Return what annealing needs to know of an instance and its resources.

    Parameters
    ----------
    problem : Problem
    instance : Instance
        Its limits are kept.
    breadth : Breadth
        Kept where nodes have it to begin with.
    anchored : array of shape (executors,), optional
        Which share of what each executor takes is anchored; None: all.
    further : float
        What a tuple between racks counts more than one between nodes.
    """
    groups, costs = instance.groups, costs_of(problem)
    traffic = problem.traffic.sized(DEFAULT_BYTES)
    racks, names = rack_ordinals(problem)
    known = dict(problem.uplinks)
    uplinks = [known.get(name, UNKNOWN) for name in names]
    brought, flexible = _brought(problem)
    share = problem.executor_cpu / (CORE_PERCENT * problem.executor_threads)
    streams = _streams(problem, groups.of, traffic, anchored, brought, flexible)
    first = np.unique(groups.of, return_index=True)[1]
    return Resources(
        *_pairs(problem, groups.of, traffic, anchored),
        groups.size.astype(np.int64),
        (problem.executor_cpu - brought)[first],
        np.ascontiguousarray(instance.load),
        groups.topology.astype(np.int64),
        streams.row,
        groups.of,
        instance.bounds,
        instance.slots,
        NOTHING.astype(np.bool_) if instance.allowed is None else instance.allowed,
        racks[: len(problem.nodes)],
        _capacities([(n.cpu_percent, n.link.out, n.link.into) for n in problem.nodes]),
        _capacities([(link.out, link.into) for link in uplinks]),
        streams.threads,
        streams.loads,
        streams.of,
        streams.sends,
        streams.takes,
        streams.moves,
        streams.relays,
        np.array([share[~flexible].max(initial=0.0)]),
        np.array(
            [
                costs.send_us_per_tuple * CORE_PERCENT / CORE_US,
                costs.receive_us_per_tuple * CORE_PERCENT / CORE_US,
                costs.batches_per_s,
                costs.worker_percent,
                MIN_LEFT,
                further,
            ]
        ),
        np.ones(len(problem.topologies)),
        np.column_stack(breadth),
    )


def _capacities(rows: list[tuple[float | None, ...]]) -> Floats:
    return np.array([[np.inf if value is None else value for value in row] for row in rows])


def _brought(problem: Problem) -> tuple[Floats, Bools]:
    """Return what local-or-shuffle streams add to each executor's CPU on average, and to which."""
    taken = np.zeros(problem.executor_count)
    flexible = np.zeros(problem.executor_count, dtype=np.bool_)
    for block in problem.traffic.blocks:
        if block.local_first:
            taken[block.targets.start : block.targets.stop] += block.rate * len(block.sources)
            flexible[block.targets.start : block.targets.stop] = True
    us = problem.executor_cpu_us
    flexible &= ~np.isnan(us) & ~problem.executor_is_spout
    return np.where(flexible, np.nan_to_num(us) * taken * (CORE_PERCENT / CORE_US), 0.0), flexible


def _streams(
    problem: Problem,
    of: Ints,
    traffic: Traffic,
    anchored: Floats | None,
    brought: Floats,
    flexible: Bools,
) -> Streams:
    costs, groups = costs_of(problem), int(of.max(initial=-1)) + 1
    points, us = CORE_PERCENT / CORE_US, problem.executor_cpu_us
    number = {relay.executors.start: index for index, relay in enumerate(problem.relays)}
    passes = {
        relay.executors.start: index
        for index, relay in enumerate(problem.relays)
        if relay.is_changed and not relay.is_steady
    }
    local = _local_streams(problem, traffic)
    local.sort(key=lambda each: number[each[0].targets.start])
    blocks = [block for block, _ in local]
    besides = problem.executor_cpu - brought
    rows: dict[int, int] = {}
    threads: list[tuple[float, float]] = []
    row = np.full(groups, -1, dtype=np.int64)
    loads, places = [], []
    for block in blocks:
        first, own = block.targets.start, slice(block.targets.start, block.targets.stop)
        if flexible[first] and first not in rows:
            rows[first] = len(threads)
            most = CORE_PERCENT * problem.executor_threads[first]
            threads.append((float(besides[own].max()), most))
            row[of[own]] = rows[first]
        held = 1.0 if anchored is None else float(anchored[first])
        loads.append(
            (
                block.rate * len(block.targets),
                (block.size + costs.link_bytes_per_tuple) / MBIT_BYTES,
                points * costs.send_us_per_kib / KIB * block.size,
                points * costs.receive_us_per_kib / KIB * block.size,
                points * us[first] if flexible[first] else 0.0,
                held,
            )
        )
        ends = passes.get(block.sources.start, -1), number[first]
        places.append((int(problem.executor_topology[first]), rows.get(first, -1), *ends))
    its = np.array(places, dtype=np.int64).reshape(-1, 4)
    takes = _roles([block.targets for block in blocks], of, groups)
    sends = _sending(problem, local, of, groups)
    return Streams(
        np.array(loads, dtype=np.float64).reshape(-1, 6),
        its,
        sends,
        takes,
        _moves(its, takes | _roles([block.sources for block in blocks], of, groups)),
        np.array(threads, dtype=np.float64).reshape(-1, 2),
        row,
        np.array([_taken(problem, relay) for relay in problem.relays]).reshape(-1, 2),
    )


def _local_streams(problem: Problem, traffic: Traffic) -> list[tuple[Block, Floats]]:
    """Return what components send each other by local-or-shuffle, all of it as one block.

    Beside it, what each source sends over an equal share.
    """
    counts = np.bincount(problem.executor_component)
    sent: dict[Block, Floats] = {}
    for block in traffic.blocks:
        if block.local_first and block.rate > 0:
            first = block.sources.start
            component = problem.executor_component[first]
            begin = int(problem.component_starts[component])
            whole = replace(block, sources=range(begin, begin + int(counts[component])), rate=0.0)
            rates = sent.setdefault(whole, np.zeros(len(whole.sources)))
            rates[first - begin : block.sources.stop - begin] += block.rate
    streams = []
    for whole, rates in sent.items():
        # The mean of equal rates may be rounded.
        is_alike = rates.min() == rates.max()
        mean = float(rates[0] if is_alike else rates.mean())
        streams.append((replace(whole, rate=mean), rates / mean))
    return streams


def _sending(
    problem: Problem, streams: list[tuple[Block, Floats]], of: Ints, groups: int
) -> Floats:
    """Return what an executor of each group sends of an equal share of each stream, 0 for none.

    That of a relay which the placement changes is worked out as executors move.
    """
    taken, sending = problem.traffic.taken, np.ones(problem.executor_count)
    for relay in problem.relays:
        own = taken[relay.executors]
        if not (relay.is_changed or relay.is_steady) and own.any():
            sending[relay.executors] = own / own.mean()
    result = np.zeros((len(streams), groups))
    for index, (block, shares) in enumerate(streams):
        sources = slice(block.sources.start, block.sources.stop)
        result[index, of[sources]] = sending[sources] * shares
    return result


def _moves(its: Ints, moves: Bools) -> Bools:
    """Return which groups change a stream when they move: also those before it in a chain."""
    moves = moves.copy()
    for index, source in enumerate(its[:, 2].tolist()):
        if source >= 0:
            moves[index] |= moves[:index][its[:index, 3] == source].any(axis=0)
    return moves


def _taken(problem: Problem, relay: Relay) -> tuple[float, float]:
    """Return what an executor of a relay takes besides local-or-shuffle, and in all, on average."""
    taken = float(problem.traffic.taken[relay.executors].mean())
    return taken - sum(block.rate * len(block.sources) for block in relay.blocks), taken


def _roles(parts: list[range], of: Ints, groups: int) -> Bools:
    roles = np.zeros((len(parts), groups), dtype=np.bool_)
    for index, part in enumerate(parts):
        roles[index, of[part.start : part.stop]] = True
    return roles


def _pairs(problem: Problem, of: Ints, traffic: Traffic, anchored: Floats | None) -> Pairs:
    """Return what pairs of executors load when they are apart, local-or-shuffle left out."""
    costs, groups = costs_of(problem), int(of.max(initial=-1)) + 1
    other = traffic.source != traffic.target
    ends = [(of[traffic.source[other]], of[traffic.target[other]])]
    amounts = [(traffic.rate[other], traffic.size[other], _held(anchored, traffic.target[other]))]
    for block in traffic.blocks:
        if not block.local_first:
            source, target = _between(block, of)
            ends.append((source, target))
            many = np.ones(len(source))
            held = 1.0 if anchored is None else float(anchored[block.targets.start])
            amounts.append((block.rate * many, block.size * many, held * many))
    source, target = (np.concatenate(each) for each in zip(*ends, strict=True))
    rate, size, share = (np.concatenate(each) for each in zip(*amounts, strict=True))
    none, points = np.zeros(len(rate)), CORE_PERCENT / CORE_US * rate
    sending = points * (costs.send_us_per_kib / KIB * size)
    taking = points * (costs.receive_us_per_kib / KIB * size)
    carried = rate * (size + costs.link_bytes_per_tuple) / MBIT_BYTES
    # Seen from the one that sends, and from the one that takes.
    keys = np.concatenate((source, target)) * groups + np.concatenate((target, source))
    columns = (
        *((carried, none), (none, carried), (sending, taking), (taking, sending)),
        *((rate, none), (none, rate), (share * rate, none), (none, share * rate)),
    )
    unique, inverse = np.unique(keys, return_inverse=True)
    loads = np.empty((len(unique), len(columns)))
    for column, both in enumerate(columns):
        weights = np.concatenate(both)
        loads[:, column] = np.bincount(inverse.reshape(-1), weights=weights, minlength=len(unique))
    starts = np.searchsorted(unique, np.arange(groups + 1) * groups)
    return Pairs(starts.astype(np.int64), unique % max(groups, 1), loads)


def _held(anchored: Floats | None, target: Ints) -> Floats:
    return np.ones(len(target)) if anchored is None else anchored[target]


def _between(block: Block, of: Ints) -> tuple[Ints, Ints]:
    """Return all pairs of a group that sends and a group that takes, shape (pairs,) each."""
    sources = np.unique(of[block.sources.start : block.sources.stop])
    targets = np.unique(of[block.targets.start : block.targets.stop])
    return np.repeat(sources, len(targets)), np.tile(targets, len(sources))


def most_headroom(
    given: Resources,
    topologies: int,
    nodes: Ints,
    idle: float,
    effort: float,
    rng: np.random.Generator,
    weight: float = LIGHT,
) -> Ints:
    """Return executors' nodes with the fullest resource less full, then fewer tuples between nodes.

    Parameters
    ----------
    idle : float
        Share of a resource in use below which less is worth nothing.
    weight : float
        What all traffic weighs if it travels, as a part of the share of the fullest resource.

    Notes
    -----
    Takes O(neighbours of a group) for each of O(executors x effort) steps, times nodes where
    batches are counted or local-or-shuffle streams flow.
    """
    annealed = nodes.copy()
    tuples = _tuples(given, topologies)
    steps, seed = _steps(given, tuples, effort), seed_from(rng)
    _most_headroom(given, topologies, tuples, steps, idle, weight, annealed, seed)
    return annealed


def least_congestion(
    given: Resources,
    topologies: int,
    nodes: Ints,
    idle: float,
    travel: float,
    loose: float,
    effort: float,
    rng: np.random.Generator,
) -> Ints:
    """Return executors' nodes with less congestion, times what traffic between nodes weighs.

    Takes as long as `most_headroom`.

    Parameters
    ----------
    idle : float
        Congestion that is as good as none.
    travel : float
        What all traffic weighs if it travels.
    loose : float
        What a tuple counts that is in no tree.
    """
    annealed = nodes.copy()
    tuples = _tuples(given, topologies)
    steps, seed = _steps(given, tuples, effort), seed_from(rng)
    _least_congestion(given, topologies, tuples, steps, idle, travel, loose, annealed, seed)
    return annealed


def _tuples(given: Resources, topologies: int) -> Floats:
    """Return room for tuples/s from node to node of each topology; none if that is too much."""
    between = len(given.slots) ** 2
    return np.zeros((topologies if topologies * between <= MAX_BETWEEN else 0, between))


def _steps(given: Resources, tuples: Floats, effort: float) -> int:
    """Return how many moves to try: fewer where each looks at much."""
    nodes = len(given.slots)
    degree = np.diff(given.starts)
    # Where batches count, of a neighbour of several executors all nodes are looked at.
    looked = np.where(given.size[given.neighbours] > 1, nodes if len(tuples) else 1, 1)
    wide = np.bincount(np.repeat(np.arange(len(degree)), degree), looked, len(degree))
    streams = given.moves.sum(axis=0) * nodes
    looks = float(given.size @ (8 + wide + streams)) / max(1, len(given.group))
    most = min(STEPS * len(given.group), MAX_STEPS, MAX_LOOKS / looks)
    return int(most * effort)
