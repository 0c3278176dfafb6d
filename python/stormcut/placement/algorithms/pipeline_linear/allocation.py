"""Nodes of all tasks of an application: Algorithms 1 and 2 together.

Beyond the paper: more components than nodes are allocated N at a time, in their order, each such
layer by itself (Eq. 6 does not hold then: classes have more than G rows).

References
----------
N. Tantalaki et al., IEEE Access 2020, section III.A.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

import numpy as np

from stormcut.arrays import Ints
from stormcut.placement.algorithms.pipeline_linear.distribution import (
    MatrixShape,
    component_at,
    components_of_blocks,
    padded_tasks,
    task_nodes,
)
from stormcut.placement.algorithms.pipeline_linear.refinement import (
    Swap,
    refine,
    refine_as_printed,
    relabelled,
)

Refinement = Literal["fixed", "symmetric", "literal", "none"]


@dataclass(frozen=True, eq=False)
class LinearAllocation:
    """Where tasks run.

    Parameters
    ----------
    shape : Shape
    nodes : tuple of arrays of shape (tasks,)
        For each component the node of each of its tasks, 0 to N - 1 by proximity.
    labels : array of shape (N,)
        What each component of M'_inter is in M'_fin, for the first N components.
    swaps : tuple of Swap
        What refinement changed, of all layers; components of layer l are counted from l N.
    """

    shape: MatrixShape
    nodes: tuple[Ints, ...]
    labels: Ints
    swaps: tuple[Swap, ...]

    def steps(self) -> Ints:
        """Return the node that each node (column) sends to in each step (row), shape (N, N).

        The first t rows are M'_fin, the others the missing communications (section III.B).
        """
        row, node = np.indices((self.shape.nodes, self.shape.nodes))
        result: Ints = self.labels[component_at(self.shape, row, node)]
        return result


def allocate(
    tasks: Sequence[int],
    edges: Iterable[tuple[int, int]],
    nodes: int,
    refinement: Refinement = "fixed",
) -> LinearAllocation:
    """Return the node of every task.

    Parameters
    ----------
    tasks : sequence of int
        Tasks of each component, spouts first.
    edges : iterable of (source, target)
        Components that send to others.
    nodes : int
        N, at least 1; nodes with near numbers are near.
    refinement : {"fixed", "symmetric", "literal", "none"}
        Algorithm 2 mended, mended and looking at edges both ways, as printed, or left out.

    Notes
    -----
    Takes O(tasks + N^2) for each N components.

    Examples
    --------
    >>> [each.tolist() for each in allocate([3, 4, 3, 4], [(0, 1), (1, 2), (2, 3)], 8).nodes]
    [[0, 1, 2], [1, 2, 3, 0], [3, 0, 1], [2, 3, 0, 1]]
    """
    shape = MatrixShape(padded_tasks(max(tasks), nodes), nodes)
    edges = list(edges)
    result: list[Ints] = []
    labels: list[Ints] = []
    swaps: list[Swap] = []
    for first in range(0, len(tasks), nodes):
        layer = range(first, first + nodes)
        inside = {(a - first, b - first) for a, b in edges if a in layer and b in layer}
        changes = _refined(shape, inside, refinement)
        labels.append(relabelled(nodes, changes))
        origin = np.argsort(labels[-1])
        for component, count in enumerate(tasks[first : first + nodes]):
            result.append(task_nodes(shape, int(origin[component]), np.arange(count)))
        swaps += [
            Swap(s.source + first, s.out + first, s.brought + first, s.position) for s in changes
        ]
    return LinearAllocation(shape, tuple(result), labels[0], tuple(swaps))


def _refined(
    shape: MatrixShape, edges: AbstractSet[tuple[int, int]], refinement: Refinement
) -> list[Swap]:
    if refinement == "none":
        return []
    blocks = components_of_blocks(shape)
    if refinement == "literal":
        return refine_as_printed(blocks, edges)
    return refine(blocks, edges, symmetric=refinement == "symmetric")
