"""What was chosen for a topology earlier, and whether it still can be: plans, and orders back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from stormcut.control.decide.allowed import Allowed
from stormcut.control.decide.decision import (
    KEPT,
    Action,
    Choice,
    Circumstance,
    Ground,
    InTheWay,
    Obstacle,
)
from stormcut.control.decide.question import Question
from stormcut.control.orders import By
from stormcut.model.cluster import RunningTopology, Slot, Worker
from stormcut.running.declared import max_executors
from stormcut.running.usage import Usage

Workers = tuple[Worker, ...]

_REASONS = {By.PERSON: Circumstance.UNDONE, By.CONTROLLER: Circumstance.TAKEN_BACK}


class Earlier:
    """The last plan and the orders to go back, in view of what runs and who uses which slots."""

    def __init__(self, question: Question, usage: Usage, allowed: Allowed) -> None:
        last_plan = question.last_plan
        self._state = question.state
        self._usage = usage
        self._allowed = allowed
        self._planned = {p.topology: p for p in last_plan.topologies} if last_plan else {}
        self._undos = question.undos
        self._staying = question.staying
        self._is_recent = question.is_recent
        self._lost = question.lost
        self._drained = {s.id for s in question.state.supervisors if max_executors(s) == 0}

    def planned(self, topology: str) -> Workers | None:
        """Return where the last plan put a topology, None if it did not."""
        last = self._planned.get(topology)
        return None if last is None else last.workers

    def algorithm(self, topology: str, present: Workers) -> str:
        """Return the algorithm that made a placement, if the last plan did."""
        last = self._planned.get(topology)
        return last.algorithm if last and last.workers == present else KEPT

    def no_way_back(self, topology: RunningTopology) -> InTheWay | None:
        """Return why a topology cannot run where it shall run again, None if it can or need not."""
        undo = self._undos.get(topology.id)
        if undo is None:
            return None
        # An order to drain outranks what keeps a place.
        workers = undo.target(topology)
        if drained := {w.slot for w in workers if w.slot.node in self._drained}:
            return self._name(Obstacle.DRAINED, drained)
        return self._in_the_way(topology, workers)

    def _in_the_way(self, topology: RunningTopology, workers: Workers) -> InTheWay | None:
        tasks = sorted(task for worker in workers for task in worker.executors)
        if tasks != sorted(e.start_task for e in topology.executors):
            return InTheWay(Obstacle.OTHER_EXECUTORS)
        slots = {worker.slot for worker in workers}
        if gone := slots - self._state.slots:
            return self._name(Obstacle.SLOT_GONE, gone)
        if taken := slots & self._usage.taken(topology.id):
            return self._name(Obstacle.SLOT_TAKEN, taken)
        if excluded := {w.slot for w in workers if not self._allowed.has(topology.id, (w,))}:
            return self._name(Obstacle.EXCLUDED, excluded)
        return None

    def _name(self, obstacle: Obstacle, slots: Collection[Slot]) -> InTheWay:
        """Return what is in the way, and the first of its slots, by its host if that is known."""
        first = min(slots)
        host = self._state.hosts.get(first.node, first.node)
        return InTheWay(obstacle, replace(first, node=host))

    def stays(self, topology: RunningTopology) -> Choice | None:
        """Return that a topology keeps its workers where a guard says so, else None."""
        workers = self._staying.get(topology.id)
        if workers is None:
            return None
        return Choice(Action.KEEP, Circumstance.STAYS, Ground.KEPT, workers)

    def undone(self, topology: RunningTopology, present: Workers) -> Choice | None:
        """Return the order to go back, None without one that can be followed."""
        undo = self._undos.get(topology.id)
        if undo is None or self.no_way_back(topology):
            return None
        workers = undo.target(topology)
        action = Action.KEEP if workers == present else Action.UNDO
        reason = _REASONS[undo.by] if undo.workers else Circumstance.STOPPED
        return Choice(action, reason, Ground.UNDONE, workers)

    def restored(self, topology: RunningTopology, present: Workers) -> Choice | None:
        """Return the last plan again where it tells exactly where the missing executors go.

        A worker that died leaves its executors unassigned; all others are where they shall be.
        """
        last = self._planned.get(topology.id)
        if last is None or not present:
            return None
        where = {task: worker.slot for worker in last.workers for task in worker.executors}
        undisturbed = all(where.get(t) == w.slot for w in present for t in w.executors)
        if not undisturbed or self._in_the_way(topology, last.workers):
            return None
        missing = Counter(where[task].node for task in topology.unassigned if task in where)
        suspects = self.suspects(topology, present)
        if suspects.intersection(missing) or not self._has_room(missing):
            return None
        reason = Circumstance.AS_PLANNED
        return Choice(Action.KEEP, reason, Ground.KEPT, last.workers, last.algorithm)

    def suspects(self, topology: RunningTopology, present: Workers) -> frozenset[str]:
        """Return the nodes that have lost all of a topology's workers."""
        here = {worker.slot.node for worker in present}
        missing = set(topology.unassigned)
        planned = self.planned(topology.id) or ()
        gone = {w.slot.node for w in planned if missing.intersection(w.executors)}
        return self._lost.get(topology.id, frozenset()) | (gone - here)

    def _has_room(self, missing: Mapping[str, int]) -> bool:
        """Return whether nodes may have so many executors more: drained ones may not."""
        running: Counter[str] = Counter()
        for topology in self._state.topologies:
            for worker in topology.assignment:
                running[worker.slot.node] += len(worker.executors)
        most = {s.id: max_executors(s) for s in self._state.supervisors}
        return all(
            (limit := most[node]) is None or running[node] + count <= limit
            for node, count in missing.items()
        )

    def late(self, topology: RunningTopology) -> Choice | None:
        """Return the last plan again if it came too late for Nimbus, and nothing is in its way."""
        last = self._planned.get(topology.id)
        if last is None or not self._is_recent or self._in_the_way(topology, last.workers):
            return None
        if any(worker.slot.node in self._drained for worker in last.workers):
            return None
        reason = Circumstance.TOO_LATE
        return Choice(Action.MOVE, reason, Ground.DECLARED, last.workers, last.algorithm)

    def outlived(self, topology: str, present: Workers) -> Choice:
        """Leave alone what runs on while its supervisor is away: Storm does, too.

        What an earlier plan put so stays part of the plan, for the day that the supervisor is back.
        """
        last = self._planned.get(topology)
        if last is None or last.workers != present:
            return Choice(Action.DECLINE, Circumstance.AWAY, Ground.KEPT)
        return Choice(Action.KEEP, Circumstance.AWAY, Ground.KEPT, present, last.algorithm)
