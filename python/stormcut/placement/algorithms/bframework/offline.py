"""Off-line Bscheduler: processes to nodes before a query starts (phase 1).

RECONSTRUCTED from the paper's prose: nodes are sorted, the first partition is packed so that little
traffic crosses nodes, the second balances their load, the third goes to one node.

References
----------
M. Mortazavi-Dehkordi and K. Zamanifar, "Efficient resource scheduling for the analysis of Big Data
streams", Intelligent Data Analysis 23(1), 2019, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stormcut.arrays import Floats
from stormcut.placement.algorithms.bframework.assigner import Process
from stormcut.placement.algorithms.bframework.deployment import Deployment
from stormcut.placement.algorithms.bframework.partitioner import HEAVY, LIGHT, UNKNOWN
from stormcut.placement.packing.capacity import CPU


def schedule(deployment: Deployment, processes: Sequence[Process]) -> list[Process]:
    """Put one query's processes on hosts; return those that fit on none.

    Takes O(processes x (processes + groups x hosts)).
    """
    left = _pack(deployment, [p for p in processes if p.partition == HEAVY])
    for process in _heaviest_first([p for p in processes if p.partition == LIGHT]):
        left += _put(deployment, process, deployment.utilisation(process))
    home: int | None = None
    for process in [p for p in processes if p.partition == UNKNOWN]:
        rank = deployment.utilisation()
        if home is not None:
            rank[home] = -1.0
        left += _put(deployment, process, rank)
        home = deployment.host_of.get(process, home)
    return left


def _heaviest_first(processes: Sequence[Process]) -> list[Process]:
    return sorted(processes, key=lambda process: -process.load[CPU])


def _pack(deployment: Deployment, processes: Sequence[Process]) -> list[Process]:
    """Put first-partition processes by traffic on the first host that fits, while it fits."""
    if not processes:
        return []
    order, left = _heaviest_first(processes), []
    rank = np.empty(len(deployment.capacity))
    rank[np.argsort(-deployment.available(), kind="stable")] = np.arange(len(rank))
    executors = np.concatenate([process.executors for process in order])
    owner = np.repeat(np.arange(len(order)), [len(process.executors) for process in order])
    traffic, waiting = np.zeros(len(order)), np.ones(len(order), dtype=bool)
    for step in range(len(order)):
        index = int(np.argmax(np.where(waiting, traffic, -np.inf)))
        waiting[index] = False
        left += _put(deployment, order[index], rank)
        if order[index] in deployment.host_of:  # the latest host comes first from now on
            rank[deployment.host_of[order[index]]] = -1.0 - step
        reach = deployment.reach(order[index])[executors]
        traffic += np.bincount(owner, weights=reach, minlength=len(order))
    return left


def _put(deployment: Deployment, process: Process, rank: Floats) -> list[Process]:
    """Put a process on the host of lowest rank; return it if there is none."""
    fits = deployment.within_target(process)
    alone = fits & deployment.free_of_others(process.topology)
    for hosts in (alone, fits):
        if hosts.any():
            deployment.put(process, int(np.argmin(np.where(hosts, rank, np.inf))))
            return []
    limits = deployment.within_limits(process)
    if not limits.any():
        return [process]
    most = np.where(limits, deployment.available(), -np.inf)
    deployment.put(process, int(np.argmax(most)))
    return []
