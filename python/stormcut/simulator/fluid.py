"""The fluid twin: the steady state of the same system, from the cost model alone.

In open loop executors' rates are the problem's, or as much less as the head-room says where that is
below 1. In closed loop they follow from what sources reach (`stormcut.objective.throughput`).
"""

from __future__ import annotations

import numpy as np

from stormcut.arrays import Floats
from stormcut.model.errors import InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.demands import growth
from stormcut.objective.resources import uses
from stormcut.objective.throughput import predict_throughput
from stormcut.simulator.simulation import FLUID, NEARLY_FULL, Simulation, Utilisation, named_uses


def fluid(problem: Problem, placement: Placement, *, closed: bool = False) -> Simulation:
    """Return what a placement does in the steady state.

    In open loop takes as long as `uses`; in closed loop as `throughput`, and as few executors.

    Raises
    ------
    InvalidInput
        In closed loop, nothing that is known limits the sources, or there are too many executors.
    """
    if closed:
        return _closed(problem, placement)
    used = uses(problem, placement)
    shares = named_uses(
        problem,
        (
            (use.kind, index, share)
            for use in used
            for index, share in enumerate(use.share.tolist())
            if share > 0
        ),
    )
    fullest = shares[0].value if shares else 0.0
    passes = np.full(problem.executor_count, min(1.0, 1.0 / max(fullest, 1.0)))
    return _simulation(problem, passes, np.ones(len(passes)), shares, fullest > 1.0)


def _closed(problem: Problem, placement: Placement) -> Simulation:
    reached = predict_throughput(problem, placement)
    if reached is None:
        raise InvalidInput(
            "the fluid engine cannot tell what sources reach in closed loop: no source emits, "
            "nothing known limits them, or there are too many executors; use --engine events"
        )
    grown = growth(problem, reached.sources, reached.rates)
    shares = named_uses(problem, (each for each in reached.shares if each[2] > 0))
    full = bool(shares) and shares[0].value >= NEARLY_FULL
    return _simulation(problem, grown, grown, shares, full)


def _simulation(
    problem: Problem,
    executing: Floats,
    emitting: Floats,
    shares: tuple[Utilisation, ...],
    full: bool,
) -> Simulation:
    """Return it of executors that run their rates times ``executing``, sources ``emitting``."""
    emits = problem.executor_is_spout
    rates = problem.executor_rate * np.where(emits, emitting, executing)
    sources: dict[str, float] = {}
    executed: dict[str, dict[str, float]] = {}
    begin = 0
    for topology in problem.topologies:
        executed[topology.id], sources[topology.id] = {}, 0.0
        for component in topology.components:
            rate = float(rates[begin : begin + component.executors].sum())
            executed[topology.id][component.name] = rate
            sources[topology.id] += rate if component.kind == "spout" else 0.0
            begin += component.executors
    return Simulation(FLUID, 0.0, sources, executed, {}, shares, full, 0, {}, {})
