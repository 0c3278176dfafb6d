"""METIS.

References
----------
G. Karypis and V. Kumar, "A fast and high quality multilevel scheme for partitioning irregular
graphs", SIAM J. Sci. Comput. 20 (1998).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stormcut.placement.graph.partitioners.task import PartitionTask

#: Recursive bisection, and METIS's direct k-way scheme; the first is the default.
PRESETS = ("recursive", "kway")


def divide(task: PartitionTask) -> npt.NDArray[np.int64]:
    """Return METIS's part of each vertex, shape (n,); parts may be empty.

    For the native server: METIS ends the process on inputs that it dislikes.
    """
    import pymetis

    options = pymetis.Options()
    options.seed = task.seed
    if task.imbalance is not None:
        # Each bisection may add as much again: together they are to stay within the imbalance.
        levels = math.ceil(math.log2(task.parts)) if task.preset == "recursive" else 1
        options.ufactor = max(1, int(1000 * ((1 + task.imbalance) ** (1 / levels) - 1)))
    result = pymetis.part_graph(
        task.parts,
        adjacency=pymetis.CSRAdjacency(adj_starts=task.starts, adjacent=task.neighbours),
        vweights=task.vertex_weights,
        eweights=task.edge_weights,
        tpwgts=None if task.equal else task.shares.tolist(),
        recursive=task.preset == "recursive",
        options=options,
    )
    return np.asarray(result.vertex_part, dtype=np.int64)
