"""Traffic by bytes: links carry bytes, and an acknowledgement is no data tuple."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stormcut.arrays import Ints
from stormcut.model.problem import Problem
from stormcut.model.traffic import Traffic


def is_measured(problem: Problem) -> bool:
    """Return whether the size of a tuple was measured between any two executors."""
    pairs = (pair for topology in problem.topologies for pair in topology.measured)
    return any(pair.bytes_per_tuple is not None for pair in pairs)


def weighed(problem: Problem) -> tuple[Traffic, float]:
    """Return the traffic with every rate in tuples of mean size, and that size in bytes.

    These are weights and no rates: no load follows from them.
    A tuple's size is the mean of what is known between two components: few tuples are sampled, and
    a pair of executors that exchanges few has no sample of its own. Between components without any
    it is the mean of all. Where no size is known, the traffic as it is and 1. Takes
    O(streams + pairs log pairs).
    """
    traffic, component = problem.traffic, _components(problem)
    blocks = traffic.blocks
    source = np.concatenate((component[traffic.source], [component[b.sources[0]] for b in blocks]))
    target = np.concatenate((component[traffic.target], [component[b.targets[0]] for b in blocks]))
    rate = np.concatenate(
        (traffic.rate, [b.rate * len(b.sources) * len(b.targets) for b in blocks])
    )
    size = np.concatenate((traffic.size, [b.size for b in blocks]))
    edges, edge = np.unique(source * (len(component) + 1) + target, return_inverse=True)
    edge, known = edge.reshape(-1), ~np.isnan(size) & (rate > 0)
    tuples = np.bincount(edge[known], rate[known], len(edges))
    content = np.bincount(edge[known], rate[known] * size[known], len(edges))
    if tuples.sum() <= 0 or content.sum() <= 0:
        return traffic, 1.0
    mean = float(content.sum() / tuples.sum())
    factor = np.divide(content / mean, tuples, out=np.ones(len(edges)), where=tuples > 0)[edge]
    pairs = len(traffic.rate)
    heavy = tuple(
        replace(block, rate=block.rate * each)
        for block, each in zip(blocks, factor[pairs:].tolist(), strict=True)
    )
    return replace(traffic, rate=traffic.rate * factor[:pairs], blocks=heavy), mean


def _components(problem: Problem) -> Ints:
    """Return a number of the component of each executor, shape (executors,)."""
    sizes = [part.executors for topology in problem.topologies for part in topology.components]
    return np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
