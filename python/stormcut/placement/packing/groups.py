"""Executors that can stand for one another, folded into groups.

Two executors of a component with equal loads that exchange the same traffic with every other may
change places without any effect. Of a group only the number on each node matters, so that search
costs O(groups) where it would cost O(executors); an executor with measured traffic of its own is a
group of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from stormcut.arrays import Floats, Ints
from stormcut.model.problem import Problem
from stormcut.model.traffic import Traffic
from stormcut.placement.packing.capacity import loads


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of interchangeable executors and the traffic between them.

    Parameters
    ----------
    of : array of shape (executors,)
        Group of each executor; groups are numbered by their first executor.
    size : array of shape (groups,)
        Number of executors.
    load : array of shape (groups, 3)
        CPU, 1 and memory of one executor.
    topology : array of shape (groups,)
    pair_rate : csr_array of shape (groups, groups)
        Symmetric: tuples/s, both directions added, between one executor of a group and one of the
        other; on the diagonal between two executors of the same group.
    """

    of: Ints
    size: Ints
    load: Floats
    topology: Ints
    pair_rate: csr_array

    @cached_property
    def members(self) -> tuple[Ints, ...]:
        """Executors of each group in ascending order."""
        order = np.argsort(self.of, kind="stable")
        return tuple(np.split(order, np.cumsum(self.size)[:-1]))

    @cached_property
    def total(self) -> float:
        """Tuples/s between different executors, all groups together."""
        rates = self.pair_rate.tocoo()
        sizes = self.size.astype(np.float64)
        pairs = sizes[rates.row] * (sizes[rates.col] - (rates.row == rates.col))
        return float((rates.data * pairs).sum() / 2)

    def local(self, counts: npt.NDArray[np.integer]) -> float:
        """Return the tuples/s that stay on a node.

        Parameters
        ----------
        counts : array of shape (groups, nodes)
            Executors of each group on each node.
        """
        held = counts.astype(np.float64)
        own = self.pair_rate.diagonal() @ held.sum(axis=1)
        return float(((self.pair_rate @ held) * held).sum() - own) / 2


@dataclass(frozen=True, eq=False)
class LocalFirst:
    """A local-or-shuffle stream: each source on a node with a target keeps ``rate`` tuples/s there.

    ``sources`` and ``targets`` are groups, ascending.
    """

    sources: Ints
    targets: Ints
    rate: float


def local_first_streams(problem: Problem, of: Ints) -> Iterator[LocalFirst]:
    """Yield the local-or-shuffle streams; of one from a component to itself nothing ever leaves.

    Parameters
    ----------
    of : array of shape (executors,)
        Group of each executor.
    """
    for block in problem.traffic.blocks:
        if block.local_first and block.rate > 0 and block.sources != block.targets:
            sources, targets = (
                np.unique(of[part.start : part.stop]) for part in (block.sources, block.targets)
            )
            yield LocalFirst(sources, targets, block.rate * len(block.targets))


def fold(problem: Problem, apart: npt.ArrayLike = (), weights: Traffic | None = None) -> Groups:
    """Return the groups of a problem.

    A local-or-shuffle stream counts as if no target were in the source's worker.

    Parameters
    ----------
    problem : Problem
    apart : sequence of executor ordinals
        Executors to keep in groups of their own, such as pinned ones.
    weights : Traffic, optional
        What counts between executors instead of the problem's rates, from which loads follow.
    """
    traffic = problem.traffic if weights is None else weights
    of = _labels(problem, np.asarray(apart, dtype=np.int64))
    first = np.unique(of, return_index=True)[1]
    size = np.bincount(of, minlength=len(first))
    topology = problem.executor_topology[first]
    return Groups(of, size, loads(problem)[first], topology, _pair_rates(traffic, of))


def _labels(problem: Problem, apart: Ints) -> Ints:
    count = problem.executor_count
    traffic = problem.traffic
    keys = [problem.executor_cpu, problem.executor_memory]
    starts = np.zeros(count + 1)
    starts[problem.topology_offsets] = 1
    for topology, offset in zip(problem.topologies, problem.topology_offsets, strict=False):
        starts[int(offset) + np.fromiter(topology.offsets.values(), np.int64)] = 1
    for block in traffic.blocks:  # of a global grouping's targets only the first is in the block
        starts[
            [block.sources.start, block.sources.stop, block.targets.start, block.targets.stop]
        ] = 1
    keys.append(np.cumsum(starts[:count]))
    alone = np.zeros(count)
    for executors in (traffic.source, traffic.target, apart):
        alone[executors] = 1
    keys.append(np.where(alone > 0, np.arange(count) + 1.0, 0.0))
    _, first, inverse = np.unique(
        np.stack(keys, axis=1), axis=0, return_index=True, return_inverse=True
    )
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.reshape(-1)]


def sent_between(traffic: Traffic, of: Ints) -> csr_array:
    """Return the tuples/s from one executor of a group to one of another, (groups, groups).

    Whatever an executor sends to itself is left out.

    Parameters
    ----------
    of : array of shape (executors,)
        Group of each executor.
    """
    keep = traffic.source != traffic.target
    rows, cols = [of[traffic.source[keep]]], [of[traffic.target[keep]]]
    rates = [traffic.rate[keep]]
    for block in traffic.blocks:
        sources = np.unique(of[block.sources.start : block.sources.stop])
        targets = np.unique(of[block.targets.start : block.targets.stop])
        rows.append(np.repeat(sources, len(targets)))
        cols.append(np.tile(targets, len(sources)))
        rates.append(np.full(len(sources) * len(targets), block.rate))
    groups = int(of.max(initial=-1)) + 1
    ends = (np.concatenate(rows), np.concatenate(cols))
    return coo_array((np.concatenate(rates), ends), shape=(groups, groups)).tocsr()


def _pair_rates(traffic: Traffic, of: Ints) -> csr_array:
    """Add up both directions; within a group a pair is met twice, once each way."""
    one_way = sent_between(traffic, of)
    result = (one_way + one_way.T).tocsr()
    result.eliminate_zeros()
    result.sort_indices()
    return result
