"""How T3-Scheduler splits what does not fit on a node: a pair of groups, or a single group.

References
----------
L. Eskandari, thesis on task scheduling in data stream processing systems, section 8.2.4.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from stormcut.arrays import ROUNDING, Floats, Ints
from stormcut.objective.verify import exceeds


def split_group(
    members: Ints, best_rate: Floats, total_rate: Floats, loads: Floats, room: Floats
) -> Ints:
    """Return the tasks of a group that are taken into the room left on a node (section 8.2.4).

    By their best pair with a task on the node; ties by the sum over all pairs, then by id (T-8).

    Parameters
    ----------
    members : array of shape (m,)
        Executors of the group, ascending.
    best_rate, total_rate : array of shape (m,)
        Highest rate of each with one task on the node, and sum over those.
    loads : array of shape (executors, resources)
    room : array of shape (resources,)
    """
    order = np.lexsort((-_rounded(total_rate), -_rounded(best_rate)))
    return as_fit(members[order], loads, room)


def _rounded(values: Floats) -> Floats:
    """Return values in units of ROUNDING of the largest, so that rounding parts no equals."""
    largest = values.max(initial=0.0)
    rounded: Floats = np.rint(values / largest / ROUNDING) if largest > 0 else values
    return rounded


def as_fit(ordered: Ints, loads: Floats, room: Floats) -> Ints:
    """Return the executors of a sequence that fit one after another; others are passed over."""
    least = loads[ordered].min(axis=0)
    chosen = []
    for executor in ordered.tolist():
        if exceeds(least, room).any():
            break
        if not exceeds(loads[executor], room).any():
            chosen.append(executor)
            room = room - loads[executor]
    return np.array(chosen, dtype=np.int64)


def split_pair(graph: csr_array, ones: Ints, others: Ints, loads: Floats, room: Floats) -> Ints:
    """Return the tasks of two groups that start an empty node.

    Pairs are met by descending rate. Two new tasks are taken together (scenario 1); where one is
    taken already (scenario 3: both), the other comes with its best new partner (scenario 2), or
    alone if the group of the first has no new task left, being the smaller. If there is room for
    no two tasks, the one with the highest rate that fits is taken (T-6).

    O(p log p) for p task pairs.

    Parameters
    ----------
    graph : csr_array of shape (executors, executors)
    ones, others : array of shape (m,), (k,)
        Executors of the two groups.
    loads : array of shape (executors, resources)
    room : array of shape (resources,)
    """
    source, target = task_pairs(graph, ones, others)
    split = _PairSplit((ones, others), (source, target), loads, room)
    for one, other in zip(source.tolist(), target.tolist(), strict=True):
        if not split.possible:
            break
        if split.new[one] and split.new[other]:
            split.take(one, other)
        elif split.new[other]:
            split.join(other, 1)
        elif split.new[one]:
            split.join(one, 0)
    if split.chosen:
        return np.array(split.chosen, dtype=np.int64)
    by_rate = np.concatenate((np.stack((source, target), axis=1).reshape(-1), ones, others))
    return as_fit(by_rate, loads, room)[:1]


def task_pairs(graph: csr_array, ones: Ints, others: Ints) -> tuple[Ints, Ints]:
    """Return (task, other task) of a pair of groups, highest rate first, then lower ids."""
    edges = graph[ones, :][:, others].tocoo()
    source, target = ones[edges.row], others[edges.col]
    order = np.lexsort((target, source, -edges.data))
    return source[order], target[order]


class _PairSplit:
    """Tasks chosen so far of two sides, 0 and 1, and the room they leave."""

    def __init__(
        self, sides: tuple[Ints, Ints], pairs: tuple[Ints, Ints], loads: Floats, room: Floats
    ) -> None:
        self.sides, self.pairs, self.loads, self.room = sides, pairs, loads, room
        self.chosen: list[int] = []
        self.new = np.zeros(len(loads), dtype=bool)
        for side in sides:
            self.new[side] = True
        # Pairs by the task on each side, those of one task still by descending rate.
        self._orders = [np.argsort(ends, kind="stable") for ends in pairs]
        self._sorted = [ends[order] for ends, order in zip(pairs, self._orders, strict=True)]
        self._look()

    def _look(self) -> None:
        """Find out which sides have new tasks, and whether the smallest ones fit together."""
        fresh = [side[self.new[side]] for side in self.sides]
        self.exhausted = [not len(tasks) for tasks in fresh]
        least = sum(self.loads[tasks].min(axis=0) for tasks in fresh if len(tasks))
        self.possible = not all(self.exhausted) and not exceeds(least, self.room).any()

    def take(self, *tasks: int) -> bool:
        """Choose new tasks if they fit together."""
        load = self.loads[list(tasks)].sum(axis=0)
        if exceeds(load, self.room).any():
            return False
        self.chosen.extend(tasks)
        self.new[list(tasks)] = False
        self.room = self.room - load
        self._look()
        return True

    def join(self, task: int, side: int) -> None:
        """Choose a new task of a side with its best new partner, or alone if there is none left."""
        if self.exhausted[1 - side]:
            self.take(task)
            return
        begin, end = np.searchsorted(self._sorted[side], (task, task + 1))
        partners = self.pairs[1 - side][self._orders[side][begin:end]]
        for partner in partners[self.new[partners]].tolist():
            if self.take(partner, task):
                return
