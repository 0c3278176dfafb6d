"""What is busiest: a node's CPU or its link, on which the throughput of a cluster hangs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.model.traffic import Block
from stormcut.objective.cut import executor_nodes, has_local_target

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Contention:
    """The busiest node's CPU and link.

    Parameters
    ----------
    cpu_percent : float
        Points on the node with most of them.
    cpu_share : float or None
        Largest part of a node's CPU in use, None if no node limits CPU.
    link_tuples_per_second : float
        Tuples/s into and out of the node with most of them.
    imbalance : float
        Largest number of points on a node over their mean on the nodes in use; 1 is even.
    """

    cpu_percent: float
    cpu_share: float | None
    link_tuples_per_second: float
    imbalance: float


def contention(problem: Problem, placement: Placement) -> Contention:
    """Return what is busiest under a placement; executors that run nowhere count as absent.

    Takes O(executors + pairs + blocks x nodes).
    """
    nodes = executor_nodes(problem, placement)
    count = int(problem.slot_hosts.max(initial=len(problem.nodes) - 1)) + 1
    placed = nodes >= 0
    cpu = np.bincount(nodes[placed], weights=problem.executor_cpu[placed], minlength=count)
    used = np.unique(nodes[placed])
    limits = np.array([np.nan if n.cpu_percent is None else n.cpu_percent for n in problem.nodes])
    limited = np.flatnonzero(limits > 0)
    links = node_links(problem, placement)
    mean = cpu[used].mean() if len(used) else 0.0
    return Contention(
        float(cpu.max(initial=0.0)),
        float((cpu[limited] / limits[limited]).max()) if len(limited) else None,
        float(links.max(initial=0.0)),
        float(cpu.max(initial=0.0) / mean) if mean > 0 else 1.0,
    )


def node_links(problem: Problem, placement: Placement) -> Floats:
    """Return the tuples/s into and out of every node of `Problem.slot_hosts`, shape (nodes,)."""
    nodes = executor_nodes(problem, placement)
    count = int(problem.slot_hosts.max(initial=len(problem.nodes) - 1)) + 1
    traffic = problem.traffic
    links = np.zeros(count)
    here, there = nodes[traffic.source], nodes[traffic.target]
    crossing = (here != there) & (here >= 0) & (there >= 0)
    for ends in (here, there):
        links += np.bincount(ends[crossing], weights=traffic.rate[crossing], minlength=count)
    for block in traffic.blocks:
        links += _block_links(block, placement.slots, nodes, count)
    return links


def _block_links(block: Block, workers: Ints, nodes: Ints, count: int) -> Floats:
    sources = nodes[block.sources.start : block.sources.stop]
    targets = nodes[block.targets.start : block.targets.stop]
    if block.local_first:
        sources = sources[~has_local_target(block, workers)]
    sending = np.bincount(sources[sources >= 0], minlength=count)
    receiving = np.bincount(targets[targets >= 0], minlength=count)
    leaving = sending * (receiving.sum() - receiving)
    arriving = receiving * (sending.sum() - sending)
    result: Floats = block.rate * (leaving + arriving).astype(np.float64)
    return result
