import pytest
from benchmarks.papers import i_scheduler_threshold

from stormcut.placement.algorithms.i_scheduler.threshold import find_threshold


@pytest.mark.slow
def test_the_experiment_behind_the_threshold():
    size, line = i_scheduler_threshold.row(0.03, (8, 10))
    assert size == find_threshold(0.03) == 8
    assert line.startswith("| 0.03 | 8 | ")
