"""A problem under a placement as the event engine takes it: arrays of executors, routes, cluster.

Capacities, and what tuples cost where they leave and enter workers, are the cost model's
(`stormcut.objective`); nothing of it is written twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stormcut.arrays import Bools, Floats, Ints
from stormcut.model.errors import InvalidInput
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.model.problem import CORE_PERCENT, Problem, Topology
from stormcut.objective.anchoring import SYSTEM, anchored_share, is_acker
from stormcut.objective.batching import batches_per_tuple
from stormcut.objective.cut import has_local_target
from stormcut.objective.demands import growth
from stormcut.objective.relaying import relay
from stormcut.objective.resources import (
    CPU,
    DEFAULT_BYTES,
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
from stormcut.objective.throughput import predict_throughput

NS, US_NS, MS_NS = 1e9, 1e3, 1e6

#: Pairs of executors that are written out; more are for the fluid engine.
MAX_PAIRS = 5_000_000

#: Of a pair's rate, where a stream prefers others.
NEVER_USED = 1e-12

#: What a group of pairs is to the tuple trees, as in events.cpp.
PLAIN, TO_ACKER, TO_SOURCE = 0, 1, 2

#: Storm's flusher waits so long between its rounds: `topology.disruptor.batch.timeout.millis`.
BATCH_TIMEOUT_MS = 1.0
#: And a round takes so long in a worker that has tuples to pass on: measured with timeouts of 1 and
#: 10 ms (docs/results/simulator-latency.md).
ROUND_MS = 1.15

#: `topology.message.timeout.secs`.
STORMS_TIMEOUT_S = 30.0

#: Part of a node's CPU that is left for tuples, whatever executors take that run none.
MIN_FREE = 0.1

#: Tuples that may wait where nobody says how many, and the time after which they come never again.
UNBOUNDED, NEVER = 2**62, -1.0

#: `docker run --cpus`: the CPU of a period of 100 ms, on any of the machine's cores at once.
QUOTA_MS = 100.0
#: Of the token bucket that limits a container's link, bytes, and milliseconds of its rate.
BUCKET_BYTES, BUCKET_MS = 32_768.0, 10.0


class Executors(NamedTuple):
    """Threads that run tuples; arrays of shape (executors,), ``groups`` with the end beside.

    ``service`` is the mean CPU of a tuple in ns while it has one of the ``servers``, ``rest`` what
    it takes after that, ``pause`` how long it keeps its server then without CPU, ``buffer`` how
    many tuples may wait, ``resend`` after how many ns one comes again that found no room, below 0
    for never, ``rate`` in tuples/s, ``window`` the tuple trees of a source that may be under way, 0
    in open loop, ``timeout`` what they have to be done in, in ns, 0 for ever, ``groups`` the first
    group of routes of each.
    """

    topology: Ints
    worker: Ints
    service: Floats
    rest: Floats
    pause: Floats
    buffer: Ints
    resend: Floats
    exponential: Bools
    servers: Ints
    is_source: Bools
    rate: Floats
    poisson: Bools
    window: Ints
    timeout: Floats
    groups: Ints


class Routes(NamedTuple):
    """Where tuples go: groups of an executor's pairs with one component, and their pairs.

    ``mean`` are the tuples of a group for one that its executor runs, ``kind`` what it is to the
    tuple trees, ``pairs`` the first pair of each, with the end beside. Of pairs: ``weight`` is the
    running sum of rates within the group, ``send`` and ``take`` CPU in ns, ``bytes`` on links,
    ``anchored`` the share of tuples that stay in their parent's tree, ``delay`` ns on the way to
    another node, ``loss`` the share that gets lost there.
    """

    mean: Floats
    kind: Ints
    pairs: Ints
    target: Ints
    weight: Floats
    send: Floats
    take: Floats
    bytes: Floats
    anchored: Floats
    delay: Floats
    loss: Floats


class SimulatedCluster(NamedTuple):
    """Slots' nodes, and whether a worker runs in them; nodes' cores and CPU periods in ns, links.

    Links and uplinks are in bytes/s.
    """

    node: Ints
    running: Bools
    cores: Floats
    quota: Floats
    parallel: Floats
    rack: Ints
    out: Floats
    into: Floats
    up: Floats
    down: Floats
    bucket: Floats
    tick: Floats


class System(NamedTuple):
    """All of it, and what is wanted of it: executions/s of all executors, if nothing is full."""

    executors: Executors
    routes: Routes
    cluster: SimulatedCluster
    wanted: Floats


def system_of(
    problem: Problem,
    placement: Placement,
    closed: bool = False,
    flush_ms: float | None = None,
    containers: bool = False,
) -> System:
    """Return what the engine simulates.

    Parameters
    ----------
    closed : bool
        Sources send as fast as their windows allow.
    flush_ms : float, optional
        How often workers hand their queues on. None: as Storm does unless told otherwise, every
        `BATCH_TIMEOUT_MS` and `ROUND_MS`, of topologies that name Storm's own executors
        (``__acker``); at once in others.
    containers : bool
        Nodes' CPU is a quota of `QUOTA_MS`, and links are token buckets, as `stormcut docker` has
        them.

    Raises
    ------
    InvalidInput
        There are too many pairs, no source emits, or closed loop lacks a window.
    """
    if problem.traffic.pair_count > MAX_PAIRS:
        raise InvalidInput(
            f"{problem.traffic.pair_count:,} pairs of executors are more than the {MAX_PAIRS:,} "
            "that events are simulated for: use --engine fluid"
        )
    emits = problem.executor_is_spout & (problem.executor_rate > 0)
    if not emits.any():
        raise InvalidInput("no source emits anything: a spout needs a stream with a rate")
    grown = _growth(problem, placement, closed)
    groups, routes = _routes(problem, placement, grown)
    storms = np.array([_is_storms(topology) for topology in problem.topologies])
    storms_ms = BATCH_TIMEOUT_MS + ROUND_MS if storms.any() else 0.0
    tick = storms_ms if flush_ms is None else flush_ms
    return System(
        _executors(problem, placement.slots, groups, closed, storms),
        routes,
        _cluster(problem, placement, tick * MS_NS, containers),
        problem.executor_rate * grown,
    )


def _is_storms(topology: Topology) -> bool:
    """Return whether a topology names Storm's own executors, as one of a real cluster does."""
    return any(component.name.startswith(SYSTEM) for component in topology.components)


