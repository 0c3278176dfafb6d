"""The numbers by which placements are compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.cut import (
    executor_nodes,
    inter_node_tuples_per_second,
    inter_worker_tuples_per_second,
)

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Metrics:
    """Traffic that travels, what is used, and what the change costs."""

    inter_node_tuples_per_second: float
    inter_worker_tuples_per_second: float
    nodes_used: int
    workers_used: int
    workers_restarted: int


def measure(problem: Problem, placement: Placement) -> Metrics:
    """Return the metrics of a placement, feasible or not, from the placement alone."""
    slots, nodes = placement.slots, executor_nodes(problem, placement)
    return Metrics(
        inter_node_tuples_per_second(problem, placement),
        inter_worker_tuples_per_second(problem, placement),
        len(np.unique(nodes[nodes >= 0])),
        len(np.unique(slots[slots >= 0])),
        workers_restarted(problem.current_slots(), slots),
    )


def workers_restarted(before: Ints, after: Ints) -> int:
    """Return the number of slots whose set of executors changed.

    Executors that ran nowhere before are left out: to start them is no restart. Both arguments
    hold one slot ordinal per executor. A slot's set changed exactly if some executor left it or
    joined it.
    """
    moved = (before >= 0) & (before != after)
    touched = np.concatenate((before[moved], after[moved]))
    return len(np.unique(touched[touched >= 0]))
