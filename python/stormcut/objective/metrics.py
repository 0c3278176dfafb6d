"""The numbers by which placements are compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stormcut.arrays import Ints
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.cut import (
    executor_nodes,
    inter_node_tuples_per_second,
    inter_worker_tuples_per_second,
)


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
    """Return the number of slots whose set of executors changed, as Storm restarts workers.

    Executors that ran nowhere before restart nothing where they start a worker of their own; the
    worker that they join does restart. Both arguments hold one slot ordinal per executor.
    """
    changed, ran = before != after, before >= 0
    moved = changed & ran
    joined = changed & ~ran & np.isin(after, before[ran])
    touched = np.concatenate((before[moved], after[moved], after[joined]))
    return len(np.unique(touched[touched >= 0]))
