"""A brain that says what it was told: each topology of a bench runs as one scheduler placed it."""

from __future__ import annotations

import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from stormcut.model.cluster import ClusterState, RunningTopology, Slot, Worker
from stormcut.model.plan import Declined, Plan, TopologyPlan


@dataclass(frozen=True)
class Wanted:
    """Where the executors of a topology shall run.

    ``hosts`` is the host of each executor by its first task; on every host the topology has the
    slot ``port`` for itself.
    """

    scheduler: str
    port: int
    hosts: Mapping[int, str]

    def workers(self, nodes: Mapping[str, str]) -> tuple[Worker, ...]:
        """Return the workers, given the supervisor's id of every host."""
        tasks: dict[str, list[int]] = defaultdict(list)
        for task, host in sorted(self.hosts.items()):
            tasks[host].append(task)
        slots = {host: Slot(nodes[host], self.port) for host in tasks}
        return tuple(sorted(Worker(slots[host], tuple(of)) for host, of in tasks.items()))


class BenchPlanner:
    """Answers every state with the placements registered by topology name; always leads."""

    leads = True

    def __init__(self) -> None:
        self._wanted: dict[str, Wanted] = {}
        self._lock = threading.Lock()
        self._plan: Plan | None = None

    def register(self, name: str, wanted: Wanted) -> None:
        """Have the topology of this name placed so as soon as it is submitted."""
        with self._lock:
            self._wanted[name] = wanted

    def plan(self, state: ClusterState) -> Plan:
        """Return the plan for a state; topologies that nobody registered are declined."""
        with self._lock:
            nodes = {supervisor.host: supervisor.id for supervisor in state.supervisors}
            placed, declined = [], []
            for topology in state.topologies:
                reason = self._misfit(topology, nodes)
                if reason:
                    declined.append(Declined(topology.id, reason))
                    continue
                wanted = self._wanted[topology.name]
                placed.append(
                    TopologyPlan(topology.id, wanted.workers(nodes), wanted.scheduler, "bench")
                )
            plan = Plan(
                uuid.uuid4().hex,
                state.fingerprint(),
                int(time.time() * 1000),
                tuple(placed),
                tuple(declined),
            )
            # The same question gets the same plan: a new id would make Nimbus look again.
            if self._plan is None or not plan.places_like(self._plan):
                self._plan = plan
            return self._plan

    def _misfit(self, topology: RunningTopology, nodes: Mapping[str, str]) -> str:
        wanted = self._wanted.get(topology.name)
        if wanted is None:
            return "it is no part of the bench"
        if wanted.hosts.keys() != {executor.start_task for executor in topology.executors}:
            return "its executors are not those that were placed"
        missing = sorted(set(wanted.hosts.values()) - nodes.keys())
        return f"no supervisor on {', '.join(missing)}" if missing else ""
