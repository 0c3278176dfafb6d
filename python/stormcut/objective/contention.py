"""How fast threads run that are ready at the same moment as others on their node.

A node serves the threads that are ready in turns. With no more of them than cores each has a core
of its own; with more, each has its share, so that one that is never idle falls behind although the
node's cores are not full on average. Threads are taken to be ready independently of each other, for
the part of the time for which they run.

Nodes of less than a core are left out: there no thread has a core, and the node's CPU says it all.
"""

from __future__ import annotations

import numpy as np

from stormcut.arrays import Floats
from stormcut.model.placement import Placement
from stormcut.model.problem import CORE_PERCENT, Problem
from stormcut.objective.cut import executor_nodes

#: From which part of the time on a thread is full: others wait for the CPU, which counts that.
FULL = 0.8
#: A thread that gets so much of a core is as good as alone: loads are not known better.
ALONE = 0.98


def thread_speeds(problem: Problem, placement: Placement, busy: Floats) -> Floats:
    """Return which part of a core threads get on average while they are ready, (executors,).

    Parameters
    ----------
    busy : array of shape (executors,)
        Part of the time for which each thread runs.

    Notes
    -----
    Of full threads; the others wait for the CPU now and then, which is counted there, and get 1.
    Takes O(threads of a node squared) for each different part of the time among them.
    """
    speeds = np.ones(problem.executor_count)
    counting = busy >= FULL
    if not counting.any():
        return speeds
    nodes = executor_nodes(problem, placement)
    for ordinal, node in enumerate(problem.nodes):
        here = np.flatnonzero(nodes == ordinal)
        cores = np.inf if node.cpu_percent is None else node.cpu_percent / CORE_PERCENT
        if not 1 <= cores < len(here) or not counting[here].any():
            continue
        ready = np.minimum(busy[here], 1.0)
        for part in np.unique(ready[counting[here]]):
            others = np.delete(ready, int(np.argmax(ready == part)))
            speed = _speed(others, cores)
            speeds[here[counting[here] & (ready == part)]] = 1.0 if speed >= ALONE else speed
    return speeds


def _speed(others: Floats, cores: float) -> float:
    """Return the mean share of a core beside threads that are ready for these parts of the time."""
    count = len(others) + 1
    # The distribution of how many are ready, by the product of their transforms.
    roots = np.exp(-2j * np.pi * np.arange(count) / count)
    transform = np.prod(1.0 + others[:, None] * (roots - 1.0), axis=0)
    chance = np.fft.ifft(transform).real
    return float(chance @ np.minimum(1.0, cores / (1.0 + np.arange(count))))
