"""Traffic between executors, measured pairs beside folded declared streams.

A declared stream between S and T executors is S x T pairs of one rate. Kept folded, a cluster of
14 million pairs is a few thousand blocks, and a cut costs O(blocks x nodes + executors).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from stormcut.arrays import Floats, Ints

if TYPE_CHECKING:
    from stormcut.model.problem import Stream, Topology


@dataclass(frozen=True)
class Block:
    """Every executor in ``sources`` sends ``rate`` tuples/s to every one in ``targets``.

    With ``local_first`` (Storm's local-or-shuffle, and Storm 2.x's load-aware shuffle) a source
    instead spreads ``rate * len(targets)`` over the targets in its own worker if there are any,
    else over all. A tuple has ``size`` bytes, NaN if that is not known.
    """

    sources: range
    targets: range
    rate: float
    local_first: bool = False
    size: float = math.nan

    @property
    def pairs_apart(self) -> int:
        """Pairs that exchange tuples between workers if no two executors share one."""
        shared = len(range(max(self.sources.start, self.targets.start),
                           min(self.sources.stop, self.targets.stop)))  # fmt: skip
        if self.local_first:
            return (len(self.sources) - shared) * len(self.targets)
        return len(self.sources) * len(self.targets) - shared


@dataclass(frozen=True, eq=False)
class Traffic:
    """Pairs ``source[k] -> target[k]`` of ``rate[k]`` tuples/s, each shape (pairs,), and blocks.

    A pair's tuples have ``size[k]`` bytes, NaN where that is not known. There are ``executors``.
    Of its blocks, each sends ``sending`` times the rate, shape (executors,); None: all the same.
    """

    source: Ints
    target: Ints
    rate: Floats
    blocks: tuple[Block, ...]
    size: Floats
    executors: int
    sending: Floats | None = None

    @classmethod
    def join(cls, parts: Iterable[Traffic], executors: int) -> Traffic:
        """Return the union of several topologies' traffic between that many executors."""
        parts = list(parts)
        return cls(
            np.concatenate([_ints([]), *(part.source for part in parts)]),
            np.concatenate([_ints([]), *(part.target for part in parts)]),
            np.concatenate([np.zeros(0), *(part.rate for part in parts)]),
            tuple(block for part in parts for block in part.blocks),
            np.concatenate([np.zeros(0), *(part.size for part in parts)]),
            executors,
        )

    def shifted(self, by: int) -> Traffic:
        """Return the same between executors whose ordinals are larger ``by`` so much."""
        blocks = (
            replace(
                block,
                sources=range(block.sources.start + by, block.sources.stop + by),
                targets=range(block.targets.start + by, block.targets.stop + by),
            )
            for block in self.blocks
        )
        return replace(
            self,
            source=self.source + by,
            target=self.target + by,
            blocks=tuple(blocks),
            executors=self.executors + by,
        )

    def times(self, factor: float) -> Traffic:
        """Return the same with every rate multiplied."""
        blocks = tuple(replace(block, rate=block.rate * factor) for block in self.blocks)
        return replace(self, rate=self.rate * factor, blocks=blocks)

    def without_local_first(self) -> Traffic:
        """Return the same without the streams of which everything may stay local."""
        return replace(self, blocks=tuple(b for b in self.blocks if not b.local_first))

    def sent_by_each(self, block: Block) -> Floats:
        """Return the tuples/s from each source of a block to each target, shape (sources,)."""
        if self.sending is None:
            return np.full(len(block.sources), block.rate)
        return block.rate * self.sending[block.sources.start : block.sources.stop]

    @property
    def total(self) -> float:
        """Tuples/s over all pairs."""
        blocks = sum(b.rate * len(b.sources) * len(b.targets) for b in self.blocks)
        return float(self.rate.sum() + blocks)

    @property
    def pair_count(self) -> int:
        """Pairs of executors once every block is written out."""
        return len(self.rate) + sum(len(b.sources) * len(b.targets) for b in self.blocks)

    @cached_property
    def taken(self) -> Floats:
        """Tuples/s that each executor takes if no target is preferred, shape (executors,)."""
        result: Floats = np.zeros(self.executors)
        np.add.at(result, self.target, self.rate)
        for block in self.blocks:
            result[block.targets.start : block.targets.stop] += block.rate * len(block.sources)
        return result

    def exchanged_with(self, executors: Sequence[int]) -> Floats:
        """Return the tuples/s between each executor and some, both ways, shape (executors,)."""
        ours = np.zeros(self.executors, dtype=bool)
        ours[list(executors)] = True
        result: Floats = np.zeros(self.executors)
        for ends, others in ((self.source, self.target), (self.target, self.source)):
            its = ours[ends]
            np.add.at(result, others[its], self.rate[its])
        for block in self.blocks:
            sources, targets = (
                slice(each.start, each.stop) for each in (block.sources, block.targets)
            )
            sent = self.sent_by_each(block)
            result[targets] += sent[ours[sources]].sum()
            result[sources] += sent * ours[targets].sum()
        return result

    def mean_size(self, default: float) -> float:
        """Return the mean of all known sizes in bytes, ``default`` without any."""
        blocks = [(len(b.sources) * len(b.targets) * b.rate, b.size) for b in self.blocks]
        rates = np.concatenate((self.rate, [rate for rate, _ in blocks]))
        sizes = np.concatenate((self.size, [size for _, size in blocks]))
        known = ~np.isnan(sizes) & (rates > 0)
        if not known.any():
            return default
        return float(rates[known] @ sizes[known] / rates[known].sum())

    def sized(self, default: float) -> Traffic:
        """Return this traffic with every size known; what has none has the mean of the others."""
        mean = self.mean_size(default)
        return replace(
            self,
            size=np.where(np.isnan(self.size), mean, self.size),
            blocks=tuple(replace(b, size=mean) if b.size != b.size else b for b in self.blocks),
        )

    def unfolded(self) -> tuple[Ints, Ints, Floats]:
        """Return (source, target, rate) with every block written out as pairs.

        A local-first block is written as if no target were local. Takes O(pairs) memory: for
        partitioners that need an explicit graph.
        """
        return self.unfolded_sizes()[:3]

    def unfolded_sizes(self) -> tuple[Ints, Ints, Floats, Floats]:
        """Return (source, target, rate, size) as `unfolded` does."""
        parts = [(self.source, self.target, self.rate, self.size)]
        for block in self.blocks:
            sent = self.sent_by_each(block)
            parts.append(
                (
                    np.repeat(_ints(block.sources), len(block.targets)),
                    np.tile(_ints(block.targets), len(block.sources)),
                    np.repeat(sent, len(block.targets)),
                    np.full(len(sent) * len(block.targets), block.size),
                )
            )
        source, target, rate, size = (np.concatenate(each) for each in zip(*parts, strict=True))
        return source, target, rate, size


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int64)


