"""Ratios over several starts: what is drawn with known noise is found again."""

import numpy as np
import pytest
from benchmarks.cluster.pooled_ratios import Contest, Noise, contests, estimate, noise

from stormcut.lab.adapters.bench.kept_benches import BENCHES


def drawn(random, ratio, of, windows):
    """Return a contest's starts, with so many windows each."""
    means = np.log(ratio) + random.normal(0, of.start**0.5, len(windows))
    return [random.normal(mean, of.window**0.5, n) for mean, n in zip(means, windows, strict=True)]


def test_noise_of_windows_and_of_starts_are_told_apart():
    random, of = np.random.default_rng(1), Noise(0.07**2, 0.04**2)
    many = [
        Contest(True, f"t{i}", "caps", drawn(random, 1.1, of, [1, 2, 3, 3])) for i in range(400)
    ]
    found = noise(many)
    assert found.window == pytest.approx(of.window, rel=0.1)
    assert found.start == pytest.approx(of.start, rel=0.25)
    values = np.array([estimate(each.starts, of) for each in many])
    off = (values[:, 0] - np.log(1.1)) / values[:, 1]
    assert abs(off.mean()) < 0.15
    assert off.std() == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize("windows", [[1, 1], [3]])
def test_without_repetition_no_noise_is_told(windows):
    """Benches of one window each ended in a division by zero."""
    random, of = np.random.default_rng(1), Noise(0.07**2, 0.04**2)
    assert noise([Contest(True, "t", "caps", drawn(random, 1.1, of, windows))]) is None


def test_a_start_of_many_windows_counts_no_more_than_starts_differ():
    of = Noise(1.0, 1.0)
    starts = [np.zeros(1000), np.ones(1)]
    assert estimate(starts, of).value == pytest.approx(1 / 3, abs=0.01)
    assert estimate(starts, Noise(1.0, 0.0)).value < 0.01


def test_a_bench_is_read_as_its_page_has_it():
    (found,) = (
        each
        for each in contests([BENCHES / "bench-power12-network-1.zip"])
        if (each.topology, each.rival) == ("trending_topics", "caps")
    )
    assert not found.of_cpu
    assert np.exp(found.starts[0]) == pytest.approx([1.77], abs=0.01)
