"""How long tuples take, by histograms that can be added over tasks and subtracted over time."""

from __future__ import annotations

from collections.abc import Mapping

#: Latency bucket b reaches up to this to the power of b, in ms; the topologies' `rig.latency`.
GROWTH = 1.05


def mean(buckets: Mapping[int, int]) -> float | None:
    """Return the mean latency in ms, every tuple in the middle of its bucket, None without any."""
    count = sum(buckets.values())
    if not count:
        return None
    return sum(tuples * _middle(bucket) for bucket, tuples in buckets.items()) / count


def percentile(buckets: Mapping[int, int], share: float) -> float | None:
    """Return the latency in ms that `share` of the tuples do not exceed, None without any."""
    wanted = share * sum(buckets.values())
    for bucket in sorted(buckets):
        wanted -= buckets[bucket]
        if buckets[bucket] and wanted <= 0:
            return GROWTH**bucket
    return None


def _middle(bucket: int) -> float:
    """Return the middle of a bucket in ms; the first begins at nothing."""
    return (GROWTH**bucket + (GROWTH ** (bucket - 1) if bucket else 0.0)) / 2
