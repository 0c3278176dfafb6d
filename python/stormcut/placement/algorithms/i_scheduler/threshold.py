"""How many vertices I-Scheduler's optimiser gets for a given time.

References
----------
L. Eskandari, thesis on task scheduling in data stream processing systems, section 9.2.3 and
Alg. 4, line 4: Find_Threshold, "based on previous experiments".
"""

from __future__ import annotations

from bisect import bisect_right

#: Seconds of CP-SAT's deterministic time and the largest graph that it solves in them, by
#: benchmarks/papers/i_scheduler_threshold.py (docs/results/i-scheduler-threshold.md).
THRESHOLDS = ((0.01, 8), (0.1, 10), (0.3, 14), (1.0, 20), (3.0, 22), (30.0, 26))


def find_threshold(theta: float) -> int:
    """Return phi: as many vertices as are solved in ``theta`` seconds, 0 if no graph is.

    Examples
    --------
    >>> [find_threshold(theta) for theta in (0.0, 0.1, 0.9, 1.0, 3600.0)]
    [0, 10, 14, 20, 26]
    """
    index = bisect_right(THRESHOLDS, theta, key=lambda row: row[0])
    return THRESHOLDS[index - 1][1] if index else 0
