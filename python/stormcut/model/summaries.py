"""What runs where and what it has done so far, as Nimbus sums it up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SupervisorSummary:
    """A supervisor as Nimbus knows it."""

    id: str
    host: str
    slots: int
    used_slots: int
    uptime_s: int


@dataclass(frozen=True)
class TopologySummary:
    """A topology as Nimbus knows it; ``status`` is ACTIVE, INACTIVE, REBALANCING or KILLED."""

    id: str
    name: str
    status: str
    executors: int
    workers: int
    uptime_s: int


@dataclass(frozen=True)
class ClusterSummary:
    """Everything Nimbus manages; ``has_leader`` tells whether a Nimbus leads at all."""

    supervisors: tuple[SupervisorSummary, ...]
    topologies: tuple[TopologySummary, ...]
    has_leader: bool


@dataclass(frozen=True)
class ExecutorSummary:
    """An executor in its slot, with Storm's own counts since its worker started.

    Storm samples these counts (``topology.stats.sample.rate``) and scales them up. ``complete_ms``
    is a spout's mean complete latency, None for a bolt and before the first acked tuple.
    """

    component: str
    start_task: int
    end_task: int
    host: str
    port: int
    uptime_s: int
    is_spout: bool
    emitted: int
    transferred: int
    acked: int
    failed: int
    complete_ms: float | None


@dataclass(frozen=True)
class TopologyInfo:
    """A topology with its assigned executors, sorted by first task."""

    id: str
    name: str
    status: str
    executors: tuple[ExecutorSummary, ...]

    @property
    def workers(self) -> dict[tuple[str, int], frozenset[int]]:
        """First tasks of the executors in each slot (host, port)."""
        by_slot: dict[tuple[str, int], set[int]] = {}
        for executor in self.executors:
            by_slot.setdefault((executor.host, executor.port), set()).add(executor.start_task)
        return {slot: frozenset(tasks) for slot, tasks in by_slot.items()}
