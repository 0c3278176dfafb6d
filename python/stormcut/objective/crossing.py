"""What components send each other, and how much of it leaves workers and nodes."""

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

#: Mbit of a byte.
MBIT = 8.0 / 1e6


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
    (section 5.3). Takes O(executors + pairs + components^2), and O(sources x targets) for each
    local-or-shuffle stream.
    """
    names = [(t.id, c.name) for t in problem.topologies for c in t.components]
    sizes = [c.executors for t in problem.topologies for c in t.components]
    owner = np.repeat(np.arange(len(names)), sizes)
    traffic, nodes = routed(problem.traffic, placement.slots), executor_nodes(problem, placement)
    sums = np.zeros((len(names), len(names), 4))
    np.add.at(
        sums,
        (owner[traffic.source], owner[traffic.target]),
        np.column_stack([*_pair_amounts(traffic, placement.slots, nodes)]),
    )
    for block in traffic.blocks:
        sent = traffic.sent_by_each(block)
        amounts = list(_block_amounts(block, sent, placement.slots, nodes))
        sums[owner[block.sources.start], owner[block.targets.start]] += amounts
    found = []
    for source, target in np.argwhere(sums[:, :, 0]).tolist():
        sent, off_worker, off_node, mbit = sums[source, target].tolist()
        known = None if math.isnan(mbit) else mbit
        ends = (*names[source], names[target][1])
        found.append(ComponentTraffic(*ends, sent, off_worker, off_node, known))
    return found


def _pair_amounts(traffic: Traffic, workers: Ints, nodes: Ints) -> Iterator[Floats]:
    """Yield tuples/s of pairs, those that leave workers and nodes, and Mbit/s of the latter."""
    yield traffic.rate
    for places in (workers, nodes):
        here, there = places[traffic.source], places[traffic.target]
        far = traffic.rate * ((here != there) | (here < 0))
        yield far
    yield np.where(far > 0, far * traffic.size * MBIT, 0.0)


def _block_amounts(block: Block, sent: Floats, workers: Ints, nodes: Ints) -> Iterator[float]:
    """Yield the same of all pairs of a block."""
    count = len(block.targets)
    yield float(sent.sum()) * count
    for places in (workers, nodes):
        here, there = places[block.sources], places[block.targets]
        beside = np.where(here < 0, 0, np.bincount(there + 1, minlength=places.max() + 2)[here + 1])
        far = float((sent * (count - beside)).sum())
        yield far
    yield far * block.size * MBIT if far > 0 else 0.0
