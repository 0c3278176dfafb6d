"""What leaves workers and nodes, in all and of what components send each other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.model.traffic import Block, Traffic
from stormcut.objective.cut import executor_nodes, routed
from stormcut.objective.relaying import relay
from stormcut.objective.resources import DEFAULT_BYTES, MBIT_BYTES, flow


@dataclass(frozen=True)
class ComponentTraffic:
    """What one component sends another, on all its streams to it.

    Parameters
    ----------
    tuples_per_second, between_workers, between_nodes : float
        Tuples/s: all, those that leave their worker, those that leave their node.
    mbit_between_nodes : float or None
        Mbit/s of the latter, None if the size of some is not known.
    """

    topology: str
    source: str
    target: str
    tuples_per_second: float
    between_workers: float
    between_nodes: float
    mbit_between_nodes: float | None


def component_traffic(problem: Problem, placement: Placement) -> list[ComponentTraffic]:
    """Return what components send each other, in the order of topologies and components.

    Tuples between nodes add up to those of `stormcut.objective.metrics`; StroMAX calls them INB
    (section 5.3). Takes O(executors + n log n) for n pairs and blocks, and O(sources x targets) for
    each local-or-shuffle stream.
    """
    names = [(t.id, c.name) for t in problem.topologies for c in t.components]
    owner = problem.executor_component
    traffic, nodes = routed(problem.traffic, placement.slots), executor_nodes(problem, placement)
    blocks = [
        list(_block_amounts(each, traffic.sent_by_each(each), placement.slots, nodes))
        for each in traffic.blocks
    ]
    amounts = np.column_stack([*_pair_amounts(traffic, placement.slots, nodes)])
    amounts = np.concatenate([amounts, np.reshape(blocks, (len(blocks), 4))])
    firsts = np.array([(b.sources.start, b.targets.start) for b in traffic.blocks], dtype=np.int64)
    ends = np.concatenate(
        [np.column_stack([traffic.source, traffic.target]), firsts.reshape(-1, 2)]
    )
    keys, inverse = np.unique(owner[ends] @ [len(names), 1], return_inverse=True)
    sums = np.zeros((len(keys), 4))
    np.add.at(sums, inverse, amounts)
    flows = []
    for key, (sent, off_worker, off_node, mbit) in zip(keys.tolist(), sums.tolist(), strict=True):
        if sent > 0:
            (topology, source), (_, target) = names[key // len(names)], names[key % len(names)]
            known = None if math.isnan(mbit) else mbit
            flows.append(
                ComponentTraffic(topology, source, target, sent, off_worker, off_node, known)
            )
    return flows


def between_nodes(problem: Problem, placement: Placement) -> float:
    """Return the tuples/s that cross nodes, chains of local-or-shuffle streams as they flow.

    `stormcut.objective.metrics` counts them as if all executors of a component sent alike, which is
    what optima are proven for. Takes O(executors + pairs + blocks x nodes).
    """
    slots, nodes = placement.slots, executor_nodes(problem, placement)
    traffic = relay(problem, slots)[0].sized(DEFAULT_BYTES)
    hosts = int(problem.slot_hosts.max(initial=-1)) + 1
    return float(flow(traffic, slots, nodes, nodes, hosts).out.sum())


def _pair_amounts(traffic: Traffic, workers: Ints, nodes: Ints) -> Iterator[Floats]:
    """Yield tuples/s of pairs, those that leave workers and nodes, and Mbit/s of the latter."""
    yield traffic.rate
    for places in (workers, nodes):
        here, there = places[traffic.source], places[traffic.target]
        far = traffic.rate * ((here != there) | (here < 0))
        yield far
    yield np.where(far > 0, far * traffic.size / MBIT_BYTES, 0.0)


def _block_amounts(block: Block, sent: Floats, workers: Ints, nodes: Ints) -> Iterator[float]:
    """Yield the same of all pairs of a block."""
    count = len(block.targets)
    yield float(sent.sum()) * count
    for places in (workers, nodes):
        here, there = places[block.sources], places[block.targets]
        near = np.where(here < 0, 0, np.bincount(there + 1, minlength=places.max() + 2)[here + 1])
        far = float((sent * (count - near)).sum())
        yield far
    yield far * block.size / MBIT_BYTES if far > 0 else 0.0
