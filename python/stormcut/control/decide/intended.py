"""Where topologies shall run as far as that is decided, and what they leave to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stormcut.control.decide.allowed import Allowed
from stormcut.control.decide.decision import BreaksLimit
from stormcut.control.decide.memory import View
from stormcut.model.cluster import ClusterState, Worker
from stormcut.model.network import Costs
from stormcut.model.placement import Placement
from stormcut.objective.verify import Violation, violations
from stormcut.running.declared import max_executors
from stormcut.running.situation import Situation, situation
from stormcut.running.usage import Usage
from stormcut.running.workload import Workload

Workers = tuple[Worker, ...]


class Intended:
    """What runs, and what of it was decided to run elsewhere.

    Parameters
    ----------
    loads : mapping of str to Workload
        By topology id.
    costs : Costs, optional
        Of transfer; None: those that are shipped.
    allowed : Allowed
        On which nodes each may run.
    """

    def __init__(
        self,
        state: ClusterState,
        loads: Mapping[str, Workload],
        costs: Costs | None,
        allowed: Allowed,
    ) -> None:
        self._allowed = allowed
        self.usage = Usage(state, costs)
        self._loads = loads
        self._costs = costs
        #: Hosts of the nodes that shall run nothing, by id.
        self._drained = {s.id: s.host for s in state.supervisors if max_executors(s) == 0}
        self.workers: dict[str, Workers] = {}
        for topology in state.topologies:
            if topology.id in loads:
                self.put(topology.id, tuple(sorted(topology.assignment)))

    def put(self, topology: str, workers: Workers) -> None:
        """Let a topology run on these workers."""
        if self.workers.get(topology) != workers:
            self.workers[topology] = workers
            self.usage.put(self._loads[topology], workers)

    def on_all_nodes(self, topologies: Sequence[str]) -> Situation:
        """Return the situation of topologies on what the others leave; all may use like nodes."""
        return self._at(topologies, None)

    def where_it_runs(self, topology: str) -> Situation:
        """Return the situation with no other nodes than where the topology runs."""
        return self._at((topology,), {worker.slot.node for worker in self.workers[topology]})

    def _at(self, topologies: Sequence[str], only: set[str] | None) -> Situation:
        return situation(
            [self._loads[name] for name in topologies],
            self._allowed.limited(topologies[0], self.usage.left(set(topologies), only)),
            [self.workers[name] for name in topologies],
            self._costs,
        )

    def broken_limit(
        self, topologies: Sequence[str], situation: Situation, now: Placement
    ) -> BreaksLimit | None:
        """Return a limit that topologies break where they run, None if they break none.

        A drained node comes first, and is called so: its limit is an order, not its size. CPU comes
        last: a node that is full still serves.
        """
        leaving = [
            worker
            for name in topologies
            for worker in self.workers[name]
            if worker.slot.node in self._drained
        ]
        if leaving:
            hosts = sorted({self._drained[worker.slot.node] for worker in leaving})
            are = "is" if len(hosts) == 1 else "are"
            count = sum(len(worker.executors) for worker in leaving)
            what = f"{' and '.join(hosts)} {are} drained; executors to move: {count}"
            return BreaksLimit(Violation("max_executors", what))
        broken = violations(situation.problem, now)
        first = min(broken, key=lambda each: each.constraint == "cpu", default=None)
        return None if first is None else BreaksLimit(first)

    def view(self, topologies: Sequence[str]) -> View:
        """Return what a verdict of these topologies rests on."""
        return tuple((self._loads[name], self.workers[name]) for name in topologies)

    def state(self) -> tuple[Workers, ...]:
        """Return all workers: equal if nothing has moved."""
        return tuple(self.workers.values())
