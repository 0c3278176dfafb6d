"""How CP-SAT is run: one thread and a fixed seed, so that it answers alike each time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class SolverLimits:
    """When to stop: after so many seconds, or so many of CP-SAT's deterministic seconds."""

    seconds: float
    effort: float = np.inf


def cp_sat_solver(seed: int, limits: SolverLimits) -> Any:
    """Return a solver; only ``seconds`` make its answer depend on the machine."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    solver.parameters.linearization_level = 2
    solver.parameters.max_time_in_seconds = max(0.01, limits.seconds)
    if np.isfinite(limits.effort):
        solver.parameters.max_deterministic_time = limits.effort
    return solver
