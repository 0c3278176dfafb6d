"""Since when topologies run where they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stormcut.model.cluster import ClusterState, Worker
from stormcut.model.plan import Plan

#: Topologies that are one problem, ascending.
Joint = tuple[str, ...]


@dataclass(frozen=True)
class Pace:
    """When topologies moved, as far as that is known.

    One that knows nothing waits for nothing. A change counts when the cluster has made it: a
    topology that ran whole elsewhere now runs as the last plan says. What runs so already when it
    is first seen may have been moved by another brain, at the latest soon after that plan.

    Parameters
    ----------
    now : float
        Of the last state, seconds of a clock that never runs back.
    homes : mapping of str to tuple of Worker
        Where each ran whole last, by topology id.
    changed : mapping of str to float
        When each moved last.
    """

    now: float = 0.0
    homes: Mapping[str, tuple[Worker, ...]] = field(default_factory=dict)
    changed: Mapping[str, float] = field(default_factory=dict)

    def observe(
        self, state: ClusterState, last_plan: Plan | None, now: float, age_s: float = 0.0
    ) -> Pace:
        """Return what is known once a state was seen, at a moment of a clock that never runs back.

        Parameters
        ----------
        age_s : float
            How old the last plan is.
        """
        planned = {p.topology: p.workers for p in last_plan.topologies} if last_plan else {}
        homes: dict[str, tuple[Worker, ...]] = {}
        changed: dict[str, float] = {}
        for topology in state.topologies:
            name, before = topology.id, self.homes.get(topology.id)
            home = () if topology.unassigned else tuple(sorted(topology.assignment))
            as_planned = bool(home) and planned.get(name) == home
            homes[name] = home or before or ()
            if before is None and as_planned:
                changed[name] = now - age_s
            elif before and before != home and as_planned:
                changed[name] = now
            elif name in self.changed:
                changed[name] = self.changed[name]
        return Pace(now, homes, changed)

    def changed_at(self, joint: Joint) -> float | None:
        """Return when any of these topologies moved last, None if none is known to have."""
        return max((self.changed[name] for name in joint if name in self.changed), default=None)

    def since_change(self, joint: Joint) -> float | None:
        """Return the seconds since any of these topologies moved, None if none is known to have."""
        changed = self.changed_at(joint)
        return None if changed is None else max(self.now - changed, 0.0)
