"""Components whose executors send more or less than each other, in the order tuples pass them.

Those are all that take a local-or-shuffle stream; those that take measured pairs from such; and of
those that send a local-or-shuffle stream all that take measured pairs, or a stream that one of them
gets alone. (Of other folded streams all targets take the same, whichever sources send it.)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

import numpy as np

from stormcut.arrays import Bools, Ints
from stormcut.model.traffic import Block, Traffic


@dataclass(frozen=True, eq=False)
class Relay:
    """A component whose executors send in proportion to what they take, which is not the same.

    Parameters
    ----------
    executors : slice
    blocks : tuple of Block
        The local-or-shuffle ones that it takes.
    pairs : array of int
        Ordinals of the pairs that it takes from components that the placement changes.
    is_changed : bool
        Whether what its executors take depends on the placement.
    is_steady : bool
        Whether they send equal shares all the same: sources, and what is in a circle of relays or
        behind one.
    """

    executors: slice
    blocks: tuple[Block, ...]
    pairs: Ints
    is_changed: bool
    is_steady: bool


def relays_of(traffic: Traffic, starts: Ints, is_spout: Bools) -> tuple[Relay, ...]:
    """Return all relays, each after those it takes from.

    Takes O(pairs log pairs + relays x pairs + blocks).

    Parameters
    ----------
    starts : array of shape (components,)
        First executor of each.
    is_spout : array of shape (executors,)
    """
    blocks: dict[int, list[Block]] = defaultdict(list)
    for block in traffic.blocks:
        if block.local_first:
            blocks[block.targets.start].append(block)
    if not blocks:
        return ()
    source, target = (
        starts[np.searchsorted(starts, ends, "right") - 1]
        for ends in (traffic.source, traffic.target)
    )
    edges = np.unique(np.column_stack((source, target)), axis=0).tolist()
    local = [[block.sources.start, ordinal] for ordinal, its in blocks.items() for block in its]
    changed = _reached(blocks, [edge for edge in edges + local if not is_spout[edge[0]]])
    order, circles = _ordered(changed)
    follows = np.isin(source, [ordinal for ordinal in changed if not is_spout[ordinal]])
    ends = dict(zip(starts.tolist(), [*starts[1:].tolist(), len(is_spout)], strict=True))
    unequal = {*np.unique(target).tolist()}
    unequal |= {to.start for b in traffic.blocks if (to := b.targets).stop < ends[to.start]}
    first = {
        ordinal for ordinal, _ in local if ordinal in unequal and not is_spout[ordinal]
    } - changed.keys()
    return tuple(
        Relay(
            slice(ordinal, ends[ordinal]),
            tuple(blocks.get(ordinal, ())),
            np.flatnonzero(follows & (target == ordinal)),
            ordinal in changed,
            ordinal in circles or bool(is_spout[ordinal]),
        )
        for ordinal in [*sorted(first), *order, *sorted(circles)]
    )


def _reached(first: Iterable[int], edges: list[list[int]]) -> dict[int, set[int]]:
    """Return which relays each relay takes from, as components' first executors."""
    following = defaultdict(set)
    for source, target in edges:
        following[source].add(target)
    left = [*first]
    before: dict[int, set[int]] = {ordinal: set() for ordinal in left}
    while left:
        relay = left.pop()
        for target in following[relay]:
            if target not in before:
                before[target] = set()
                left.append(target)
            before[target].add(relay)
    return before


def _ordered(before: dict[int, set[int]]) -> tuple[list[int], set[int]]:
    """Return relays in the order in which tuples pass them, and those that have none."""
    sorter: TopologicalSorter[int] = TopologicalSorter(before)
    with suppress(CycleError):  # What no circle is before is handed out all the same.
        sorter.prepare()
    order: list[int] = []
    while ready := sorted(sorter.get_ready()):
        order += ready
        sorter.done(*ready)
    return order, before.keys() - set(order)
