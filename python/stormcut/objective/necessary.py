"""Conditions without which no placement of a problem can be feasible, cheap to test."""

from __future__ import annotations

import numpy as np

from stormcut.model.errors import Infeasible
from stormcut.model.problem import Problem
from stormcut.objective.verify import exceeds


def require_possible(problem: Problem) -> None:
    """Return if nothing simple proves that a problem has no feasible placement.

    Sums of loads must be within sums of capacities, each executor must fit some node, and every
    topology needs a slot of its own.

    Raises
    ------
    Infeasible
        A proof, with the constraint that binds.
    """
    if not problem.executor_count:
        return
    _require_slots(problem)
    hosts = [node for node in problem.nodes if node.ports]
    ones = np.ones(problem.executor_count)
    for constraint, unit, loads, limits in (
        ("cpu", "% CPU", problem.executor_cpu, [n.cpu_percent for n in hosts]),
        ("memory", "MB of memory", problem.executor_memory, [n.memory_mb for n in hosts]),
        ("max_executors", "executors", ones, [n.max_executors for n in hosts]),
    ):
        offered = np.array([np.inf if limit is None else limit for limit in limits])
        for load, capacity, what in (
            (loads.sum(), offered.sum(), "are needed, nodes have"),
            (loads.max(), offered.max(), "are needed by one executor, the largest node has"),
        ):
            if exceeds(load, capacity):
                raise Infeasible(
                    f"no feasible placement exists: {load:g} {unit} {what} {capacity:g}", constraint
                )


def _require_slots(problem: Problem) -> None:
    topologies = len(np.unique(problem.executor_topology))
    slots = sum(
        len(node.ports) if node.max_executors is None else min(len(node.ports), node.max_executors)
        for node in problem.nodes
    )
    if topologies > slots:
        raise Infeasible(
            f"no feasible placement exists: slots needed: {topologies} (one per topology), "
            f"free: {slots}",
            "slots",
        )
