from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from microbenchmarks import microbenchmark
from problem_strategies import problems

from stormcut.application.place import solve
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.objective.cut import inter_node_tuples_per_second
from stormcut.objective.verify import violations

HOMOGENEOUS = (4,) * 10
HETEROGENEOUS = (6,) * 3 + (4,) * 3 + (2,) * 4
#: Specification of the thesis, section 7.2: star hom, star het, diamond hom, linear hom.
OPTIMA = {
    10: (16, 12, 10, 8),
    18: (44, 38, 64, 16),
    22: (60, 54, 94, 20),
    26: (76, 70, 124, 24),
    28: (84, 78, 138, 24),
    30: (92, 86, 154, 28),
    32: (100, 94, 168, 28),
}
CASES = (
    ("star", HOMOGENEOUS),
    ("star", HETEROGENEOUS),
    ("diamond", HOMOGENEOUS),
    ("linear", HOMOGENEOUS),
)


@pytest.mark.parametrize("tasks", OPTIMA)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_optima_of_the_thesis(tasks, case):
    layout, capacities = CASES[case]
    solution = solve(microbenchmark(layout, tasks, capacities), "exact")
    optimum = OPTIMA[tasks][case]
    assert solution.metrics.inter_node_tuples_per_second == optimum
    assert solution.certificate.lower_bound == pytest.approx(optimum)
    assert solution.certificate.gap == pytest.approx(0.0)


@settings(max_examples=60)
@given(problem=problems())
def test_as_good_as_trying_everything(problem):
    assume(0 < problem.executor_count <= 6 and problem.slot_count**problem.executor_count <= 5000)
    every = product(range(problem.slot_count), repeat=problem.executor_count)
    placements = (Placement(np.array(slots, dtype=np.int64)) for slots in every)
    best = min(
        (
            inter_node_tuples_per_second(problem, p)
            for p in placements
            if not violations(problem, p)
        ),
        default=None,
    )
    if best is None:
        with pytest.raises(Infeasible):
            solve(problem, "exact")
        return
    solution = solve(problem, "exact")
    assert solution.metrics.inter_node_tuples_per_second == pytest.approx(best, abs=1e-6)
    assert solution.certificate.lower_bound <= best * (1 + 1e-9) + 1e-9
