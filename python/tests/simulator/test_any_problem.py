"""Whatever a problem file may say: an answer, or one clear line."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from problem_strategies import problems

from stormcut.model.errors import InvalidInput
from stormcut.model.placement import Placement
from stormcut.simulator.events import simulate
from stormcut.simulator.fluid import fluid


@given(problems(), st.data(), st.booleans(), st.booleans())
def test_every_problem_has_an_answer_or_is_refused(problem, data, closed, containers):
    if not problem.slot_count or not problem.executor_count:
        return
    slot = st.integers(0, problem.slot_count - 1)
    size = problem.executor_count
    placed = data.draw(st.lists(slot, min_size=size, max_size=size))
    placement = Placement(np.array(placed, dtype=np.int64))
    for engine in (
        lambda: simulate(
            problem, placement, closed=closed, seconds=1.0, containers=containers, flush_ms=1.0
        ),
        lambda: fluid(problem, placement, closed=closed),
    ):
        try:
            found = engine()
        except InvalidInput as error:
            assert "\n" not in str(error)
            continue
        assert all(math.isfinite(use.value) and use.value >= 0 for use in found.uses)
        assert all(rate >= 0 for own in found.executed.values() for rate in own.values())
        for topology in problem.topologies:
            assert set(found.executed[topology.id]) == {c.name for c in topology.components}
