"""How long tuples take from a source until their whole tree is acknowledged."""

from __future__ import annotations

import math
from collections import Counter

#: Buckets grow by this factor: a percentile is at most 5 % too high.
GROWTH = 1.05


class Latencies:
    """A histogram whose buckets can be added over tasks and subtracted over time."""

    def __init__(self) -> None:
        self.buckets: Counter[int] = Counter()

    def add(self, milliseconds: float) -> None:
        """Count one latency; below a millisecond is one bucket."""
        self.buckets[math.ceil(math.log(max(milliseconds, 1.0), GROWTH))] += 1


def percentile(buckets: Counter[int], share: float) -> float:
    """Return the latency in ms that `share` of the tuples do not exceed, nan without any."""
    wanted = share * buckets.total()
    for bucket in sorted(buckets):
        wanted -= buckets[bucket]
        if wanted <= 0:
            return GROWTH**bucket
    return math.nan
