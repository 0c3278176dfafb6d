"""A brain that says what it was told: each topology of a bench runs as one scheduler placed it."""

from __future__ import annotations

import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stormcut.model.cluster import ClusterState, RunningTopology, Slot, Worker
from stormcut.model.errors import StormcutError
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
        self._decide: dict[str, Callable[[RunningTopology], Wanted]] = {}
        self._seen: dict[str, RunningTopology] = {}
        self._lock = threading.Lock()
        self._plan: Plan | None = None

    def register(self, name: str, decide: Callable[[RunningTopology], Wanted]) -> None:
        """Have the topology of this name placed as ``decide`` says: at once, Nimbus waits."""
        with self._lock:
            self._decide[name] = decide

    def seen(self, name: str) -> RunningTopology:
        """Return a topology of this name as Nimbus described it last.

        Raises
        ------
        StormcutError
            Nimbus has not asked about one: its plugin may be missing.
        """
        with self._lock:
            if name not in self._seen:
                raise StormcutError(f"Nimbus did not ask where to run {name}: see its log")
            return self._seen[name]

    def plan(self, state: ClusterState) -> Plan:
        """Return the plan for a state; topologies that nobody registered are declined."""
        with self._lock:
            nodes = {supervisor.host: supervisor.id for supervisor in state.supervisors}
            placed, declined = [], []
            for topology in state.topologies:
                self._seen[topology.name] = topology
                if topology.name not in self._decide:
                    declined.append(Declined(topology.id, "it is no part of the bench"))
                    continue
                wanted = self._decide[topology.name](topology)
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
