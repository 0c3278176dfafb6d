"""Moves of few workers at a time, in parts that can go alone: `parts`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from stormcut.control.decide.decision import Action, Decision, Ground, Guard, Withheld
from stormcut.control.gate.change import Change, Initiator
from stormcut.control.gate.parts import Part, parts
from stormcut.model.cluster import ClusterState, RunningTopology, Slot, Worker
from stormcut.running.declared import max_executors

Workers = tuple[Worker, ...]

#: Between two parts: workers have started by then.
STAGE_SECONDS = 30.0
#: A move whose next stage has not begun for longer is decided again.
MAX_SECONDS = 1800.0


@dataclass(frozen=True)
class MoveProgress:
    """How far the move of a topology is: so many of its workers have yet to end or begin.

    ``left_s`` are the seconds until the last stage may begin, at the earliest.
    """

    topology: str
    workers: int
    workers_left: int
    left_s: float


@dataclass(frozen=True)
class Rollout:
    """A move that is made in stages: the decisions, and how far they are carried out.

    Parameters
    ----------
    decisions : mapping of str to Decision
        Of the topologies that move, by id; they ran whole.
    wholes : mapping of str to Change
        The same moves as they passed the gate: a stage keeps an override.
    most : float
        Workers that may restart in one stage; a part that needs more goes alone.
    budget : float
        Slots in which they may; a part that needs more does not go.
    began_s, staged_s : float
        When it began, and when its last stage was told: seconds of a clock that never runs back.
    number : int
        Stages told by now.
    last_stage : mapping of str to tuple of Worker
        What was told last, by topology id.
    """

    decisions: Mapping[str, Decision]
    wholes: Mapping[str, Change]
    most: float
    budget: float
    began_s: float
    number: int = 0
    staged_s: float = -math.inf
    last_stage: Mapping[str, Workers] = field(default_factory=dict)

    def goes_on(self, state: ClusterState, now: float) -> bool:
        """Return whether there is something left to do, and all is as it was told."""
        running = {t.id: t for t in state.topologies}
        stuck_s = now - max(self.began_s, self.staged_s)
        if stuck_s > MAX_SECONDS or not self.decisions.keys() <= running.keys():
            return False
        if not all(self._is_as_staged(running[name]) for name in self.decisions):
            return False
        used = {w.slot for decision in self.decisions.values() for w in decision.workers}
        present = self.present(state)
        return used <= state.slots and any(
            present[name] != decision.workers for name, decision in self.decisions.items()
        )

    def _is_as_staged(self, topology: RunningTopology) -> bool:
        home = tuple(sorted(topology.assignment))
        places = (self.decisions[topology.id].former, self.last_stage.get(topology.id))
        return not topology.unassigned and home in places

    def present(self, state: ClusterState) -> dict[str, Workers]:
        """Return where those that move run now."""
        return {
            t.id: tuple(sorted(t.assignment)) for t in state.topologies if t.id in self.decisions
        }

    def progress(self, state: ClusterState, now: float) -> tuple[MoveProgress, ...]:
        """Return how far each topology's move is."""
        present = self.present(state)
        left = dict.fromkeys(present, 0)
        for part in self._open_parts(present):
            left[part.topology] += part.workers
        stages = math.ceil(sum(left.values()) / max(min(self.most, self.budget), 1))
        left_s = max(self.left_s(now), 0.0) + max(stages - 1, 0) * STAGE_SECONDS
        all_ = {
            name: sum(part.workers for part in parts(name, decision.former, decision.workers))
            for name, decision in self.decisions.items()
        }
        return tuple(MoveProgress(name, all_[name], left[name], left_s) for name in present)

    def left_s(self, now: float) -> float:
        """Return the seconds until its next stage may begin, 0 or less if it may now."""
        return self.staged_s + STAGE_SECONDS - now

    def advance(
        self, state: ClusterState, chosen: Collection[Part], now: float
    ) -> tuple[Rollout, tuple[Decision, ...]]:
        """Return the move once parts of it are told, and what those that move are told."""
        present = self.present(state)
        staged = dict(present)
        for part in chosen:
            staged[part.topology] = _with(staged[part.topology], part)
        restarts: Counter[str] = Counter()
        for part in chosen:
            restarts[part.topology] += part.restarts
        left = sum(part.workers for part in self._open_parts(staged))
        number = self.number + 1
        note = f"stage {number}, {left} workers to follow" if left else f"stage {number}"
        decisions = tuple(
            self._stage(name, staged[name], restarts[name], note)
            if staged[name] != present[name]
            else self._waiting(name, present[name], STAGE_SECONDS)
            for name in present
        )
        return replace(self, number=number, staged_s=now, last_stage=staged), decisions

    def _open_parts(self, present: Mapping[str, Workers]) -> list[Part]:
        """Return what is yet to be done where those that move run as given."""
        return [
            part
            for name, decision in self.decisions.items()
            for part in parts(name, present[name], decision.workers)
        ]

    def waiting(
        self, state: ClusterState, left_s: float, guard: Guard = Guard.STAGE
    ) -> tuple[Decision, ...]:
        """Return decisions by which all that move stay as they are for so long."""
        present = self.present(state)
        return tuple(self._waiting(name, present[name], left_s, guard) for name in present)

    def changes(self, state: ClusterState, chosen: Collection[Part]) -> list[Change]:
        """Return what parts that go now would change."""
        present = self.present(state)
        changes = []
        for name in sorted({part.topology for part in chosen}):
            target, whole = present[name], self.wholes[name]
            for part in chosen:
                target = _with(target, part) if part.topology == name else target
            changes.append(
                replace(
                    whole,
                    initiator=Initiator.STAGE,
                    home=present[name],
                    target=target,
                    origin=whole.initiator,
                    continues=present[name] != whole.home,
                )
            )
        return changes

    def next(self, state: ClusterState, others: Mapping[str, Workers]) -> list[Part] | None:
        """Return parts that fit now: as many as may, at least one; all if none can go alone.

        None if the rest cannot go.

        Parameters
        ----------
        others : mapping of str to tuple of Worker
            Where all others run or shall run.
        """
        present = self.present(state)
        taken = [worker for workers in others.values() for worker in workers]
        open_ = self._open_parts(present)
        room = _StageRoom(state, (*taken, *(w for workers in present.values() for w in workers)))
        chosen: list[Part] = []
        workers = restarts = 0
        for part in sorted(open_, key=lambda part: part.workers):
            workers, restarts = workers + part.workers, restarts + part.restarts
            if chosen and (workers > self.most or restarts > self.budget):
                break
            if room.takes((part,)):
                room.move((part,))
                chosen.append(part)
            else:
                workers, restarts = workers - part.workers, restarts - part.restarts
        if chosen:
            return chosen
        return open_ if room.takes(open_) else None

    def _stage(self, name: str, workers: Workers, restarts: int, note: str) -> Decision:
        decision = self.decisions[name]
        choice = replace(decision.choice, workers=workers, notes=(*decision.choice.notes, note))
        after = decision.after
        if after is not None:
            after = replace(after, metrics=replace(after.metrics, workers_restarted=restarts))
        return replace(decision, choice=choice, after=after)

    def _waiting(
        self, name: str, workers: Workers, left_s: float, guard: Guard = Guard.STAGE
    ) -> Decision:
        decision = self.decisions[name]
        choice = replace(
            decision.choice,
            action=Action.KEEP,
            reason=Withheld(guard, decision, left_s),
            ground=Ground.KEPT,
            workers=workers,
        )
        after = decision.before
        return replace(decision, choice=choice, after=after, former=())


