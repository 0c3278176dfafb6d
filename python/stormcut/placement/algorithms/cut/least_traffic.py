"""Least traffic: placements to begin with, the cheapest found from them, and why there is none.

What runs now is one to begin with; if restarts have a price, it is made whole first (`replan`). Of
a large problem another is made from nothing (`construction`). A search (`search`) follows where it
is worth its time.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stormcut.arrays import Ints
from stormcut.model.errors import Infeasible
from stormcut.model.problem import Problem
from stormcut.placement.algorithms.cut.construction import constructed
from stormcut.placement.algorithms.cut.instance import Instance
from stormcut.placement.algorithms.cut.loops import LOOKS, descend, make_whole
from stormcut.placement.algorithms.cut.model import (
    Prices,
    cost_at,
    model_of,
    noise,
    seed_from,
    state_at,
)
from stormcut.placement.algorithms.cut.prepare import Task, running
from stormcut.placement.algorithms.cut.realise import like_before
from stormcut.placement.algorithms.cut.search import search
from stormcut.placement.packing.capacity import MEMORY, hosts
from stormcut.placement.packing.fit import fit

#: Candidates that the improvement looks at, at effort 1; a few tenths of a second.
CANDIDATES = 3e6

#: Share of all traffic that a move must save for each worker that it restarts, near what runs now.
LITTLE = 1e-4

#: Times that ejection may look as long as for one placement of a search, at effort 1.
PATIENCE = 10


def replan(
    instance: Instance, prices: Prices, rng: np.random.Generator, effort: float = 1.0
) -> Ints | None:
    """Return what runs now with everything placed and what is worth its restarts moved.

    Parameters
    ----------
    instance : Instance
        With a ``start``, which need neither be complete nor keep within the limits.
    effort : float
        Multiplies the candidates looked at.

    Returns
    -------
    array of shape (groups, nodes), optional
        Executors of each group on each node; None if some fit nowhere.
    """
    start = instance.start
    assert start is not None
    model = model_of(instance, prices)
    state = state_at(model, start)
    if not make_whole(model, state, PATIENCE * LOOKS * max(effort, 0.1), seed_from(rng)):
        return None
    descend(model, state, noise(instance.groups.total), effort * CANDIDATES)
    return state.counts


def build(task: Task, instance: Instance, effort: float, rng: np.random.Generator) -> list[Ints]:
    """Return feasible counts to begin with, what runs now first; there may be none.

    With a price for restarts, what runs now is made whole and improved; without one it is taken
    only as it is.

    Parameters
    ----------
    instance : Instance
        The task's, or one with tighter limits.
    """
    pays = task.options.restart_price > 0 and instance.start is not None and instance.start.any()
    first = replan(instance, task.prices, rng, effort) if pays else running(instance)
    starts = [] if first is None else [first]
    if task.is_large and not (pays and starts):
        made = constructed(instance, rng, effort)
        made = packed(task.problem, instance) if made is None else made
        starts += [] if made is None else [made]
    assert all(instance.is_whole(start) for start in starts)
    return starts


def near(task: Task, effort: float, rng: np.random.Generator) -> list[Ints]:
    """Return what runs now, made whole and moved only for what saves traffic; none if it fails.

    Of placements as good as each other, one near to what runs restarts fewer workers.
    """
    if task.instance.start is None or not task.instance.start.any():
        return []
    node, rack, _ = task.prices
    little = LITTLE * task.instance.groups.total
    replanned = replan(task.instance, (node, rack, little), rng, effort)
    return [] if replanned is None else [replanned]


def packed(problem: Problem, instance: Instance) -> Ints | None:
    """Return counts of a placement that merely fits, packed with ejection where needed."""
    able = hosts(problem)
    use = instance.slots[able.ordinals] > 0
    limits = instance.limits[able.ordinals][use, : MEMORY + 1]
    able = replace(able, ordinals=able.ordinals[use], slots=able.slots[use], limits=limits)
    nodes = fit(problem, np.full(problem.executor_count, -1, dtype=np.int64), able)
    if nodes is None:
        return None
    counts = instance.counted(nodes)
    return counts if instance.admits(counts) else None


def cheapest(
    task: Task, instance: Instance, starts: list[Ints], effort: float, rng: np.random.Generator
) -> Ints | None:
    """Return the cheapest counts found, None if none keep within all limits.

    What runs now is returned if nothing is cheaper; without a price for restarts, nodes that are
    alike change names so that most executors stay.

    Parameters
    ----------
    instance : Instance
        The task's, or one with tighter limits.
    starts : list of arrays of shape (groups, nodes)
        Those of `build`.
    """
    candidates = list(starts)
    # Balances that cannot be had would cost more than all others.
    insists = instance is task.instance
    if task.is_searched or (insists and not starts and task.can_be_searched):
        best = search(instance, task.prices, effort, rng, starts, insists=insists)
        best = packed(task.problem, instance) if best is None else best
        candidates += [] if best is None else [best]
    if not candidates:
        return None
    model = model_of(instance, task.prices)
    costs = [cost_at(model, counts) for counts in candidates]
    best = candidates[int(np.argmin(costs))]
    assert instance.is_whole(best)
    if task.options.restart_price > 0:
        return best
    # From scratch as good as what runs is no reason to move anything.
    if running(instance) is not None and costs[0] <= min(costs) + noise(instance.groups.total):
        return candidates[0]
    return like_before(task.problem, instance, best)


#: Limits that may bind, in the order in which a refusal names them.
BINDING = ("pin", "apart", "cpu", "memory", "max_executors", "slots")


def refusal(task: Task, rng: np.random.Generator) -> Infeasible:
    """Return an error that names the limit without which a placement is found."""
    instance = task.instance
    if not (instance.slots > 0).any():
        return Infeasible("cut found none: no node may be used", "slots")
    hasty = replace(task, options=replace(task.options, restart_price=0.0))
    given = {"pin": instance.allowed is not None, "apart": instance.load.shape[1] > MEMORY + 1}
    for limit in (each for each in BINDING if given.get(each, True)):
        relaxed = instance.without(limit)
        if cheapest(hasty, relaxed, build(hasty, relaxed, 0.0, rng), 0.0, rng) is not None:
            return Infeasible(f"cut found none; without the limit of {limit} there is one", limit)
    return Infeasible("cut found none, nor one with any single limit lifted", "cpu")
