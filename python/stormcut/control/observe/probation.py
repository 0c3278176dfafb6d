"""Supervisors that come and go: nothing new runs there until they have stayed for a while."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from stormcut.model.cluster import ClusterState, Supervisor
from stormcut.running.declared import MAX_EXECUTORS_KEY, max_executors

#: A supervisor that was lost so often within so many seconds is on probation for as many more,
#: from when it was lost last.
LOSSES, PROBATION_SECONDS = 2, 600.0


@dataclass(frozen=True)
class Probation:
    """Which supervisors are on probation, from what Nimbus describes.

    Parameters
    ----------
    there : frozenset of str
        Ids of those that were there last.
    lost : mapping of str to tuple of float
        When each was lost, the last times.
    """

    there: frozenset[str] = frozenset()
    lost: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def observe(self, state: ClusterState, now: float) -> Probation:
        """Return who is on probation once a state was seen, in seconds of a clock."""
        there = frozenset(supervisor.id for supervisor in state.supervisors)
        gone = self.there - there
        # Most of them at once do not flap: it is what they all depend on.
        counted = gone if 2 * len(gone) <= len(self.there) else frozenset()
        lost = {name: (*self.lost.get(name, ()), now) for name in counted}
        recent = {
            name: tuple(moment for moment in times if moment > now - 2 * PROBATION_SECONDS)
            for name, times in {**self.lost, **lost}.items()
        }
        return Probation(there, {name: times[-LOSSES:] for name, times in recent.items() if times})

    def until(self, supervisor: str) -> float:
        """Return until when it is on probation, 0 if it never was."""
        times = self.lost.get(supervisor, ())
        flaps = len(times) == LOSSES and times[-1] - times[0] <= PROBATION_SECONDS
        return times[-1] + PROBATION_SECONDS if flaps else 0.0

    def ends_in(self, now: float) -> float:
        """Return the seconds until one's probation ends next, infinite if none is on it."""
        left = (self.until(name) - now for name in self.there)
        return min((each for each in left if each > 0), default=math.inf)

    def present(self, now: float) -> tuple[str, ...]:
        """Return who is there on probation at a moment, ascending."""
        return tuple(sorted(name for name in self.there if self.until(name) > now))

    def limited(self, state: ClusterState, now: float) -> ClusterState:
        """Return a state in which who is on probation has room for what runs there alone."""
        return with_room_for_what_runs(state, self.present(now))


def with_room_for_what_runs(state: ClusterState, nodes: Collection[str]) -> ClusterState:
    """Return a state in which these nodes have room for what runs there alone."""
    if not nodes:
        return state
    running: dict[str, int] = defaultdict(int)
    for topology in state.topologies:
        for worker in topology.assignment:
            running[worker.slot.node] += len(worker.executors)
    return replace(
        state,
        supervisors=tuple(
            _limited(s, running[s.id]) if s.id in nodes else s for s in state.supervisors
        ),
    )


def _limited(supervisor: Supervisor, running: int) -> Supervisor:
    own = max_executors(supervisor)
    most = running if own is None else min(running, own)
    return replace(supervisor, meta={**supervisor.meta, MAX_EXECUTORS_KEY: str(most)})
