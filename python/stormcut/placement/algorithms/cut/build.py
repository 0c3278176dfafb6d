"""Placements to begin with: what runs now, and of large problems one made from nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stormcut.model.problem import Problem
from stormcut.placement.algorithms.cut.construction import constructed
from stormcut.placement.algorithms.cut.instance import Instance
from stormcut.placement.algorithms.cut.model import Ints
from stormcut.placement.algorithms.cut.prepare import Task, running
from stormcut.placement.algorithms.cut.replan import replan
from stormcut.placement.packing.capacity import MEMORY, hosts
from stormcut.placement.packing.fit import fit


def build(task: Task, asked: Instance, effort: float, rng: np.random.Generator) -> list[Ints]:
    """Return feasible counts to begin with, what runs now first; there may be none.

    With a price for restarts, what runs now is made whole and improved; without one it is taken
    only as it is.

    Parameters
    ----------
    asked : Instance
        The task's, or one with tighter limits.
    """
    pays = task.options.restart_price > 0 and asked.start is not None and asked.start.any()
    first = replan(asked, task.prices, rng, effort) if pays else running(asked)
    starts = [] if first is None else [first]
    if task.is_large and not (pays and starts):
        made = constructed(asked, rng, effort)
        made = packed(task.problem, asked) if made is None else made
        starts += [] if made is None else [made]
    assert all(asked.is_whole(start) for start in starts)
    return starts


def packed(problem: Problem, asked: Instance) -> Ints | None:
    """Return counts of a placement that merely fits, packed with ejection where needed."""
    able = hosts(problem)
    use = asked.slots[able.ordinals] > 0
    limits = asked.limits[able.ordinals][use, : MEMORY + 1]
    able = replace(able, ordinals=able.ordinals[use], slots=able.slots[use], limits=limits)
    nodes = fit(problem, np.full(problem.executor_count, -1, dtype=np.int64), able)
    if nodes is None:
        return None
    counts = asked.counted(nodes)
    return counts if asked.admits(counts) else None
