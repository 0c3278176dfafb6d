"""What P-, T3- and I-Scheduler share: options, refusals, shares of CPU, and notes.

Decisions that hold for all three (identifiers of the project's reading of the thesis):

- P-2, T-7, I-6: if no placement is found within ``cpu_share``, the share rises in steps to 100 %,
  and the placement is noted as over-committed.
- P-5, T-2: among equal nodes, parts go to those on which most of their executors already run; ties
  by node id (see `alignment`).
- P-6: without traffic, or without load where CPU is the capacity, they refuse.

References
----------
L. Eskandari, thesis on task scheduling in data stream processing systems, chapters 7 to 9.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.model.errors import Infeasible
from stormcut.model.problem import Problem
from stormcut.objective.verify import exceeds
from stormcut.placement.options import ONE_OR_MORE, POSITIVE_FRACTION, Bounded
from stormcut.placement.packing.capacity import CPU, EXECUTORS, Hosts

#: Steps from ``cpu_share`` to 100 % when nodes have to be over-committed.
SHARE_STEPS = 8


@dataclass(frozen=True)
class ThesisOptions(Bounded):
    """What can be set for all three; names as in the thesis's formulas where it has any."""

    cpu_share: float = field(
        default=0.8,
        metadata={
            "help": "share of a node's CPU that may be used (Eq. 7.2)",
            "bounds": POSITIVE_FRACTION,
        },
    )
    max_tasks_per_worker: int = field(
        default=5,
        metadata={
            "help": "most executors of a worker while slots last (Eq. 7.3)",
            "bounds": ONE_OR_MORE,
        },
    )


def require_profile(name: str, problem: Problem, hosts: Hosts) -> None:
    """Return if there is what these algorithms schedule by.

    Raises
    ------
    Infeasible
        No node can hold anything, or no traffic or no load is known (P-6).
    """
    if not len(hosts.ordinals):
        raise Infeasible(f"{name} found none: no node has a slot and capacity left", "slots")
    if problem.traffic.total <= 0:
        raise Infeasible(f"{name} does not schedule without traffic: measure it", "traffic")
    if np.isfinite(hosts.limits[:, CPU]).any() and problem.executor_cpu.sum() <= 0:
        raise Infeasible(f"{name} does not schedule without CPU loads: measure them", "cpu")


def shares(hosts: Hosts, cpu_share: float) -> list[float]:
    """Return the shares of CPU to try, least first; without a limit of CPU none other is."""
    if not np.isfinite(hosts.limits[:, CPU]).any():
        return [cpu_share]
    steps: list[float] = np.linspace(cpu_share, 1.0, SHARE_STEPS).tolist()
    return steps


def shared_limits(hosts: Hosts, share: float) -> Floats:
    """Return what each node may hold if ``share`` of its CPU is used, shape (hosts, resources)."""
    limits = hosts.limits.copy()
    limits[:, CPU] *= share
    return limits


def capped_loads(loads: Floats, limits: Floats) -> Floats:
    """Return loads in which no executor needs more CPU than the largest node may hold (P-4).

    An executor above the share so fills a largest node, where it gets no loaded neighbour.
    """
    result = loads.copy()
    result[:, CPU] = np.minimum(result[:, CPU], limits[:, CPU].max())
    return result


def leading_resource(loads: Floats, limits: Floats) -> int:
    """Return the resource that stands for load and capacity: CPU or EXECUTORS.

    The one of which the nodes together have less to spare; executors where nothing is limited.
    """
    totals = limits.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        need = loads.sum(axis=0) / totals
    limited = np.isfinite(totals[CPU])
    return CPU if limited and not need[CPU] < need[EXECUTORS] else EXECUTORS


def notes(
    problem: Problem, hosts: Hosts, nodes: Ints, slots: Ints, options: ThesisOptions
) -> Iterator[str]:
    """Yield what a placement had to give up: the share of CPU, the size of workers."""
    used = np.bincount(nodes, weights=problem.executor_cpu, minlength=len(problem.nodes))
    share = hosts.limits[:, CPU] * options.cpu_share
    over = exceeds(used[hosts.ordinals], share)
    if over.any():
        names = ", ".join(problem.nodes[n].id for n in hosts.ordinals[over])
        yield f"over-committed: above {options.cpu_share:.0%} of CPU on {names}"
    largest = int(np.bincount(slots).max())
    if largest > options.max_tasks_per_worker:
        yield (
            f"T exceeded: a worker holds {largest} executors, more than "
            f"{options.max_tasks_per_worker}, for want of slots"
        )
