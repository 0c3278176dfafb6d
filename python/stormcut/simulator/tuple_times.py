"""How long tuples take under a placement, from a short run of the events engine."""

from __future__ import annotations

from collections.abc import Mapping

from stormcut.model.errors import InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.simulator.events import simulate
from stormcut.simulator.simulation import Latency, obstacles

#: Tuples that are executed, and the seconds that takes at least.
EXECUTIONS, MIN_S = 3e5, 2.0
#: Of more tuples/s, a run would take seconds.
MAX_PER_S = 2e6


def tuple_times(problem: Problem, placement: Placement) -> Mapping[str, Latency] | None:
    """Return how long tuples of each topology take at the problem's rates.

    Returns
    -------
    mapping of str to Latency or None
        None where nobody can tell: the placement cannot run, no source emits, something is full, or
        there are too many tuples.
    """
    rate = float(problem.executor_rate.sum())
    if not 0 < rate <= MAX_PER_S or obstacles(problem, placement):
        return None
    try:
        result = simulate(problem, placement, seconds=max(MIN_S, EXECUTIONS / rate))
    except InvalidInput:
        return None
    return None if result.saturated else result.latency


def slowest(times: Mapping[str, Latency]) -> tuple[str, Latency] | None:
    """Return the topology whose slowest tuples take longest, None of none."""
    return max(times.items(), key=lambda each: each[1].p99, default=None)