def fold_streams(topology: Topology, offset: int) -> Traffic:
    """Return the traffic of one topology whose first executor has ordinal ``offset``.

    A measured pair without a size has the mean of the declared ones between its components.

    Raises
    ------
    KeyError
        A stream or a measured pair names a component that the topology does not have.
    """
    base = {name: offset + place for name, place in topology.offsets.items()}
    size = {component.name: component.executors for component in topology.components}
    measured = topology.measured
    overridden = _measured_edges(topology)
    local = {"local_or_shuffle", *(("shuffle",) if topology.shuffle == "load_aware" else ())}
    blocks = []
    for stream in topology.streams:
        if (stream.source, stream.target) in overridden:
            continue
        sources = range(base[stream.source], base[stream.source] + size[stream.source])
        targets = range(base[stream.target], base[stream.target] + size[stream.target])
        content = math.nan if stream.bytes_per_tuple is None else stream.bytes_per_tuple
        for alike, sent in _runs(sources, stream):
            if stream.grouping == "all":
                blocks.append(Block(alike, targets, sent, False, content))
            elif stream.grouping == "global":
                blocks.append(Block(alike, targets[:1], sent, False, content))
            else:
                local_first = stream.grouping in local
                blocks.append(Block(alike, targets, sent / len(targets), local_first, content))
    declared = declared_sizes(topology)
    sizes = [
        declared.get((pair.source[0], pair.target[0]), math.nan)
        if pair.bytes_per_tuple is None
        else pair.bytes_per_tuple
        for pair in measured
    ]
    return Traffic(
        _ints([base[pair.source[0]] + pair.source[1] for pair in measured]),
        _ints([base[pair.target[0]] + pair.target[1] for pair in measured]),
        np.array([pair.tuples_per_second for pair in measured], dtype=np.float64),
        tuple(blocks),
        np.array(sizes, dtype=np.float64),
        offset + topology.executor_count,
    )


