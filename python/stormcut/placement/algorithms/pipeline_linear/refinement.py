"""Communication refinement: components that communicate share a block of nodes (Algorithm 2).

Two components change places everywhere in the matrix (the only reading that gives the printed
result), which keeps all that Algorithm 1 establishes. At most floor(G / 2) changes are made for
each pair of blocks.

Algorithm 2 as printed (``literal``) leaves a used-up quota to the next pair, never updates its
tables, so that later changes undo earlier ones, and sees an edge only if its source is in the lower
block. Its jump to line 3 is read as going on with the next pair: a restart never ends on the
paper's own example. ``fixed`` counts for each pair, keeps its tables, and never moves a component
that was brought together with another; on both of the paper's examples the two agree.

References
----------
N. Tantalaki et al., IEEE Access 2020, sections II.C (Proposition 2) and III.A, Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from stormcut.arrays import Ints

#: Pairs (source, target) of components, where the paper's Bitmap is 1.
Edges = AbstractSet[tuple[int, int]]


@dataclass(frozen=True)
class Swap:
    """Component ``out`` changed places with ``brought``, which now shares a block with ``source``.

    ``position`` is the paper's (i, j, x, y): two blocks, and where in them source and target were.
    """

    source: int
    out: int
    brought: int
    position: tuple[int, int, int, int]


def strangers(component: int, block: Sequence[int], edges: Edges) -> list[int]:
    """Return a row of R^-: who in a component's block has no edge with it, descending."""
    return [
        other
        for other in sorted(block, reverse=True)
        if other != component
        and (component, other) not in edges
        and (other, component) not in edges
    ]


def refine_as_printed(blocks: Ints, edges: Edges) -> list[Swap]:
    """Return the changes that Algorithm 2 makes as printed; takes O(E log E + E G).

    Parameters
    ----------
    blocks : array of shape (N', G)
        M'.
    edges : set of (source, target)
        Where Bitmap is 1.
    """
    rows, quota = blocks.tolist(), blocks.shape[1] // 2
    positions = _positions(rows)
    met = sorted(
        (positions[a][0], positions[b][0], positions[a][1], positions[b][1])
        for a, b in edges
        if positions[a][0] < positions[b][0]
    )
    swaps: list[Swap] = []
    used = 0
    for _, pair in groupby(met, key=lambda position: position[:2]):
        k = 0
        for i, j, x, y in pair:
            if used == quota:
                used = 0
                break
            source, target = rows[i][x], rows[j][y]
            apart = strangers(source, rows[i], edges)
            if k < len(apart):
                swaps.append(Swap(source, apart[k], target, (i, j, x, y)))
                k, used = k + 1, used + 1
    return swaps


def refine(blocks: Ints, edges: Edges, symmetric: bool = False) -> list[Swap]:
    """Return the changes of Algorithm 2 with its faults mended; takes O(E (E + G)).

    Parameters
    ----------
    blocks : array of shape (N', G)
        M'.
    edges : set of (source, target)
        Where Bitmap is 1.
    symmetric : bool
        Also look at edges whose source is in the higher block.
    """
    rows = blocks.tolist()
    positions = _positions(rows)
    looked_at = edges | {(b, a) for a, b in edges} if symmetric else edges
    settled: set[int] = set()
    swaps: list[Swap] = []
    last: tuple[int, ...] = ()
    while ahead := [
        position
        for a, b in looked_at
        if positions[a][0] < positions[b][0]
        and (position := (positions[a][0], positions[b][0], positions[a][1], positions[b][1]))
        > last
    ]:
        quota = sum(swap.position[:2] == min(ahead)[:2] for swap in swaps)
        i, j, x, y = last = min(ahead)
        source, target = rows[i][x], rows[j][y]
        free = [each for each in strangers(source, rows[i], edges) if each not in settled]
        if quota == blocks.shape[1] // 2 or target in settled or not free:
            continue
        swaps.append(Swap(source, free[0], target, (i, j, x, y)))
        settled |= {source, target}
        positions[target], positions[free[0]] = positions[free[0]], positions[target]
        for component in (target, free[0]):
            block, place = positions[component]
            rows[block][place] = component
    return swaps


def _positions(rows: list[list[int]]) -> dict[int, tuple[int, int]]:
    """Return the (block, place in it) of each component."""
    return {c: (block, place) for block, row in enumerate(rows) for place, c in enumerate(row)}


def relabelled(components: int, swaps: Iterable[Swap]) -> Ints:
    """Return what each component of M'_inter is in M'_fin, shape (components,)."""
    label = np.arange(components, dtype=np.int64)
    labels = np.arange(components, dtype=np.int64)
    for swap in swaps:
        one, other = labels[swap.out], labels[swap.brought]
        label[one], label[other] = swap.brought, swap.out
        labels[swap.out], labels[swap.brought] = other, one
    return label