def _growth(problem: Problem, placement: Placement, closed: bool) -> Floats:
    """Return by which factor each executor's rate is above the file's, in closed loop."""
    reached = predict_throughput(problem, placement) if closed else None
    if reached is None:
        return np.ones(problem.executor_count)
    return growth(problem, reached.sources, reached.rates)


def _executors(
    problem: Problem, slots: Ints, groups: Ints, closed: bool, storms: Bools
) -> Executors:
    components = [c for topology in problem.topologies for c in topology.components]
    counts = [component.executors for component in components]
    rate, threads = problem.executor_rate, problem.executor_threads
    us = problem.executor_cpu_us
    with np.errstate(divide="ignore", invalid="ignore"):
        of_load = np.where(rate > 0, problem.executor_cpu / CORE_PERCENT / rate * NS, 0.0)
    work = np.where(np.isnan(us), of_load, us * US_NS)
    servers = np.maximum(np.floor(threads), 1.0)
    # Beyond whole cores, processes take turns. Of less than one, a tuple waits for something else.
    service = np.where(threads < 1, work, work * servers / threads)
    return Executors(
        problem.executor_topology.copy(),
        slots.astype(np.int64),
        service,
        np.maximum(work - service, 0.0),
        np.where(threads < 1, work / np.minimum(threads, 1.0) - work, 0.0),
        np.repeat([component.buffer or UNBOUNDED for component in components], counts),
        _resends(problem),
        np.repeat([component.service == "exponential" for component in components], counts),
        servers.astype(np.int64),
        problem.executor_is_spout.copy(),
        np.where(problem.executor_is_spout, rate, 0.0),
        np.repeat([component.arrivals == "poisson" for component in components], counts),
        _windows(problem) if closed else np.zeros(problem.executor_count, dtype=np.int64),
        np.where(storms[problem.executor_topology], STORMS_TIMEOUT_S * NS, 0.0),
        groups,
    )


def _resends(problem: Problem) -> Floats:
    """Return after how many ns executors get again what found no room, below 0 for never."""
    given = [topology.resend_ms for topology in problem.topologies]
    counts = [topology.executor_count for topology in problem.topologies]
    return np.repeat([NEVER if ms is None else ms * MS_NS for ms in given], counts)


