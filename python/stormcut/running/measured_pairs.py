"""What executors were measured to send each other, in columns: a profile has one row per two tasks.

A round folds the rows of every topology, 7,500 of each 1,000 executors that send to ten others:
loops over them in Python are what it would spend most of its time on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stormcut.arrays import Floats, Ints
from stormcut.model.cluster import RunningExecutor
from stormcut.model.problem import MeasuredPair, Stream
from stormcut.model.profile import TaskTraffic
from stormcut.objective.anchoring import ACKER

#: The id by which ackers know an anchored tuple. `link_bytes_per_tuple` includes it, though tuples
#: to and from ackers have none: these count as that much smaller.
MESSAGE_ID_BYTES = 16
#: Pairs of executors of two components that are made up where each source is to send alike.
MAX_EVENED = 20_000


@dataclass(frozen=True)
class EdgeTraffic:
    """Tuples/s from one component to another; bytes per tuple are None if no size is known."""

    tuples_per_second: float
    bytes_per_tuple: float | None


@dataclass(frozen=True, eq=False)
class PairTable:
    """Pairs of executors, by (source, target), all with a rate above 0.

    Parameters
    ----------
    executors : sequence of (str, int)
        Component and index within it, by ordinal.
    component_of : array of int, (executors,)
        Ordinal of the component.
    components : sequence of str
    source, target : array of int, (pairs,)
        Ordinals of executors.
    rate, size : array of float, (pairs,)
        Tuples/s; bytes per tuple, 0 where no size is known.
    """

    executors: Sequence[tuple[str, int]]
    component_of: Ints
    components: Sequence[str]
    source: Ints
    target: Ints
    rate: Floats
    size: Floats

    def pairs(self, without: Set[tuple[str, str]]) -> tuple[MeasuredPair, ...]:
        """Return all pairs but those between the components given."""
        ordinal = {name: index for index, name in enumerate(self.components)}
        count = len(self.components)
        left_out = [ordinal[one] * count + ordinal[other] for one, other in without]
        kept = ~np.isin(self._edges, left_out)
        names = self.executors
        columns = (each[kept].tolist() for each in (self.source, self.target, self.rate, self.size))
        return tuple(
            MeasuredPair(names[one], names[other], rate, size or None)
            for one, other, rate, size in zip(*columns, strict=True)
        )

    def evened(self, sources: Set[str]) -> PairTable:
        """Return the same, but executors of some components send each target alike.

        Where that makes more than `MAX_EVENED` pairs of two components, they stay.
        """
        ordinal = {name: index for index, name in enumerate(self.components)}
        of, from_these = self.component_of, [ordinal[name] for name in sources]
        evened = np.isin(of[self.source], from_these)
        tables = [self._kept(~evened)]
        for edge in np.unique(self._edges[evened]).tolist():
            between = self._kept(self._edges == edge)
            executors = np.flatnonzero(of == edge // len(self.components))
            targets = np.unique(between.target)
            few = len(executors) * len(targets) <= MAX_EVENED
            tables.append(between._spread(executors, targets) if few else between)
        return replace(
            self,
            source=np.concatenate([table.source for table in tables]),
            target=np.concatenate([table.target for table in tables]),
            rate=np.concatenate([table.rate for table in tables]),
            size=np.concatenate([table.size for table in tables]),
        )

    def _kept(self, which: npt.NDArray[np.bool_]) -> PairTable:
        return replace(
            self,
            source=self.source[which],
            target=self.target[which],
            rate=self.rate[which],
            size=self.size[which],
        )

    def _spread(self, executors: Ints, targets: Ints) -> PairTable:
        """Return what targets take as if each of the executors sent them as much."""
        positions = np.searchsorted(targets, self.target)
        rate = np.bincount(positions, self.rate, len(targets))
        sized = np.where(self.size > 0, self.rate, 0.0)
        size = _means(
            np.bincount(positions, sized * self.size, len(targets)),
            np.bincount(positions, sized, len(targets)),
        )
        each = len(executors)
        return replace(
            self,
            source=np.repeat(executors, len(targets)),
            target=np.tile(targets, each),
            rate=np.tile(rate / each, each),
            size=np.tile(size, each),
        )

    def measured(self, declared: Sequence[Stream]) -> tuple[Stream, ...]:
        """Return streams as measured; several between the same components share the rate evenly."""
        traffic, none = self._by_edge(), EdgeTraffic(0.0, None)
        count = Counter((stream.source, stream.target) for stream in declared)
        return tuple(
            replace(
                stream,
                tuples_per_second=traffic.get(edge, none).tuples_per_second / count[edge],
                bytes_per_tuple=traffic.get(edge, none).bytes_per_tuple,
            )
            for stream in declared
            for edge in ((stream.source, stream.target),)
        )

    def sent(self, source: str, target: str) -> Floats:
        """Return the tuples/s that each executor of a component sends another, (executors,)."""
        one, other = self.components.index(source), self.components.index(target)
        between = self._kept(self._edges == one * len(self.components) + other)
        own = np.flatnonzero(self.component_of == one)
        sent = np.bincount(between.source, between.rate, len(self.component_of))
        return sent[own].astype(np.float64)

    def received(self) -> dict[str, float]:
        """Return the tuples/s that each component takes; those that take none are missing."""
        rates = np.bincount(self.component_of[self.target], self.rate, len(self.components))
        return {
            name: rate for name, rate in zip(self.components, rates.tolist(), strict=True) if rate
        }

    @property
    def _edges(self) -> Ints:
        """One number for the two components of each pair."""
        of = self.component_of
        return of[self.source] * len(self.components) + of[self.target]

    def _by_edge(self) -> dict[tuple[str, str], EdgeTraffic]:
        names, count = self.components, len(self.components)
        edges, of = np.unique(self._edges, return_inverse=True)
        rates = np.bincount(of, self.rate, len(edges))
        sized = np.where(self.size > 0, self.rate, 0.0)
        means = _means(
            np.bincount(of, sized * self.size, len(edges)), np.bincount(of, sized, len(edges))
        )
        return {
            (names[edge // count], names[edge % count]): EdgeTraffic(rate, mean or None)
            for edge, rate, mean in zip(edges.tolist(), rates.tolist(), means.tolist(), strict=True)
        }


def pair_table(
    traffic: Sequence[TaskTraffic], by_component: Mapping[str, Sequence[RunningExecutor]]
) -> PairTable:
    """Return what executors send each other, from what their tasks do; not what stays in one.

    O(traffic log traffic). Tasks of no executor count for nothing.
    """
    executors = [(name, index) for name, of in by_component.items() for index in range(len(of))]
    flat = (executor for of in by_component.values() for executor in of)
    owner = {
        task: ordinal
        for ordinal, executor in enumerate(flat)
        for task in range(executor.start_task, executor.end_task + 1)
    }
    count = len(executors)
    source = np.array([owner.get(each.source_task, -1) for each in traffic], dtype=np.int64)
    target = np.array([owner.get(each.target_task, -1) for each in traffic], dtype=np.int64)
    rate = np.array([each.tuples_per_second for each in traffic], dtype=np.float64)
    size = np.array([each.bytes_per_tuple or 0.0 for each in traffic], dtype=np.float64)
    between = (source >= 0) & (target >= 0) & (source != target) & (rate > 0)
    keys, pair = np.unique((source * count + target)[between], return_inverse=True)
    # The mean size of a tuple is that of the parts whose size is known.
    sized = np.where(size > 0, rate, 0.0)[between]
    known = np.bincount(pair, sized, len(keys))
    content = np.bincount(pair, sized * size[between], len(keys))
    sizes = [len(of) for of in by_component.values()]
    one, other = keys // max(count, 1), keys % max(count, 1)
    is_acker = np.array([name == ACKER for name, _ in executors], dtype=bool)
    mean = _means(content, known)
    is_sized_ack = (mean > 0) & (is_acker[one] | is_acker[other])
    return PairTable(
        executors,
        np.repeat(np.arange(len(sizes)), sizes),
        tuple(by_component),
        one,
        other,
        np.bincount(pair, rate[between], len(keys)).astype(np.float64),
        np.where(is_sized_ack, size_without_id(mean), mean),
    )


def size_without_id(size: Floats | float) -> Floats:
    """Return sizes of acks less the id that they do not have; 0 would be an unknown size."""
    result: Floats = np.maximum(size - MESSAGE_ID_BYTES, 1.0)
    return result


def _means(sums: npt.NDArray[Any], counts: npt.NDArray[Any]) -> Floats:
    result: Floats = np.divide(sums, counts, out=np.zeros(len(sums)), where=counts > 0)
    return result
