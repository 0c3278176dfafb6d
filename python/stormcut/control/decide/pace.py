"""Since when topologies run where they do, and how long an algorithm's condition has held."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stormcut.model.cluster import ClusterState, Worker
from stormcut.model.plan import Plan

#: Topologies that are one problem, ascending.
Joint = tuple[str, ...]


@dataclass(frozen=True)
class _Run:
    """So many measurements in a row, of which the last one is of these seconds, said one thing."""

    said: type[object]
    measured: tuple[int, ...]
    count: int


class Pace:
    """The brain's sense of time, from one decision to the next.

    One that knows nothing waits for nothing. A change counts when the cluster has made it: a
    topology that ran whole elsewhere now runs as the last plan says. What runs so already when it
    is first seen may have been moved by another brain, at the latest soon after that plan.
    """

    def __init__(self) -> None:
        self._now = 0.0
        self._homes: dict[str, tuple[Worker, ...]] = {}
        self._changed: dict[str, float] = {}
        self._runs: dict[Joint, _Run] = {}

    def copy(self) -> Pace:
        """Return the same for somebody who only thinks what would be."""
        other = Pace()
        other._now, other._homes = self._now, dict(self._homes)
        other._changed, other._runs = dict(self._changed), dict(self._runs)
        return other

    def observe(
        self, state: ClusterState, last_plan: Plan | None, now: float, age_s: float = 0.0
    ) -> None:
        """Take note of what runs where at a moment of a clock that never runs back.

        Parameters
        ----------
        age_s : float
            How old the last plan is.
        """
        self._now = now
        planned = {p.topology: p.workers for p in last_plan.topologies} if last_plan else {}
        for topology in state.topologies:
            home = () if topology.unassigned else tuple(sorted(topology.assignment))
            as_planned = bool(home) and planned.get(topology.id) == home
            if topology.id not in self._homes:
                self._homes[topology.id] = home
                if as_planned and last_plan is not None:
                    self._changed[topology.id] = now - age_s
            elif home and home != self._homes[topology.id]:
                if as_planned and self._homes[topology.id]:
                    self._has_changed(topology.id)
                self._homes[topology.id] = home
        self._forget_all_but(topology.id for topology in state.topologies)

    def _has_changed(self, topology: str) -> None:
        """Begin anew: what was counted before says nothing of where it runs now."""
        self._changed[topology] = self._now
        self._runs = {joint: run for joint, run in self._runs.items() if topology not in joint}

    def _forget_all_but(self, topologies: Iterable[str]) -> None:
        living = set(topologies)
        self._homes = {name: home for name, home in self._homes.items() if name in living}
        self._changed = {name: at for name, at in self._changed.items() if name in living}
        self._runs = {joint: run for joint, run in self._runs.items() if living.issuperset(joint)}

    def since_change(self, joint: Joint) -> float | None:
        """Return the seconds since any of these topologies moved, None if none is known to have."""
        known = [self._changed[name] for name in joint if name in self._changed]
        return max(self._now - max(known), 0.0) if known else None

    def held(self, joint: Joint, measured: tuple[int, ...], condition: object | None) -> int:
        """Count a condition, and return in how many measurements in a row one of its kind held.

        Parameters
        ----------
        measured : tuple of int
            What tells measurements apart: their last seconds. One counts once, however often it is
            asked about.
        condition : object, optional
            What the algorithm says of this one; None: nothing calls for a change.
        """
        if condition is None:
            self._runs.pop(joint, None)
            return 0
        before = self._runs.get(joint)
        if before is None or before.said is not type(condition):
            self._runs[joint] = _Run(type(condition), measured, 1)
        elif before.measured != measured:
            self._runs[joint] = _Run(before.said, measured, before.count + 1)
        return self._runs[joint].count