def _windows(problem: Problem) -> Ints:
    for topology in problem.topologies:
        if topology.max_spout_pending is None:
            raise InvalidInput(
                f"topology {topology.id} has no max_spout_pending: in closed loop its sources "
                "would send without limit"
            )
    counts = [topology.executor_count for topology in problem.topologies]
    windows = np.repeat(
        [topology.max_spout_pending or 0 for topology in problem.topologies], counts
    )
    emits = problem.executor_is_spout & (problem.executor_rate > 0)
    return np.where(emits, windows, 0).astype(np.int64)


class _SimulatedPairs(NamedTuple):
    """Every pair of executors that exchanges tuples: tuples/s, bytes; shape (pairs,)."""

    source: Ints
    target: Ints
    rate: Floats
    size: Floats


def _pairs(problem: Problem, placement: Placement) -> _SimulatedPairs:
    """Return all pairs; where a stream prefers its own worker, those that are used."""
    nowhere = np.full(problem.executor_count, UNASSIGNED, dtype=np.int64)
    traffic = relay(problem, nowhere)[0].sized(DEFAULT_BYTES)
    parts = [(traffic.source, traffic.target, traffic.rate, traffic.size)]
    for block in traffic.blocks:
        sources = np.repeat(np.array(block.sources, dtype=np.int64), len(block.targets))
        targets = np.tile(np.array(block.targets, dtype=np.int64), len(block.sources))
        rate = np.repeat(traffic.sent_by_each(block), len(block.targets))
        if block.local_first:
            prefers = np.repeat(has_local_target(block, placement.slots), len(block.targets))
            near = placement.slots[sources] == placement.slots[targets]
            held = near.reshape(len(block.sources), -1).sum(axis=1).repeat(len(block.targets))
            # Those that are not used stay, with next to nothing: they are when executors move.
            part = np.maximum(near * len(block.targets) / np.maximum(held, 1), NEVER_USED)
            rate[prefers] *= part[prefers]
        parts.append((sources, targets, rate, np.full(len(sources), block.size)))
    source, target, rate, size = (np.concatenate(each) for each in zip(*parts, strict=True))
    keep = rate > 0
    return _SimulatedPairs(source[keep], target[keep], rate[keep], size[keep])


def _routes(problem: Problem, placement: Placement, grown: Floats) -> tuple[Ints, Routes]:
    """Return the first group of every executor, with the end beside, and all routes."""
    pairs = _pairs(problem, placement)
    kind, component = _kinds(problem, pairs)
    order = np.lexsort((pairs.target, component, pairs.source))
    pairs = _SimulatedPairs(*(getattr(pairs, name)[order] for name in _SimulatedPairs._fields))
    kind, component = kind[order], component[order]
    fresh = np.ones(len(kind), dtype=np.bool_)
    same = (pairs.source[1:] == pairs.source[:-1]) & (component[1:] == component[:-1])
    fresh[1:] = ~same
    first = np.flatnonzero(fresh)
    group = np.cumsum(fresh) - 1
    total = np.bincount(group, pairs.rate, len(first))
    owners = pairs.source[first]
    # Tuples in no tree tell ackers nothing: those that are in one tell so much more.
    share = anchored_share(problem)
    in_trees = np.where(kind[first] == TO_ACKER, np.maximum(share[owners], 1e-9), 1.0)
    # What an executor sends that takes nothing follows from nothing: it is left out.
    takes = problem.executor_rate[owners]
    mean = np.where(takes > 0, total / np.where(takes > 0, takes, 1.0), 0.0) / in_trees
    running = np.cumsum(pairs.rate)
    before = np.concatenate(([0.0], running))[first]
    starts = np.searchsorted(owners, np.arange(problem.executor_count + 1)).astype(np.int64)
    send, take, content = _transfer(problem, placement, pairs, grown)
    stays = share[pairs.target] / np.maximum(share[pairs.source], 1e-9)
    return starts, Routes(
        mean,
        kind[first],
        np.append(first, len(kind)).astype(np.int64),
        pairs.target,
        running - before[group],
        send,
        take,
        content,
        np.where(kind == PLAIN, np.minimum(stays, 1.0), 1.0),
        _delay(problem, placement, pairs),
        np.array([t.loss for t in problem.topologies])[problem.executor_topology[pairs.source]],
    )


