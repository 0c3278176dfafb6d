"""How long better placements are sought in one round, and for which topologies.

Nimbus waits for what runs nowhere: that is placed at once. What runs can wait: if all of it takes
longer than a round may, those go first that have waited longest, and the rest keeps its place until
a later round. What was found is remembered, so that later rounds go on where this one ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from stormcut.control.decide.pace import Joint

#: Maximum seconds for what waits for a placement, and of a round for what runs. Nimbus waits two
#: for the former, of a machine that may be half as fast; else Storm's scheduler places it, and it
#: is moved ten seconds later. A tenth of the effort finds no worse in 39 of 47 random problems.
URGENT_S, ROUND_S = 0.8, 5.0
#: All that runs has its turn within so many rounds, unless even the shortest searches take longer.
MAX_TURNS = 3
#: Estimates in seconds for one problem at each effort: for `SMALL` executors (fewer take less in
#: proportion), and for every 1,000. Rough, of one machine: benchmarks/speed/brain_scale.py.
SMALL = 50
EFFORTS = ((None, 1.5, 4.0), ("0.1", 0.5, 1.5), ("0", 0.05, 0.15))
#: Seconds that a round takes for every 1,000 executors of the cluster, without any search.
READ_S = 0.08


def effort_for(nowhere: Sequence[int], running: Sequence[int]) -> str | None:
    """Return how long to search, None for the algorithm's default.

    Parameters
    ----------
    nowhere, running : sequence of int
        Executors of each problem, of topologies that wait for a placement or may get a better one.
    """
    for effort, *_ in EFFORTS:
        urgent, costs = (
            [_seconds(effort, size) for size in problems] for problems in (nowhere, running)
        )
        if sum(urgent) <= URGENT_S and sum(costs) <= MAX_TURNS * ROUND_S:
            return effort
    return EFFORTS[-1][0]


def later(
    problems: Sequence[tuple[Joint, int]], effort: str | None, executors: int
) -> tuple[Joint, ...]:
    """Return the problems that one round has no time for: never the first.

    Parameters
    ----------
    problems : iterable of (tuple of str, int)
        Topologies and their executors, in the order of their turns.
    executors : int
        Of the whole cluster.
    """
    left = ROUND_S - READ_S * executors / 1000
    ends = accumulate(_seconds(effort, size) for _, size in problems)
    fits = max(1, sum(end <= left for end in ends))
    return tuple(joint for joint, _ in problems[fits:])


def _seconds(effort: str | None, executors: int) -> float:
    (rate,) = [rates for name, *rates in EFFORTS if name == effort]
    small, thousand = rate
    return small * min(1, executors / SMALL) + thousand * executors / 1000
