"""The brain's answer: where each topology's executors shall run, and why."""

from __future__ import annotations

from dataclasses import dataclass

from stormcut.model.cluster import Worker


@dataclass(frozen=True)
class TopologyPlan:
    """A whole placement of one topology; ``reason`` is for people."""

    topology: str
    workers: tuple[Worker, ...]
    algorithm: str
    reason: str


@dataclass(frozen=True)
class Declined:
    """A topology about which the brain has no opinion: Storm's default scheduler decides."""

    topology: str
    reason: str


@dataclass(frozen=True)
class Plan:
    """What shall run where, for the cluster state with this fingerprint and no other."""

    id: str
    fingerprint: str
    created_ms: int
    topologies: tuple[TopologyPlan, ...]
    declined: tuple[Declined, ...] = ()

    def of(self, topology: str) -> TopologyPlan | None:
        """Return the part about one topology, None if there is none."""
        return next((part for part in self.topologies if part.topology == topology), None)

    def places_like(self, other: Plan) -> bool:
        """Return whether both mean the same for the same state, whatever their reasons are."""
        return self.fingerprint == other.fingerprint and self.places_alike(other)

    def places_alike(self, other: Plan) -> bool:
        """Return whether both place the same, be it for another state."""
        placed = {(part.topology, part.workers) for part in self.topologies}
        return placed == {(part.topology, part.workers) for part in other.topologies} and {
            part.topology for part in self.declined
        } == {part.topology for part in other.declined}
