"""What a placement loads: threads, nodes' CPU, links and racks' uplinks, each way on its own.

The statement that placement, decisions, predictions and reports share: load grows with the rates,
and a resource is full when its load reaches its capacity. Streams stay folded, as in `cut`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from stormcut.arrays import Floats, Ints
from stormcut.model.network import SHIPPED, UNKNOWN, Costs
from stormcut.model.placement import Placement
from stormcut.model.problem import CORE_PERCENT, CORE_US, Problem
from stormcut.model.traffic import Block, Traffic
from stormcut.objective.batching import Connections, batches, connections
from stormcut.objective.cut import executor_nodes, has_local_target
from stormcut.objective.relaying import relay

#: Bytes of a tuple where no tuple's size is known at all.
DEFAULT_BYTES = 100.0

#: Part of a node's CPU that executors have however many workers run there. Idle workers take little
#: of a full node: timers that fall due while it has no CPU left run once for all. Half fits 29
#: placements on nodes of 0.3, 0.2 and 0.1 cores: ratios to `even` have an rms error of 19 % (a
#: tenth: 92 %, a third: 58 %, three fifths: 20 %).
MIN_LEFT = 0.5

KIB = 1024.0
MBIT_BYTES = 1e6 / 8

EXECUTOR, CPU = "executor", "cpu"
LINK_OUT, LINK_IN = "link_out", "link_in"
UPLINK_OUT, UPLINK_IN = "uplink_out", "uplink_in"


@dataclass(frozen=True, eq=False)
class Use:
    """Load and capacity of every resource of one kind.

    Parameters
    ----------
    kind : str
        ``executor`` and ``cpu`` are in points (100 = a core), links and uplinks in Mbit/s.
    load, capacity : array of shape (executors,), (nodes,) or (racks,)
        Capacity is infinite where nothing is known of it; of CPU, it is what workers leave.
    anchored : array of the same shape, optional
        Of the tuples that pass each, the share that is in tuple trees. None: all.
    """

    kind: str
    load: Floats
    capacity: Floats
    anchored: Floats | None = None

    @property
    def share(self) -> Floats:
        """Part of each resource in use; 0 where nothing loads it, infinite where none is left."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.load > 0, self.load / self.capacity, 0.0)


@dataclass(frozen=True, eq=False)
class PlaceFlow:
    """What leaves and enters places: tuples/s and bytes/s each way, each of shape (places,)."""

    out: Floats
    into: Floats
    bytes_out: Floats
    bytes_into: Floats


def costs_of(problem: Problem) -> Costs:
    """Return the costs that a problem states, else `SHIPPED`."""
    return problem.costs or SHIPPED


def uses(problem: Problem, placement: Placement, anchored: Floats | None = None) -> tuple[Use, ...]:
    """Return the use of every kind of resource under a placement, feasible or not.

    Executors that run nowhere count as absent. Takes O(executors + pairs + blocks x places).

    Parameters
    ----------
    anchored : array of shape (executors,), optional
        Which share of what each takes is anchored (`stormcut.objective.anchoring`): then links and
        uplinks say which share of their tuples is. None: all.
    """
    costs, nodes = costs_of(problem), executor_nodes(problem, placement)
    flowing, taken = relay(problem, placement.slots)
    traffic, load = flowing.sized(DEFAULT_BYTES), _loads(problem, taken)
    racks, _ = rack_ordinals(problem)
    hosts, placed, homes_of = len(racks), nodes >= 0, problem.slot_hosts
    workers = flow(traffic, placement.slots, placement.slots, nodes, hosts)
    cpu = _sums(nodes[placed], load[placed], hosts)
    cpu += transfer_percent(workers, connections(traffic, placement.slots), homes_of, costs)
    homes = np.full(len(nodes), -1, dtype=np.int64)
    homes[placed] = racks[nodes[placed]]
    most = capacities(problem, placement)
    carried_by = partial(_links, traffic, placement.slots, costs, anchored)
    return (
        Use(EXECUTOR, np.where(placed, load, 0.0), most[EXECUTOR]),
        Use(CPU, cpu, most[CPU]),
        *carried_by(nodes, {kind: most[kind] for kind in (LINK_OUT, LINK_IN)}),
        *carried_by(homes, {kind: most[kind] for kind in (UPLINK_OUT, UPLINK_IN)}),
    )


