"""Traffic in both its units, between tasks and across places."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from stormcut.model.profile import TaskTraffic


@dataclass(frozen=True)
class Flow:
    """Tuples/s and bytes/s; bytes are 0 where no tuple's size was sampled."""

    tuples: float = 0.0
    bytes: float = 0.0

    def __add__(self, other: Flow) -> Flow:
        return Flow(self.tuples + other.tuples, self.bytes + other.bytes)


#: (source task, target task) -> what goes that way.
Flows = Mapping[tuple[int, int], Flow]


def flows(traffic: Iterable[TaskTraffic]) -> Flows:
    """Return measured traffic; where a pair has no sampled size, with the mean of those that have.

    Few tuples are sampled: a pair without a sample is one that exchanges few.
    """
    pairs = list(traffic)
    sized = [pair for pair in pairs if pair.bytes_per_tuple is not None]
    tuples = sum(pair.tuples_per_second for pair in sized)
    content = sum(pair.tuples_per_second * (pair.bytes_per_tuple or 0.0) for pair in sized)
    mean = content / tuples if tuples else 0.0
    return {
        (pair.source_task, pair.target_task): Flow(
            pair.tuples_per_second,
            pair.tuples_per_second
            * (mean if pair.bytes_per_tuple is None else pair.bytes_per_tuple),
        )
        for pair in pairs
    }


def total(traffic: Flows) -> Flow:
    """Return all traffic together."""
    return sum(traffic.values(), Flow())


def between(traffic: Flows, places: Mapping[int, Hashable]) -> Flow:
    """Return the traffic between tasks in different places; tasks without a place count nowhere."""
    crossing = (
        flow
        for (source, target), flow in traffic.items()
        if source in places and target in places and places[source] != places[target]
    )
    return sum(crossing, Flow())
