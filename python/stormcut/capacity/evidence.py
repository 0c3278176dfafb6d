"""What a running cluster proves of costs: what it carries, fits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stormcut.arrays import ROUNDING
from stormcut.model.network import Costs
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.cut import executor_nodes
from stormcut.objective.resources import CPU, costs_of, executor_loads, uses


def costs_that_fit(problem: Problem, placement: Placement) -> Costs | None:
    """Return costs at which no node's CPU is more than full, None where those of the problem do.

    Executors' own CPU was measured; what workers and transfer take beside it is the model's, and
    differs from machine to machine. A cluster that carries its load proves that it is no more than
    what own CPU leaves of a node: all of it is scaled to that, to 0 at least. A node that neither
    sends nor gets anything proves nothing about transfer.

    Takes as long as `uses`.

    Parameters
    ----------
    problem : Problem
        As measured.
    placement : Placement
        With which it was measured.
    """
    costs, count = costs_of(problem), len(problem.nodes)
    (cpu,) = (use for use in uses(problem, placement) if use.kind == CPU)
    nodes, slots = executor_nodes(problem, placement), np.unique(placement.slots)
    placed = nodes >= 0
    own = np.bincount(nodes[placed], executor_loads(problem, placement)[placed], cpu.load.size)
    workers = np.bincount(problem.slot_hosts[slots[slots >= 0]], minlength=cpu.load.size)
    transfer = (cpu.load - own)[:count]
    beside = transfer + costs.worker_percent * workers[:count]
    whole = np.array([np.inf if n.cpu_percent is None else n.cpu_percent for n in problem.nodes])
    left = whole - own[:count]
    short = beside > left
    if not short.any():
        return None
    fits = np.clip(left[short] / beside[short], 0.0, 1.0)
    of_workers = float(fits.min())
    of_transfer = float(fits[transfer[short] > ROUNDING].min(initial=1.0))
    return replace(
        costs,
        send_us_per_tuple=of_transfer * costs.send_us_per_tuple,
        send_us_per_kib=of_transfer * costs.send_us_per_kib,
        receive_us_per_tuple=of_transfer * costs.receive_us_per_tuple,
        receive_us_per_kib=of_transfer * costs.receive_us_per_kib,
        worker_percent=of_workers * costs.worker_percent,
        source=f"{costs.source}, CPU of workers times {of_workers:.2f}, of transfer times "
        f"{of_transfer:.2f}: what runs fits",
    )
