"""From counts to nodes of executors, so that most stay where they run now."""

from __future__ import annotations

import numpy as np

from stormcut.model.problem import Problem
from stormcut.placement.algorithms.cut.instance import Instance
from stormcut.placement.algorithms.cut.model import Ints, interchangeable, model_of, shared
from stormcut.placement.packing.alignment import aligned


def on_nodes(problem: Problem, asked: Instance, counts: Ints) -> Ints:
    """Return the node ordinal of every executor; of a group, those that can stay do.

    Parameters
    ----------
    counts : array of shape (groups, nodes)
        Executors of each group on each node, all of them.
    """
    groups, current = asked.groups, problem.current_nodes()
    result = np.full(problem.executor_count, -1, dtype=np.int64)
    left = counts.copy()
    running = np.flatnonzero(current >= 0)
    now = current[running]
    order = np.lexsort((running, now, groups.of[running]))
    running, now = running[order], now[order]
    key = groups.of[running] * counts.shape[1] + now
    rank = np.arange(len(key)) - np.searchsorted(key, key)
    stays = rank < counts[groups.of[running], now]
    result[running[stays]] = now[stays]
    np.add.at(left, (groups.of[running[stays]], now[stays]), -1)
    moving = np.flatnonzero(result < 0)
    moving = moving[np.argsort(groups.of[moving], kind="stable")]
    group, node = np.nonzero(left)
    result[moving] = np.repeat(node, left[group, node])
    return result


def like_before(asked: Instance, counts: Ints) -> Ints:
    """Return counts with nodes that are alike exchanged so that most executors stay.

    Takes O(nodes^3) at worst for the assignment.
    """
    if asked.start is None or not asked.start.any():
        return counts
    # Racks count, where executors run now does not.
    kinds = interchangeable(model_of(asked, (1.0, 1.0, 0.0)))
    nodes = aligned(shared(asked.start, counts), kinds[:, None] == kinds)
    return np.ascontiguousarray(counts[:, nodes])