def _delay(problem: Problem, placement: Placement, pairs: _SimulatedPairs) -> Floats:
    """Return how many ns a tuple of each pair takes from node to node, on top of its links."""
    nodes = problem.slot_hosts[placement.slots]
    distance = np.abs(nodes[pairs.source] - nodes[pairs.target])
    us = problem.hop.node_us + problem.hop.distance_us * distance
    return np.where(distance > 0, us * US_NS, 0.0)


def _kinds(problem: Problem, pairs: _SimulatedPairs) -> tuple[Ints, Ints]:
    """Return what each pair is to the trees, and a number of the component that it leads to.

    All sources that an acker answers count as one: a tree has the one that it comes of.
    """
    acker = is_acker(problem)
    counts = [c.executors for topology in problem.topologies for c in topology.components]
    component = np.repeat(np.arange(len(counts), dtype=np.int64), counts)[pairs.target]
    kind = np.where(acker[pairs.target], TO_ACKER, PLAIN)
    answers = acker[pairs.source] & problem.executor_is_spout[pairs.target]
    kind[answers], component[answers] = TO_SOURCE, -1
    return kind.astype(np.int64), component


def _transfer(
    problem: Problem, placement: Placement, pairs: _SimulatedPairs, grown: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return CPU in ns where a tuple of each pair is sent and taken, and its bytes on links."""
    costs, slots = costs_of(problem), placement.slots
    source, target = slots[pairs.source], slots[pairs.target]
    grown = grown * _passed_on(problem, slots)
    each = batches_per_tuple(source, target, pairs.rate * grown[pairs.source], costs.batches_per_s)
    apart = source != target
    kib = pairs.size / KIB
    send = costs.send_us_per_tuple * each + costs.send_us_per_kib * kib
    take = costs.receive_us_per_tuple * each + costs.receive_us_per_kib * kib
    return (
        np.where(apart, send * US_NS, 0.0),
        np.where(apart, take * US_NS, 0.0),
        pairs.size + costs.link_bytes_per_tuple,
    )


def _passed_on(problem: Problem, slots: Ints) -> Floats:
    """Return how many times what it sends if none is preferred each executor sends."""
    nominal, (_, taken) = problem.traffic.taken, relay(problem, slots)
    counts = ~problem.executor_is_spout & (nominal > 0)
    return np.divide(taken, nominal, out=np.ones(len(taken)), where=counts)


def _cluster(
    problem: Problem, placement: Placement, tick_ns: float, containers: bool
) -> SimulatedCluster:
    by_kind = {use.kind: use for use in uses(problem, placement)}
    nodes = len(by_kind[CPU].capacity)
    slots = len(problem.slot_hosts)
    cores = _cores_left(problem, placement, by_kind[CPU].capacity) / CORE_PERCENT
    limited = np.isfinite(cores) if containers else np.zeros(nodes, dtype=np.bool_)
    racks, _ = rack_ordinals(problem)
    links = {
        kind: by_kind[kind].capacity * MBIT_BYTES
        for kind in (LINK_OUT, LINK_IN, UPLINK_OUT, UPLINK_IN)
    }
    rate = np.minimum(links[LINK_OUT], links[LINK_IN])
    bucket = np.maximum(BUCKET_BYTES, np.where(np.isfinite(rate), rate, 0.0) * BUCKET_MS / 1e3)
    return SimulatedCluster(
        problem.slot_hosts.astype(np.int64),
        np.ones(slots, dtype=np.bool_),
        cores,
        np.where(limited, QUOTA_MS * MS_NS, 0.0),
        np.full(nodes, np.inf),
        racks.astype(np.int64),
        links[LINK_OUT],
        links[LINK_IN],
        links[UPLINK_OUT],
        links[UPLINK_IN],
        bucket if containers else np.zeros(nodes),
        np.full(slots, tick_ns),
    )


def _cores_left(problem: Problem, placement: Placement, capacity: Floats) -> Floats:
    """Return what executors leave that load a node though they run no tuples, in points."""
    idle = (problem.executor_rate <= 0) & (problem.executor_cpu > 0)
    homes = problem.slot_hosts[placement.slots[idle]]
    taken = np.bincount(homes, problem.executor_cpu[idle], len(capacity))
    left: Floats = np.maximum(capacity - taken, MIN_FREE * capacity)
    return left
