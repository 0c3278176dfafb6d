"""Traffic in blocks says what it says written out as pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problem_strategies import problems


@given(problems(), st.data())
def test_what_executors_exchange_is_the_same_written_out(problem, data):
    count = problem.executor_count
    some = data.draw(st.sets(st.integers(0, count - 1))) if count else set()
    source, target, rate = problem.traffic.unfolded()
    expected = np.zeros(count)
    for s, t, r in zip(source.tolist(), target.tolist(), rate.tolist(), strict=True):
        expected[t] += r * (s in some)
        expected[s] += r * (t in some)
    assert problem.traffic.exchanged_with(sorted(some)) == pytest.approx(expected)
