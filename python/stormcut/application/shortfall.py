"""What is full where a placement cannot carry the rates asked for, and what would carry them."""

from __future__ import annotations

import math

from stormcut.arrays import ROUNDING
from stormcut.model.placement import Placement
from stormcut.model.problem import CORE_PERCENT, Problem, Topology
from stormcut.objective.headroom import Bottleneck, Headroom, headroom
from stormcut.objective.resources import CPU, EXECUTOR, costs_of, left_by_workers

OTHER = "another placement (of objective=auto, if this is not)"

#: Factors are rounded down to this fraction: a rate that is named must be carried.
HUNDREDTH = 100


def shortfall(problem: Problem, placement: Placement, room: Headroom | None = None) -> str | None:
    """Return a warning in one line, None where the rates are carried.

    Parameters
    ----------
    room : Headroom, optional
        The placement's, if it is known already.
    """
    available = headroom(problem, placement) if room is None else room
    if available.value is None or available.bottleneck is None or available.value >= 1 - ROUNDING:
        return None
    carried = math.floor(available.value * HUNDREDTH) / HUNDREDTH
    remedies = [
        *_remedies(problem, available.bottleneck, available.value),
        f"rates times {carried:g}",
    ]
    return (
        f"the rates asked for are not carried: {available.bottleneck} is full at {carried:g} times "
        f"them. What would help: {'; '.join(remedies)}"
    )


def _remedies(problem: Problem, bottleneck: Bottleneck, room: float) -> list[str]:
    if bottleneck.kind == EXECUTOR:
        name = bottleneck.name.rpartition("[")[0]
        topology = next(t for t in problem.topologies if t.id == bottleneck.topology)
        now = next(c.executors for c in topology.components if c.name == name)
        if not _overloads_any(problem, topology, name):
            return [OTHER]
        return [f"{math.ceil(now / room)} executors of {name} instead of {now}"]
    missing = _missing_nodes(problem) if bottleneck.kind == CPU else 0
    if missing:
        return [f"{missing} more node{'s' if missing > 1 else ''} like the largest"]
    return [OTHER, "one more node"]


def _overloads_any(problem: Problem, topology: Topology, name: str) -> bool:
    """Return whether a component's threads are too few, however its input is divided."""
    ordinal = problem.topologies.index(topology)
    first = int(problem.topology_offsets[ordinal]) + topology.offsets[name]
    own = slice(first, first + next(c.executors for c in topology.components if c.name == name))
    most = CORE_PERCENT * problem.executor_threads[own]
    return bool((problem.executor_cpu[own] > most).any())


def _missing_nodes(problem: Problem) -> int:
    """Return how many nodes like the largest all CPU asks for beyond what there is, at least."""
    costs = costs_of(problem)
    known = [node.cpu_percent for node in problem.nodes if node.ports and node.cpu_percent]
    left = [float(left_by_workers(each, 1, costs)) for each in known]
    lacks = float(problem.executor_cpu.sum()) - sum(left)
    return math.ceil(lacks / max(left)) if left and lacks > 0 else 0
