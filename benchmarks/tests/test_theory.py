"""The events engine agrees with queueing theory, within what chance allows."""

from __future__ import annotations

import pytest
from benchmarks.simulator.theory_cases import CASES, replicated

#: Fewer than the page's, with seeds of their own: the interval is as wide as chance makes it.
SEEDS = range(101, 113)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_exact_value_is_within_the_interval(case):
    for found in replicated(case, [case.run(seed) for seed in SEEDS]):
        # Thirty quantities are looked at: wider than 99 % each, as one of them may be outside.
        assert abs(found.mean - found.exact) <= max(1.5 * found.half, 2e-3 * found.exact), found
