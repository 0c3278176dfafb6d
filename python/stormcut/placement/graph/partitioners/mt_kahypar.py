"""Mt-KaHyPar on one thread, which makes all its presets deterministic for a seed.

References
----------
L. Gottesbüren, T. Heuer, N. Maas, P. Sanders and S. Schlag, "Scalable high-quality hypergraph
partitioning", ACM Trans. Algorithms 20 (2024).
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from stormcut.placement.graph.partitioners.task import PartitionTask

#: The first is the default.
PRESETS = ("highest-quality", "quality", "default", "deterministic")

#: Mt-KaHyPar has no default of its own; this is the one of its documentation's examples.
DEFAULT_IMBALANCE = 0.03


def divide(task: PartitionTask) -> npt.NDArray[np.int64]:
    """Return Mt-KaHyPar's part of each vertex, shape (n,); for the native server."""
    import mtkahypar

    library = _initialized()
    context = library.context_from_preset(
        getattr(mtkahypar.PresetType, task.preset.replace("-", "_").upper())
    )
    mtkahypar.set_seed(task.seed)
    imbalance = DEFAULT_IMBALANCE if task.imbalance is None else task.imbalance
    context.set_partitioning_parameters(task.parts, imbalance, mtkahypar.Objective.CUT)
    context.logging = False
    if not task.equal:
        context.set_individual_target_block_weights(_most(task, imbalance))
    graph = _graph(library, context, task)
    divided = graph.partition(context)
    return np.array([divided.block_id(v) for v in range(len(task.vertex_weights))], dtype=np.int64)


@cache
def _initialized() -> Any:
    """Start the library, which a process may do only once."""
    import mtkahypar

    return mtkahypar.initialize(1, print_warnings=False)


def _most(task: PartitionTask, imbalance: float) -> list[int]:
    """Return the largest weight of each part: as Mt-KaHyPar counts for equal ones."""
    total = int(task.vertex_weights.sum())
    return [math.floor((1 + imbalance) * math.ceil(share * total - 1e-9)) for share in task.shares]


def _graph(library: Any, context: Any, task: PartitionTask) -> Any:
    source = np.repeat(np.arange(len(task.vertex_weights)), np.diff(task.starts))
    once = source < task.neighbours
    edges = list(zip(source[once].tolist(), task.neighbours[once].tolist(), strict=True))
    return library.create_graph(
        context,
        len(task.vertex_weights),
        len(edges),
        edges,
        task.vertex_weights.tolist(),
        task.edge_weights[once].tolist(),
    )