def capacities(problem: Problem, placement: Placement) -> dict[str, Floats]:
    """Return what every resource carries, by kind in the order of `uses`; infinite: unknown.

    Of a node's CPU, what the workers that a placement starts there leave.
    """
    racks, names = rack_ordinals(problem)
    nodes, missing = problem.nodes, [None] * (len(racks) - len(problem.nodes))
    workers = np.unique(placement.slots[placement.slots >= 0])
    known = dict(problem.uplinks)
    uplinks = [known.get(name, UNKNOWN) for name in names]
    return {
        EXECUTOR: CORE_PERCENT * problem.executor_threads,
        CPU: left_by_workers(
            _capacity([*(node.cpu_percent for node in nodes), *missing]),
            np.bincount(problem.slot_hosts[workers], minlength=len(racks)),
            costs_of(problem),
        ),
        LINK_OUT: _capacity([*(node.link.out for node in nodes), *missing]),
        LINK_IN: _capacity([*(node.link.into for node in nodes), *missing]),
        UPLINK_OUT: _capacity([link.out for link in uplinks]),
        UPLINK_IN: _capacity([link.into for link in uplinks]),
    }


def _links(
    traffic: Traffic,
    workers: Ints,
    costs: Costs,
    anchored: Floats | None,
    places: Ints,
    capacities: Mapping[str, Floats],
) -> tuple[Use, Use]:
    """Return the use of all places' links, out and in, given capacities in that order by kind."""
    (out, most_out), (into, most_into) = capacities.items()
    count = len(most_out)
    every = flow(traffic, workers, places, places, count)
    uses = (
        Use(out, mbit(every.out, every.bytes_out, costs), most_out),
        Use(into, mbit(every.into, every.bytes_into, costs), most_into),
    )
    if anchored is None:
        return uses
    held = flow(traffic, workers, places, places, count, anchored)
    return (
        replace(uses[0], anchored=held.out / np.maximum(every.out, 1e-300)),
        replace(uses[1], anchored=held.into / np.maximum(every.into, 1e-300)),
    )


def left_by_workers(
    capacity: Floats | float, workers: npt.NDArray[np.integer[Any]] | int, costs: Costs
) -> Floats:
    """Return the CPU that idle workers leave, and never less than `MIN_LEFT` of all."""
    left: Floats = np.maximum(capacity - costs.worker_percent * workers, MIN_LEFT * capacity)
    return left


def transfer_percent(flow: PlaceFlow, met: Connections, homes: Ints, costs: Costs) -> Floats:
    """Return the CPU in points that tuples cost where they leave and enter workers.

    Parameters
    ----------
    flow : Flow
        Between workers, added up by node.
    met : Connections
        Between workers.
    homes : array of shape (slots,)
        Node ordinal of every slot.
    """
    many, count = batches(met.rate, costs.batches_per_s), len(flow.out)
    us = (
        costs.send_us_per_tuple * np.bincount(homes[met.source], many, count)
        + costs.send_us_per_kib / KIB * flow.bytes_out
        + costs.receive_us_per_tuple * np.bincount(homes[met.target], many, count)
        + costs.receive_us_per_kib / KIB * flow.bytes_into
    )
    result: Floats = us * (CORE_PERCENT / CORE_US)
    return result


def mbit(tuples: Floats, content: Floats, costs: Costs) -> Floats:
    """Return what links carry in Mbit/s for that many tuples/s and bytes/s."""
    result: Floats = (content + costs.link_bytes_per_tuple * tuples) / MBIT_BYTES
    return result


def _capacity(values: list[float | None]) -> Floats:
    return np.array([np.inf if value is None else value for value in values], dtype=np.float64)


