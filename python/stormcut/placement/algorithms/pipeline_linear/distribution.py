"""Task distribution by matrix transposition (Algorithm 1).

Tasks are dealt over nodes, t a component, and the matrix of component numbers is rearranged until
every row holds each number once: task k of component c then sits at the column j with c in row k.
Here are the closed forms of that matrix, M'_inter; tests compare them with the rearrangement.

Printed slips are read thus (numbers of the project's reading of the paper):

- E1: the first matrix holds floor((iN + j) / t) (Eq. 4), not (iN + j) / N.
- E2: N' = N / G. E3: floor in Eq. 6. E4: t rows.
- E6, E7: the proofs hold although their steps do not. E8: more rows and blocks move than section
  III.C counts, and the cost is O(tN), not linear in t' and N'.

References
----------
N. Tantalaki et al., "Pipeline-Based Linear Scheduling of Big Data Streams in the Cloud", IEEE
Access 2020, sections II and III.A.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np

from stormcut.arrays import Ints


@dataclass(frozen=True)
class MatrixShape:
    """Size of the matrices.

    Parameters
    ----------
    tasks : int
        t: tasks of every component, dummies included, at least 1.
    nodes : int
        N: nodes, and components, dummies included, at least 1.
    """

    tasks: int
    nodes: int

    @property
    def block(self) -> int:
        """Side of a square block: G = gcd(t, N)."""
        return gcd(self.tasks, self.nodes)

    @property
    def classes(self) -> int:
        """Rows of blocks: t' = t / G."""
        return self.tasks // self.block

    @property
    def columns(self) -> int:
        """Columns of blocks: N' = N / G."""
        return self.nodes // self.block

    @property
    def inverse(self) -> int:
        """Inverse of t' modulo N', 0 for N' = 1."""
        return pow(self.classes, -1, self.columns)


def padded_tasks(tasks: int, nodes: int) -> int:
    """Return the smallest number of tasks, dummies added, that shares a divisor with ``nodes``.

    Without a common divisor blocks hold one component, and nothing can be refined (section VII).
    One node has none but 1, and needs none.

    Examples
    --------
    >>> padded_tasks(4, 9), padded_tasks(6, 9), padded_tasks(3, 1)
    (6, 6, 3)
    """
    while nodes > 1 and gcd(tasks, nodes) == 1:
        tasks += 1
    return tasks


def component_at(shape: MatrixShape, row: Ints, node: Ints) -> Ints:
    """Return elements of M'_inter; rows 0 to N - 1 form a Latin square whatever t is.

    For N > t the rows from t on are the blocks that section III.B appends to make it square; for
    t > N rows repeat every N.
    """
    block, columns = shape.block, shape.columns
    within_row = (node // block - row // block) * shape.inverse % columns
    result: Ints = within_row + columns * ((row % block - node % block) % block)
    return result


def task_nodes(shape: MatrixShape, component: int, tasks: Ints) -> Ints:
    """Return the node of each of a component's tasks: the column of M'_inter that names it.

    Notes
    -----
    O(1) for each task.
    """
    block, columns = shape.block, shape.columns
    column = (tasks // block + component % columns * shape.classes) % columns
    result: Ints = column * block + (tasks % block - component // columns) % block
    return result


def components_of_blocks(shape: MatrixShape) -> Ints:
    """Return the components in each block of the first row of blocks, ascending, (N', G): M'.

    Every row of blocks holds the same sets.
    """
    first = np.arange(shape.columns) * shape.inverse % shape.columns
    return first[:, None] + shape.columns * np.arange(shape.block)
