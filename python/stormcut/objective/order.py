"""The one order of placements: which of two is better, and the best of several.

What comes first decides; what differs by less than `TOLERANCE` does not:

1. The limits of all nodes hold.
2. The rates asked for are carried: head-room of 1 or more. If neither placement carries them, the
   one that carries more of them for ever, each source up to its own rate.
3. Head-room, up to `ENOUGH_ROOM`.
4. Latency. While rates are carried, or nearly so, with less room than that, tuples wait in queues,
   and the placement whose windows (`topology.max.spout.pending`) let sources reach more has the
   shorter tuple times, by Little's law. With room enough, tuples hardly wait, and the way counts:
   tuples/s between nodes.
5. Workers restarted.
6. Head-room beyond `ENOUGH_ROOM`.

At twice the rates the fullest resource is full. So at today's rates no resource is in use for more
than half of the time, a tuple waits about as long as it is worked on, and the backlog of a minute's
outage is gone after another minute. More room saves little of that, and costs tuples between nodes.

References
----------
J. D. C. Little, "A proof for the queuing formula L = lambda W", Operations Research 9 (1961).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from stormcut.arrays import ROUNDING
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.anchoring import anchored_share
from stormcut.objective.cut import inter_node_tuples_per_second
from stormcut.objective.headroom import Headroom, headroom
from stormcut.objective.metrics import workers_restarted
from stormcut.objective.throughput import Throughput, predict_throughput
from stormcut.objective.verify import violations

#: Head-room beyond which more is worth no traffic.
ENOUGH_ROOM = 2.0

#: Head-room from which windows count: sources that were measured at their limit are asked for what
#: they reached, and what falls short of that by less is no overload.
NEARLY = 0.9

#: Values that differ by a smaller share are equal: loads are not known better.
TOLERANCE = 0.01

#: The same of head-room where windows do not hold back all tuples: of placements whose head-room
#: differs by a few percent, sources reach half as much again in one (`bigbench_diamond`).
LOOSE_TOLERANCE = 0.05

#: Maximum number of executors, and of them times sources, for which the order asks what sources
#: reach: up to 0.2 s for each placement. Of more, head-room says what is carried.
MAX_PREDICTED, MAX_SHARES = 200, 5_000


def is_predicted(problem: Problem) -> bool:
    """Return whether the order asks what sources reach: it takes long of many."""
    count, sources = problem.executor_count, int(problem.executor_is_spout.sum())
    return count <= MAX_PREDICTED and count * sources <= MAX_SHARES


class PlacementValue:
    """What the order asks about a placement; what is costly only when it is asked.

    Parameters
    ----------
    problem : Problem
    placement : Placement
    seated : callable, optional
        Returns the same with the slots that restart least, where those of ``placement`` are any.
    """

    def __init__(
        self,
        problem: Problem,
        placement: Placement,
        seated: Callable[[], Placement] | None = None,
    ) -> None:
        self.problem, self.placement = problem, placement
        self._seated = seated or (lambda: placement)

    @cached_property
    def is_feasible(self) -> bool:
        """Whether the limits of all nodes hold."""
        return not violations(self.problem, self.placement)

    @cached_property
    def headroom(self) -> Headroom:
        """Head-room, and what is full first."""
        return headroom(self.problem, self.placement)

    @property
    def room(self) -> float:
        """Head-room; infinite where nothing limits."""
        return math.inf if self.headroom.value is None else self.headroom.value

    @property
    def carries(self) -> bool:
        """Whether the rates asked for are carried."""
        return self.room >= 1 - ROUNDING

    @property
    def has_room(self) -> bool:
        """Whether more room is worth nothing."""
        return self.room >= ENOUGH_ROOM * (1 - TOLERANCE)

    @cached_property
    def is_loose(self) -> bool:
        """Whether windows are known, and hold back only part of the tuples."""
        return self.has_windows and bool((anchored_share(self.problem) < 1).any())

    @property
    def is_windowed(self) -> bool:
        """Whether what windows let sources reach counts."""
        return self.room >= NEARLY and not self.has_room

    @property
    def has_windows(self) -> bool:
        """Whether the windows of all topologies are known."""
        return all(t.max_spout_pending is not None for t in self.problem.topologies)

    @cached_property
    def traffic(self) -> float:
        """Tuples/s between nodes."""
        return inter_node_tuples_per_second(self.problem, self.placement)

    @property
    def travels(self) -> float:
        """Share of all tuples that travel between nodes."""
        return self.traffic / (self.problem.traffic.total or 1.0)

    @cached_property
    def restarts(self) -> int:
        """Workers restarted."""
        if self.problem.current is None:
            return 0
        return workers_restarted(self.problem.current_slots(), self._seated().slots)

    @cached_property
    def throughput(self) -> Throughput | None:
        """What closed-loop sources reach; None where it is unknown, or takes too long."""
        if not is_predicted(self.problem):
            return None
        return predict_throughput(self.problem, self.placement)

    @cached_property
    def offered(self) -> Throughput | None:
        """What sources reach that send no more than they are asked to; None as above."""
        if not is_predicted(self.problem):
            return None
        return predict_throughput(self.problem, self.placement, is_open=False)

    @property
    def sustained(self) -> float:
        """Tuples/s asked for that go on for ever; where that is unknown, head-room."""
        return self.room if self.offered is None else self.offered.sustained

    @property
    def reached(self) -> float:
        """Tuples/s that sources reach within their windows; 0 where these are unknown."""
        known = self.has_windows and self.throughput is not None
        return self.throughput.total if known and self.throughput else 0.0


class _Criterion(NamedTuple):
    """What decides where all before it was equal.

    Parameters
    ----------
    words : str
        For people, with the values of the better and of the worse placement.
    value : callable
        The larger the better.
    applies : callable
        Whether it counts for a placement.
    is_room : bool
        Whether it says how much all rates, of unanchored tuples too, may grow.
    """

    words: str
    value: Callable[[PlacementValue], float]
    applies: Callable[[PlacementValue], bool] = lambda value: True
    is_room: bool = False

    def difference(self, one: PlacementValue, other: PlacementValue, tolerance: float) -> int:
        """Return 1 if the first is better by more than a share of the larger, -1, or 0."""
        if not (self.applies(one) and self.applies(other)):
            return 0
        first, second = self.value(one), self.value(other)
        if first == second:
            return 0
        if self.is_room and one.is_loose:
            tolerance = max(tolerance, LOOSE_TOLERANCE)
        least = tolerance * max(abs(first), abs(second)) / (1 + tolerance) + ROUNDING
        return 0 if abs(first - second) <= least else 1 if first > second else -1


_CRITERIA = (
    _Criterion("within the limits of all nodes", lambda value: float(value.is_feasible)),
    _Criterion("the rates asked for are carried", lambda value: float(value.carries)),
    _Criterion(
        "{0.sustained:,.0f} of the tuples/s asked for instead of {1.sustained:,.0f}",
        lambda value: value.sustained,
        lambda value: not value.carries,
        is_room=True,
    ),
    _Criterion(
        "head-room {0.room:,.2f} instead of {1.room:,.2f}",
        lambda value: min(value.room, ENOUGH_ROOM),
        is_room=True,
    ),
    _Criterion(
        "{0.reached:,.0f} tuples/s reached instead of {1.reached:,.0f}",
        lambda value: value.reached,
        lambda value: value.is_windowed,
    ),
    _Criterion(
        "{0.traffic:,.0f} tuples/s between nodes instead of {1.traffic:,.0f}",
        lambda value: -value.travels,
    ),
    _Criterion(
        "{0.restarts:,} workers restarted instead of {1.restarts:,}",
        lambda value: -float(value.restarts),
    ),
    _Criterion("head-room {0.room:,.2f} instead of {1.room:,.2f}", lambda value: value.room),
)


def is_ahead(one: PlacementValue, other: PlacementValue, tolerance: float = TOLERANCE) -> bool:
    """Return whether the first of two placements is better by more than a tolerance."""
    return advantage(one, other, tolerance) is not None


def advantage(
    one: PlacementValue, other: PlacementValue, tolerance: float = TOLERANCE
) -> str | None:
    """Return why the first of two placements is better, in words; None if it is not."""
    for criterion in _CRITERIA:
        difference = criterion.difference(one, other, tolerance)
        if difference:
            return criterion.words.format(one, other) if difference > 0 else None
    return None


def best(values: Sequence[PlacementValue]) -> int:
    """Return the position of the best placement of several; of equal ones, the first.

    What differs little is equal, so that the order is not transitive: after the best by each
    criterion in turn, one that is ahead of it takes its place.
    """
    left = list(range(len(values)))
    for criterion in _CRITERIA:
        left = _leaders(values, left, criterion)
    chosen, seen = left[0], set(left)
    while ahead := [index for index in _ahead(values, chosen) if index not in seen]:
        chosen = ahead[0]
        seen.add(chosen)
    return chosen


def _leaders(values: Sequence[PlacementValue], left: list[int], criterion: _Criterion) -> list[int]:
    """Return those of the placements left that none is ahead of by one criterion."""
    if len(left) == 1 or not all(criterion.applies(values[index]) for index in left):
        return left
    most = values[max(left, key=lambda index: criterion.value(values[index]))]
    # Half of the tolerance: what is chosen is to be within all of it of any other.
    return [index for index in left if not criterion.difference(most, values[index], TOLERANCE / 2)]


def _ahead(values: Sequence[PlacementValue], chosen: int) -> Iterator[int]:
    for index, value in enumerate(values):
        if index != chosen and is_ahead(value, values[chosen]):
            yield index