def rack_ordinals(problem: Problem) -> tuple[Ints, list[str]]:
    """Return the rack of every node of `Problem.slot_hosts`, and the racks' names.

    Nodes that name none share one, and so do nodes that are gone.
    """
    given = [node.rack or "" for node in problem.nodes]
    hosts = max(len(given), int(problem.slot_hosts.max(initial=-1)) + 1)
    names = sorted({"", *given}) if hosts > len(given) else sorted(set(given))
    number = {name: index for index, name in enumerate(names)}
    ordinals = [number[name] for name in (*given, *[""] * (hosts - len(given)))]
    return np.array(ordinals, dtype=np.int64), names


def executor_loads(problem: Problem, placement: Placement) -> Floats:
    """Return the CPU of every executor in points without transfer, shape (executors,).

    Differs from `Problem.executor_cpu` where a local-or-shuffle stream finds targets in the same
    worker: others take less, and send less of it on.
    """
    return _loads(problem, relay(problem, placement.slots)[1])


def _loads(problem: Problem, taken: Floats) -> Floats:
    us = problem.executor_cpu_us
    if not problem.relays or np.isnan(us).all():
        return problem.executor_cpu
    rate = np.where(problem.executor_is_spout, problem.executor_rate, taken)
    known = ~np.isnan(us)
    return np.where(known, us * rate * (CORE_PERCENT / CORE_US), problem.executor_cpu)


def flow(
    traffic: Traffic,
    workers: Ints,
    places: Ints,
    homes: Ints,
    count: int,
    part: Floats | None = None,
) -> PlaceFlow:
    """Return the traffic between executors in different places, added up by home.

    Parameters
    ----------
    traffic : Traffic
        As it flows, with all sizes known.
    workers, places, homes : array of shape (executors,)
        Slot, what must differ, and where it is counted, as ordinals; negative: nowhere.
    count : int
        Number of homes.
    part : array of shape (executors,), optional
        Which share of what each executor takes counts, alike for all targets of a block.
    """
    source, target = traffic.source, traffic.target
    apart = (places[source] != places[target]) & (places[source] >= 0) & (places[target] >= 0)
    rate = traffic.rate[apart] if part is None else traffic.rate[apart] * part[target[apart]]
    content = rate * traffic.size[apart]
    out, bytes_out, into, bytes_into = (
        _sums(homes[ends[apart]], weights, count)
        for ends in (source, target)
        for weights in (rate, content)
    )
    for block in traffic.blocks:
        sent = traffic.sent_by_each(block)
        left, came = _block_flow(block, sent, workers, places, homes, count)
        if part is not None:
            left, came = left * part[block.targets.start], came * part[block.targets.start]
        out, into = out + left, into + came
        bytes_out, bytes_into = bytes_out + block.size * left, bytes_into + block.size * came
    return PlaceFlow(out, into, bytes_out, bytes_into)


def _block_flow(
    block: Block, sent: Floats, workers: Ints, places: Ints, homes: Ints, count: int
) -> tuple[Floats, Floats]:
    sources = np.arange(block.sources.start, block.sources.stop)
    targets = np.arange(block.targets.start, block.targets.stop)
    sends = places[sources] >= 0
    if block.local_first:
        sends &= ~has_local_target(block, workers)
    sources, sent, targets = sources[sends], sent[sends], targets[places[targets] >= 0]
    most = int(max(places[sources].max(initial=-1), places[targets].max(initial=-1))) + 1
    sending = np.bincount(places[sources], sent, minlength=most)
    receiving = np.bincount(places[targets], minlength=most)
    left: Floats = sent * (len(targets) - receiving[places[sources]])
    came: Floats = sent.sum() - sending[places[targets]]
    return _sums(homes[sources], left, count), _sums(homes[targets], came, count)


def _sums(homes: Ints, weights: Floats, count: int) -> Floats:
    return np.bincount(homes, weights=weights, minlength=count).astype(np.float64)
