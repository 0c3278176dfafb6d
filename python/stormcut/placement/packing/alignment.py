"""Which node takes which part of a placement, so that most executors stay where they run."""

from __future__ import annotations

import numpy as np

from stormcut.arrays import Bools, Floats, Ints
from stormcut.model.problem import Problem
from stormcut.placement.packing.capacity import Hosts


def aligned(kept: Floats | Ints, allowed: Bools, in_order: bool = False) -> Ints:
    """Return the node of each part, none twice, such that most is kept.

    Takes O(parts^2 nodes) at worst.

    Parameters
    ----------
    kept : array of shape (parts, nodes)
        What stays where it is, such as executors, if a part goes to a node; whole numbers.
    allowed : array of shape (parts, nodes)
        Where each part may go; no more parts than nodes.
    in_order : bool
        Whether, of equals, the first parts go to the first nodes.

    Raises
    ------
    ValueError
        No node is left for some part.
    """
    worth: Floats = np.where(allowed, kept, -np.inf)
    if in_order:
        count, most = kept.shape
        order = np.outer(np.arange(count, 0, -1), np.arange(most))
        worth = worth * float(count * count * most + 1) - order
    # A quarter of a second to import, which small problems do not need.
    from scipy.optimize import linear_sum_assignment

    chosen: Ints = linear_sum_assignment(worth, maximize=True)[1]
    return chosen


def running(problem: Problem, hosts: Hosts, parts: Ints, count: int) -> Ints:
    """Return how many executors of each part run on each host now, shape (count, hosts).

    Parameters
    ----------
    parts : array of shape (executors,)
    """
    slots = problem.current_slots()
    there = slots >= 0
    position = np.full(int(problem.slot_hosts.max(initial=0)) + 1, -1, dtype=np.int64)
    position[hosts.ordinals] = np.arange(len(hosts.ordinals))
    columns = position[problem.slot_hosts[slots[there]]]
    result = np.zeros((count, len(hosts.ordinals)), dtype=np.int64)
    np.add.at(result, (parts[there][columns >= 0], columns[columns >= 0]), 1)
    return result


def among_equals(problem: Problem, hosts: Hosts, at: Ints) -> Ints:
    """Return positions in ``hosts`` exchanged among equal ones so that most executors stay.

    Parameters
    ----------
    at : array of shape (executors,)
        Position of each executor's host.
    """
    kept = running(problem, hosts, at, len(hosts.ordinals))
    return aligned(kept, hosts.kinds[:, None] == hosts.kinds, in_order=True)[at]
