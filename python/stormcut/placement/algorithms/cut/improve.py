"""The cheapest placement that can be found from those built."""

from __future__ import annotations

import numpy as np

from stormcut.placement.algorithms.cut.alignment import like_before
from stormcut.placement.algorithms.cut.build import packed
from stormcut.placement.algorithms.cut.instance import Instance
from stormcut.placement.algorithms.cut.model import Ints, cost_at, model_of, noise
from stormcut.placement.algorithms.cut.prepare import Task, running
from stormcut.placement.algorithms.cut.search import search


def improve(
    task: Task, asked: Instance, starts: list[Ints], effort: float, rng: np.random.Generator
) -> Ints | None:
    """Return the cheapest counts found, None if none keep within all limits.

    What runs now is returned if nothing is cheaper; without a price for restarts, nodes that are
    alike change names so that most executors stay.

    Parameters
    ----------
    asked : Instance
        The task's, or one with tighter limits.
    starts : list of arrays of shape (groups, nodes)
        Those of `build`.
    """
    found = list(starts)
    if not task.is_large:
        best = search(asked, task.prices, effort, rng, starts)
        best = packed(task.problem, asked) if best is None else best
        found += [] if best is None else [best]
    if not found:
        return None
    model = model_of(asked, task.prices)
    costs = [cost_at(model, counts) for counts in found]
    best = found[int(np.argmin(costs))]
    assert asked.is_whole(best)
    if task.options.restart_price > 0:
        return best
    # From scratch as good as what runs is no reason to move anything.
    if running(asked) is not None and costs[0] <= min(costs) + noise(asked.groups.total):
        return found[0]
    return like_before(asked, best)
