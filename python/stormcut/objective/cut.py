"""The cut: traffic that leaves a node, or a worker.

Streams stay folded. Of a block with S sources and T targets that exchange ``rate`` each, the pairs
that stay in one place are ``sum over places (sources there) * (targets there)``, so that a cut
costs O(executors + blocks x places) whatever the number of pairs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from stormcut.arrays import Ints
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.model.problem import Problem
from stormcut.model.traffic import Block, Traffic


def executor_nodes(problem: Problem, placement: Placement) -> Ints:
    """Return the node ordinal of every executor, `UNASSIGNED` for none, shape (executors,)."""
    slots = placement.slots
    nodes = np.full(len(slots), UNASSIGNED, dtype=np.int64)
    assigned = slots >= 0
    nodes[assigned] = problem.slot_hosts[slots[assigned]]
    return nodes


def moves_executors(problem: Problem, present: Placement, proposed: Placement) -> bool:
    """Return whether any executor would change its node."""
    return bool(np.any(executor_nodes(problem, present) != executor_nodes(problem, proposed)))


def inter_node_tuples_per_second(problem: Problem, placement: Placement) -> float:
    """Return the tuples/s between executors on different nodes.

    An executor that is not assigned counts as remote from every other.
    """
    return _crossing(problem, placement, executor_nodes(problem, placement))


def inter_worker_tuples_per_second(problem: Problem, placement: Placement) -> float:
    """Return the tuples/s between executors in different workers, those between nodes included.

    An executor that is not assigned counts as remote from every other.
    """
    return _crossing(problem, placement, placement.slots)


def _crossing(problem: Problem, placement: Placement, places: Ints) -> float:
    traffic = problem.traffic
    here, there = places[traffic.source], places[traffic.target]
    pairs = float(traffic.rate[(here != there) | (here < 0)].sum())
    workers = placement.slots
    return pairs + sum(_block_crossing(block, workers, places) for block in traffic.blocks)


def _block_crossing(block: Block, workers: Ints, places: Ints) -> float:
    sources = places[block.sources.start : block.sources.stop]
    targets = places[block.targets.start : block.targets.stop]
    if block.local_first:
        sources = sources[~has_local_target(block, workers)]
    return block.rate * (len(sources) * len(targets) - _pairs_together(sources, targets))


def has_local_target(block: Block, workers: Ints) -> npt.NDArray[np.bool_]:
    """Return which sources of a block share a worker with a target, shape (sources,)."""
    sources = workers[block.sources.start : block.sources.stop]
    targets = workers[block.targets.start : block.targets.stop]
    return (sources >= 0) & np.isin(sources, targets)


def routed(traffic: Traffic, workers: Ints) -> Traffic:
    """Return traffic with local-or-shuffle streams as the pairs that are used.

    A source sends to the targets in its own worker, if there are any, else to all. Takes
    O(sources x targets) for each of these streams.

    Parameters
    ----------
    workers : array of shape (executors,)
        Slot ordinals, negative for none.
    """
    local = [block for block in traffic.blocks if block.local_first]
    if not local:
        return traffic
    parts = [(traffic.source, traffic.target, traffic.rate, traffic.size)]
    for block in local:
        sources = np.arange(block.sources.start, block.sources.stop)
        targets = np.arange(block.targets.start, block.targets.stop)
        here = workers[sources][:, None] == workers[targets]
        here &= (workers[sources] >= 0)[:, None]
        here |= ~here.any(axis=1, keepdims=True)
        row, to = np.nonzero(here)
        each = traffic.sent_by_each(block) * len(targets) / here.sum(axis=1)
        parts.append((sources[row], targets[to], each[row], np.full(len(row), block.size)))
    source, target, rate, size = (np.concatenate(each) for each in zip(*parts, strict=True))
    plain = tuple(block for block in traffic.blocks if not block.local_first)
    return replace(traffic, source=source, target=target, rate=rate, size=size, blocks=plain)


def _pairs_together(sources: Ints, targets: Ints) -> int:
    """Return the number of (source, target) pairs in the same place."""
    sources, targets = sources[sources >= 0], targets[targets >= 0]
    if not len(sources) or not len(targets):
        return 0
    places = int(max(sources.max(), targets.max())) + 1
    return int(np.bincount(sources, minlength=places) @ np.bincount(targets, minlength=places))
