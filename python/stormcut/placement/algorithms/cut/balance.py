"""Balance: placements with least traffic, and those of others, annealed and compared.

Placements with least traffic under several balances, what runs now, and what other algorithms found
are annealed; the best wins. What runs now stays if that gains less than `TOLERANCE`. Annealing
counts one worker on a node; of those that are kept beside it (``workers=keep``), each then goes to
another node if that is better. The best is, by the objective:

- ``auto``: the best by `stormcut.objective.order`. Placements are annealed for head-room up to what
  is enough, and, where there is less, for congestion, which is what sources wait for.
- ``headroom``: that with most head-room; of those within a hundredth of it, less traffic between
  nodes counts, too.
- ``cut``: that with least traffic, where local-or-shuffle streams flow.
- ``congestion``: that with the least congestion, times what traffic between nodes weighs; of those
  within a hundredth of it, that whose sources reach most by the cost model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice, product

import numpy as np

from stormcut.arrays import Ints
from stormcut.model.placement import Placement
from stormcut.objective.congestion import IDLE
from stormcut.objective.order import ENOUGH_ROOM
from stormcut.objective.resources import costs_of, left_by_workers
from stormcut.placement.algorithms.cut.instance import Instance
from stormcut.placement.algorithms.cut.judges import JUDGES, MAX_TRIED, Judge
from stormcut.placement.algorithms.cut.prepare import Task, running
from stormcut.placement.algorithms.cut.realise import Candidate, like_before, on_nodes
from stormcut.placement.packing.capacity import CPU

#: Fair shares of CPU a node from which the search begins, beside none.
BALANCES = (1.05, 1.2, 1.5, 2.0)

#: Shares of the CPU that leaves room enough, from which the search begins where there is so much:
#: transfer takes the rest.
ROOMY = (0.9, 0.6)

#: In haste, and of large problems, the first of these that has a placement. What annealing makes of
#: a large one depends on it: 1.2 alone is up to 9 % worse (docs/results/cut-constants.md).
HASTY, LARGE = (1.2,), (1.05, 1.2)


def instances(task: Task) -> list[Instance]:
    """Return the instances from which to begin: as asked, and under several balances.

    Where all nodes together have room enough, none of them has to be fuller than that. In haste the
    first that has a placement is enough: as asked where all nodes together are hardly used, else
    balanced.
    """
    if task.options.objective == "auto" and (roomy := _roomy(task)):
        return roomy if not task.is_hasty else [*roomy[:2], task.instance]
    if task.is_hasty:
        limits = task.instance.limits[:, CPU]
        is_quiet = task.problem.executor_cpu.sum() <= IDLE * limits.sum()
        shares = LARGE if task.is_large else HASTY
        even = [] if is_quiet else [task.instance.balanced(each) for each in shares]
        return [*even, task.instance]
    return [task.instance, *(task.instance.balanced(each) for each in BALANCES)]


def _roomy(task: Task) -> list[Instance]:
    """Return the instances to begin with for room enough, none if the nodes have not so much."""
    instance, problem = task.instance, task.problem
    limits, load = instance.limits[:, CPU], float(problem.executor_cpu.sum())
    capacity = np.array([n.cpu_percent or np.inf for n in problem.nodes]) / ENOUGH_ROOM
    free = np.where(instance.slots > 0, left_by_workers(capacity, 1, costs_of(problem)), 0.0)
    if not np.isfinite(free).all() or np.minimum(free, limits).sum() < load:
        return []
    shares = [share for share in ROOMY if np.minimum(share * free, limits).sum() >= load]
    return [
        *(instance.limited(share * free) for share in shares),
        instance,
        *(instance.balanced(share) for share in BALANCES[:2]),
    ]


def balance(
    task: Task,
    built: list[Ints],
    starts: Sequence[Placement],
    effort: float,
    rng: np.random.Generator,
) -> Candidate:
    """Return the best placement by the objective.

    Parameters
    ----------
    built : list of arrays of shape (groups, nodes)
        Placements to begin with.
    starts : sequence of Placement
        Feasible ones of other algorithms; there is at least one of either.
    effort : float
        For each of them.
    """
    judge = JUDGES[task.options.objective](task)
    instance, now = task.instance, running(task.instance)
    counts = built if now is None else [*built, now]
    begin = [on_nodes(task.problem, instance, each) for each in counts]
    begin += [task.problem.slot_node[start.slots] for start in starts]
    distinct = list({nodes.tobytes(): nodes for nodes in begin}.values())
    ends = [judge.candidate(each) for each in (*distinct, *judge.annealed(distinct, effort, rng))]
    kept = () if task.keeps_workers else starts
    own = [Candidate(task.problem.slot_node[each.slots], each.slots) for each in kept]
    best = judge.polish(judge.best(ends + own), ends + own, rng)
    # Values that differ by less than a tolerance are equal, so the best of many can be behind one.
    best = next((each for each in own if judge.is_ahead(each, best)), best)
    if task.keeps_workers:
        best = _apart(judge, instance, best)
    best = judge.with_fewer_restarts(best)
    assert instance.is_whole(instance.counted(best.nodes))
    if now is not None:
        stays = judge.candidate(begin[len(counts) - 1])
        if not judge.is_ahead(best, stays):
            return stays
    # Nodes that are alike but for their links must not always change names.
    alike = on_nodes(
        task.problem, instance, like_before(task.problem, instance, instance.counted(best.nodes))
    )
    renamed = judge.candidate(alike)
    return best if judge.is_ahead(best, renamed, 0.0) else renamed


def _apart(judge: Judge, instance: Instance, best: Candidate) -> Candidate:
    """Return workers that shared a node on several, as long as that is worth more."""
    while True:
        candidates = list(islice(_one_apart(judge, instance, best.nodes), MAX_TRIED))
        better = judge.best([best, *candidates])
        if better is best or not judge.is_ahead(better, best, 0.0):
            return best
        best = better


def _one_apart(judge: Judge, instance: Instance, nodes: Ints) -> Iterator[Candidate]:
    """Yield one worker on another node, whose topology has others beside it and none there."""
    slots = judge.placement(judge.candidate(nodes)).slots
    for index in range(len(judge.problem.topologies)):
        own = judge.problem.executor_topology == index
        used = np.unique(nodes[own])
        unused = np.setdiff1d(np.flatnonzero(instance.slots), used).tolist()
        several = [np.unique(slots[own & (nodes == node)])[1:].tolist() for node in used]
        for worker, node in product(chain.from_iterable(several), unused):
            moved = np.where(slots == worker, node, nodes)
            if instance.is_whole(instance.counted(moved)):
                yield judge.candidate(moved)