class _StageRoom:
    """Which slots are taken, and how many executors nodes run."""

    def __init__(self, state: ClusterState, workers: Iterable[Worker]) -> None:
        self._slots: Counter[Slot] = Counter()
        self._executors: Counter[str] = Counter()
        self._most = {s.id: max_executors(s) for s in state.supervisors}
        self._add(workers, 1)

    def _add(self, workers: Iterable[Worker], sign: int) -> None:
        for worker in workers:
            self._slots[worker.slot] += sign
            self._executors[worker.slot.node] += sign * len(worker.executors)

    def move(self, moved: Iterable[Part]) -> None:
        """Take note of parts that go."""
        for part in moved:
            self._add(part.before, -1)
            self._add(part.after, 1)

    def takes(self, moved: Collection[Part]) -> bool:
        """Return whether parts may go at once: slots free, no node above its limit by them."""
        before = dict(self._executors)
        self.move(moved)
        after = [worker for part in moved for worker in part.after]
        fits = all(self._slots[worker.slot] == 1 for worker in after) and not any(
            self._is_above(node, before.get(node, 0)) for node in {w.slot.node for w in after}
        )
        for part in moved:
            self._add(part.after, -1)
            self._add(part.before, 1)
        return fits

    def _is_above(self, node: str, before: int) -> bool:
        most, now = self._most.get(node), self._executors[node]
        return most is not None and now > most and now > before


def _with(workers: Workers, part: Part) -> Workers:
    gone = set(part.before)
    return tuple(sorted((*(w for w in workers if w not in gone), *part.after)))


def decided_elsewhere(
    decisions: Iterable[Decision], state: ClusterState, moving: Collection[str]
) -> Iterator[tuple[str, Workers]]:
    """Yield where all run, or shall run, that do not move in stages."""
    decided = {d.topology: d.workers for d in decisions}
    for topology in state.topologies:
        if topology.id not in moving:
            yield topology.id, decided.get(topology.id, tuple(topology.assignment))
