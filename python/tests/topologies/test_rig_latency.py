"""stormcut and its topologies mean the same by a histogram of latencies."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rig import latency
from stormcut.lab.experiment.latency import GROWTH, percentile


@given(st.dictionaries(st.integers(0, 300), st.integers(1, 1000), min_size=1), st.floats(0.01, 1))
def test_percentiles_are_those_of_the_topologies(buckets: dict[int, int], share: float) -> None:
    assert percentile(buckets, share) == latency.percentile(Counter(buckets), share)


def test_buckets_are_those_of_the_topologies() -> None:
    buckets: Counter[int] = Counter({7: 1})
    assert latency.percentile(buckets, 1.0) == GROWTH**7