def _runs(sources: range, stream: Stream) -> Iterator[tuple[range, float]]:
    """Yield source executors that follow each other and send the same, and what each sends."""
    if stream.shares is None:
        yield sources, stream.tuples_per_second / len(sources)
        return
    begin = sources.start
    for sent, alike in groupby(stream.sent_by_each(len(sources)).tolist()):
        end = begin + len(list(alike))
        yield range(begin, end), sent
        begin = end


def _measured_edges(topology: Topology) -> set[tuple[str, str]]:
    return {(pair.source[0], pair.target[0]) for pair in topology.measured}


def declared_sizes(topology: Topology) -> dict[tuple[str, str], float]:
    """Return the mean declared size of tuples in bytes between two components, where known."""
    sums: dict[tuple[str, str], tuple[float, float]] = {}
    for stream in topology.streams:
        if stream.bytes_per_tuple is not None and stream.tuples_per_second > 0:
            rate, content = sums.get((stream.source, stream.target), (0.0, 0.0))
            more = stream.tuples_per_second
            content += more * stream.bytes_per_tuple
            sums[stream.source, stream.target] = rate + more, content
    return {edge: content / rate for edge, (rate, content) in sums.items()}


def emitted(topology: Topology) -> Floats:
    """Return the tuples/s that each executor emits, however many take them, (executors,).

    A stream that several components subscribe to counts once, with the largest of their rates.
    What was measured between two components counts for the streams declared between them, or for
    Storm's default stream.
    """
    size = {component.name: component.executors for component in topology.components}
    overridden = _measured_edges(topology)
    declared: dict[tuple[str, str], list[Stream]] = {}
    rates: dict[tuple[str, str], Floats] = {}

    def note(source: str, stream: str, rate: Floats) -> None:
        known = rates.setdefault((source, stream), np.zeros(size[source]))
        np.maximum(known, rate, out=known)

    for stream in topology.streams:
        edge = (stream.source, stream.target)
        declared.setdefault(edge, []).append(stream)
        if edge not in overridden:
            note(stream.source, stream.stream, stream.sent_by_each(size[stream.source]))
    between = {edge: np.zeros(size[edge[0]]) for edge in overridden}
    for pair in topology.measured:
        between[pair.source[0], pair.target[0]][pair.source[1]] += pair.tuples_per_second
    for (source, target), rate in between.items():
        streams = declared.get((source, target), [])
        copied = bool(streams) and all(stream.grouping == "all" for stream in streams)
        name = " ".join(sorted(stream.stream for stream in streams)) or "default"
        note(source, name, rate / size[target] if copied else rate)
    result: Floats = np.zeros(topology.executor_count)
    for (source, _), rate in rates.items():
        result[topology.offsets[source] : topology.offsets[source] + size[source]] += rate
    return result
