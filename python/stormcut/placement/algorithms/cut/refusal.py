"""Which limit stands in the way where no placement is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stormcut.model.errors import Infeasible
from stormcut.placement.algorithms.cut.build import build
from stormcut.placement.algorithms.cut.improve import improve
from stormcut.placement.algorithms.cut.prepare import Task
from stormcut.placement.packing.capacity import MEMORY

#: Limits that may bind, in the order in which a refusal names them.
BINDING = ("pin", "apart", "cpu", "memory", "max_executors", "slots")


def refusal(task: Task, rng: np.random.Generator) -> Infeasible:
    """Return an error that names the limit without which a placement is found."""
    asked = task.instance
    if not (asked.slots > 0).any():
        return Infeasible("cut found none: no node may be used", "slots")
    hasty = replace(task, options=replace(task.options, restart_price=0.0))
    given = {"pin": asked.allowed is not None, "apart": asked.load.shape[1] > MEMORY + 1}
    for limit in (each for each in BINDING if given.get(each, True)):
        relaxed = asked.without(limit)
        if improve(hasty, relaxed, build(hasty, relaxed, 0.0, rng), 0.0, rng) is not None:
            return Infeasible(f"cut found none; without the limit of {limit} there is one", limit)
    return Infeasible("cut found none, nor one with any single limit lifted", "cpu")
