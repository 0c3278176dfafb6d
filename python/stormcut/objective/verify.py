"""The one judge of feasibility.

A topology's wish for a number of workers is no constraint: P-Scheduler, R-Storm and others derive
the number of workers from the placement, and Storm itself gives fewer when slots are short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stormcut.model.placement import Placement
from stormcut.model.problem import Node, Problem
from stormcut.objective.cut import executor_nodes

#: Sums of loads may exceed a limit by this share of it, for rounding.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Violation:
    """A constraint that a placement breaks; ``message`` is one line for people."""

    constraint: str
    message: str


def exceeds(load: npt.ArrayLike, limit: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return where a load is above its limit by more than rounding explains."""
    bound = np.asarray(limit, dtype=np.float64)
    slack = np.where(np.isfinite(bound), TOLERANCE * np.maximum(1.0, np.abs(bound)), 0.0)
    result: npt.NDArray[np.bool_] = np.asarray(load) > bound + slack
    return result


def violations(problem: Problem, placement: Placement) -> list[Violation]:
    """Return every constraint that a placement breaks; an empty list means feasible.

    Constraints are ``unassigned`` (an executor without a slot), ``slots`` (a slot that no node
    offers), ``topologies`` (two topologies in one slot), and per node ``cpu``, ``memory`` and
    ``max_executors``.

    Raises
    ------
    ValueError
        The placement is not one of this problem: its number of executors differs.
    """
    if len(placement.slots) != problem.executor_count:
        raise ValueError(
            f"placement of {len(placement.slots)} executors, problem of {problem.executor_count}"
        )
    return [
        *_unassigned(problem, placement),
        *_unknown_slots(problem, placement),
        *_shared_slots(problem, placement),
        *_overloads(problem, placement),
    ]


def _unassigned(problem: Problem, placement: Placement) -> Iterator[Violation]:
    missing = placement.slots < 0
    if missing.any():
        for (topology, component, index), without in zip(
            problem.executor_names(), missing, strict=True
        ):
            if without:
                yield Violation(
                    "unassigned", f"executor {component}[{index}] of {topology} is unassigned"
                )


def _unknown_slots(problem: Problem, placement: Placement) -> Iterator[Violation]:
    used, counts = np.unique(placement.slots, return_counts=True)
    for slot, count in zip(used.tolist(), counts.tolist(), strict=True):
        if slot >= problem.slot_count:
            node, port = problem.slot_ids[slot]
            yield Violation(
                "slots", f"slot {node}:{port} is offered by no node, {count} executors name it"
            )


def _shared_slots(problem: Problem, placement: Placement) -> Iterator[Violation]:
    assigned = placement.slots >= 0
    held = np.stack((placement.slots[assigned], problem.executor_topology[assigned]), axis=1)
    tenants = np.unique(held, axis=0)
    slots, counts = np.unique(tenants[:, 0], return_counts=True)
    for slot in slots[counts > 1].tolist():
        node, port = problem.slot_ids[slot]
        names = [problem.topologies[t].id for t in tenants[tenants[:, 0] == slot, 1]]
        yield Violation(
            "topologies", f"slot {node}:{port} holds several topologies: {', '.join(names)}"
        )


def _overloads(problem: Problem, placement: Placement) -> Iterator[Violation]:
    nodes = executor_nodes(problem, placement)
    known = (nodes >= 0) & (nodes < len(problem.nodes))
    yield from _over(
        problem, nodes[known], problem.executor_cpu[known], "cpu", "% CPU", lambda n: n.cpu_percent
    )
    yield from _over(
        problem,
        nodes[known],
        problem.executor_memory[known],
        "memory",
        "MB of memory",
        lambda n: n.memory_mb,
    )
    yield from _over(
        problem,
        nodes[known],
        np.ones(int(known.sum())),
        "max_executors",
        "executors",
        lambda n: n.max_executors,
    )


def _over(
    problem: Problem,
    nodes: npt.NDArray[np.int64],
    loads: npt.NDArray[np.float64],
    constraint: str,
    unit: str,
    limit: Callable[[Node], float | None],
) -> Iterator[Violation]:
    totals = np.bincount(nodes, weights=loads, minlength=len(problem.nodes))
    limits = np.array([np.inf if limit(n) is None else limit(n) for n in problem.nodes], float)
    for ordinal in np.flatnonzero(exceeds(totals, limits)).tolist():
        yield Violation(
            constraint,
            f"node {problem.nodes[ordinal].id} holds {totals[ordinal]:g} {unit}, "
            f"its limit is {limits[ordinal]:g}",
        )
