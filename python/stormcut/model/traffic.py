"""Traffic between executors, measured pairs beside folded declared streams.

A declared stream between S and T executors is S x T pairs of one rate. Kept folded, a cluster of
14 million pairs is a few thousand blocks, and a cut costs O(blocks x nodes + executors).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from stormcut.model.problem import Topology

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Block:
    """Every executor in ``sources`` sends ``rate`` tuples/s to every one in ``targets``.

    With ``local_first`` (Storm's local-or-shuffle) a source instead spreads ``rate * len(targets)``
    over the targets in its own worker if there are any, else over all.
    """

    sources: range
    targets: range
    rate: float
    local_first: bool = False


@dataclass(frozen=True, eq=False)
class Traffic:
    """Pairs ``source[k] -> target[k]`` of ``rate[k]`` tuples/s, each shape (pairs,), and blocks."""

    source: Ints
    target: Ints
    rate: Floats
    blocks: tuple[Block, ...]

    @classmethod
    def join(cls, parts: Iterable[Traffic]) -> Traffic:
        """Return the union of several topologies' traffic."""
        parts = list(parts)
        if not parts:
            return cls(_ints([]), _ints([]), np.zeros(0), ())
        return cls(
            np.concatenate([part.source for part in parts]),
            np.concatenate([part.target for part in parts]),
            np.concatenate([part.rate for part in parts]),
            tuple(block for part in parts for block in part.blocks),
        )

    @property
    def total(self) -> float:
        """Tuples/s over all pairs."""
        blocks = sum(b.rate * len(b.sources) * len(b.targets) for b in self.blocks)
        return float(self.rate.sum() + blocks)

    def unfolded(self) -> tuple[Ints, Ints, Floats]:
        """Return (source, target, rate) with every block written out as pairs.

        A local-first block is written as if no target were local. Takes O(pairs) memory: for
        partitioners that need an explicit graph.
        """
        sources, targets, rates = [self.source], [self.target], [self.rate]
        for block in self.blocks:
            count = len(block.sources) * len(block.targets)
            sources.append(np.repeat(_ints(block.sources), len(block.targets)))
            targets.append(np.tile(_ints(block.targets), len(block.sources)))
            rates.append(np.full(count, block.rate))
        return np.concatenate(sources), np.concatenate(targets), np.concatenate(rates)


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int64)


def fold_streams(topology: Topology, offset: int) -> Traffic:
    """Return the traffic of one topology whose first executor has ordinal ``offset``.

    Raises
    ------
    KeyError
        A stream or a measured pair names a component that the topology does not have.
    """
    base = {name: offset + at for name, at in topology.offsets.items()}
    size = {component.name: component.executors for component in topology.components}
    measured = topology.measured
    overridden = {(pair.source[0], pair.target[0]) for pair in measured}
    blocks = []
    for stream in topology.streams:
        if (stream.source, stream.target) in overridden:
            continue
        sources = range(base[stream.source], base[stream.source] + size[stream.source])
        targets = range(base[stream.target], base[stream.target] + size[stream.target])
        share = stream.tuples_per_second / len(sources)
        if stream.grouping == "all":
            blocks.append(Block(sources, targets, share))
        elif stream.grouping == "global":
            blocks.append(Block(sources, targets[:1], share))
        else:
            local_first = stream.grouping == "local_or_shuffle"
            blocks.append(Block(sources, targets, share / len(targets), local_first))
    return Traffic(
        _ints(base[pair.source[0]] + pair.source[1] for pair in measured),
        _ints(base[pair.target[0]] + pair.target[1] for pair in measured),
        np.fromiter((pair.tuples_per_second for pair in measured), dtype=np.float64),
        tuple(blocks),
    )
