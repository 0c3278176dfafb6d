"""Moves of few workers at a time, in parts that can go alone: `parts`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stormcut.control.decide.decision import Action, Decision, Ground, Guard, Withheld
from stormcut.control.decide.declared import max_executors
from stormcut.control.gate.change import Change, Initiator
from stormcut.control.gate.parts import Part, parts
from stormcut.model.cluster import ClusterState, RunningTopology, Slot, Worker

Workers = tuple[Worker, ...]

#: Returns what withholds parts, None if they may go.
May = Callable[[Sequence["Part"]], Withheld | None]

#: Between two parts: workers have started by then.
STAGE_SECONDS = 30.0
#: A move whose next stage has not begun for longer is decided anew.
MOST_SECONDS = 1800.0


@dataclass
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
    began_s : float
        Seconds since the epoch.
    """

    decisions: Mapping[str, Decision]
    wholes: Mapping[str, Change]
    most: float
    budget: float
    began_s: float
    number: int = 0
    told_s: float = -math.inf
    #: What was told last, none at first.
    told: dict[str, Workers] = field(default_factory=dict)

    def goes_on(self, state: ClusterState, now: float) -> bool:
        """Return whether there is something left to do, and all is as it was told."""
        running = {t.id: t for t in state.topologies}
        stuck_s = now - max(self.began_s, self.told_s)
        if stuck_s > MOST_SECONDS or not self.decisions.keys() <= running.keys():
            return False
        if not all(self._is_as_told(running[name]) for name in self.decisions):
            return False
        used = {w.slot for decision in self.decisions.values() for w in decision.workers}
        present = self.present(state)
        return used <= state.slots and any(
            present[name] != decision.workers for name, decision in self.decisions.items()
        )

    def _is_as_told(self, topology: RunningTopology) -> bool:
        decision = self.decisions[topology.id]
        tasks = {task for worker in decision.workers for task in worker.executors}
        if topology.unassigned or tasks != {each.start_task for each in topology.executors}:
            return False
        home = tuple(sorted(topology.assignment))
        return home in (decision.former, self.told.get(topology.id, decision.former))

    def present(self, state: ClusterState) -> dict[str, Workers]:
        """Return where those that move run now."""
        return {
            t.id: tuple(sorted(t.assignment)) for t in state.topologies if t.id in self.decisions
        }

    def next(
        self, state: ClusterState, others: Mapping[str, Workers], now: float, may: May
    ) -> tuple[Decision, ...] | None:
        """Return what those that move are told now; None if the rest cannot go.

        Parameters
        ----------
        others : mapping of str to tuple of Worker
            Where all others run or shall run.
        may : callable
            What withholds parts that would go now, None if nothing does.
        """
        present = self.present(state)
        left_s = self.told_s + STAGE_SECONDS - now
        if left_s > 0:
            return self.waiting(state, left_s)
        taken = [worker for workers in others.values() for worker in workers]
        chosen = self._chosen(state, present, taken)
        if chosen is None:
            return None
        if (held := may(chosen)) is not None:
            return None if held.is_final else self.waiting(state, held.left_s, held.guard)
        told = dict(present)
        for part in chosen:
            told[part.topology] = _with(told[part.topology], part)
        self.number, self.told_s, self.told = self.number + 1, now, told
        restarts = Counter(dict.fromkeys(present, 0))
        restarts.update({part.topology: 0 for part in chosen})
        for part in chosen:
            restarts[part.topology] += part.restarts
        left = sum(
            part.workers
            for name, decision in self.decisions.items()
            for part in parts(name, told[name], decision.workers)
        )
        note = f"stage {self.number}, {left} workers to follow" if left else f"stage {self.number}"
        return tuple(
            self._stage(name, told[name], restarts[name], note)
            if told[name] != present[name]
            else self._waiting(name, present[name], STAGE_SECONDS)
            for name in present
        )

    def waiting(
        self, state: ClusterState, left_s: float, guard: Guard = Guard.STAGE
    ) -> tuple[Decision, ...]:
        """Return decisions by which all that move stay as they are for so long."""
        present = self.present(state)
        return tuple(self._waiting(name, present[name], left_s, guard) for name in present)

    def changes(self, state: ClusterState, chosen: Collection[Part]) -> list[Change]:
        """Return what parts that go now would change."""
        present = self.present(state)
        found = []
        for name in sorted({part.topology for part in chosen}):
            target, whole = present[name], self.wholes[name]
            for part in chosen:
                target = _with(target, part) if part.topology == name else target
            found.append(
                replace(
                    whole,
                    initiator=Initiator.STAGE,
                    home=present[name],
                    target=target,
                    origin=whole.initiator,
                    continues=present[name] != whole.home,
                )
            )
        return found

    def _chosen(
        self, state: ClusterState, present: Mapping[str, Workers], taken: Collection[Worker]
    ) -> list[Part] | None:
        """Return parts that go now: as many as may, at least one; all if none can go alone."""
        open_ = [
            part
            for name, decision in self.decisions.items()
            for part in parts(name, present[name], decision.workers)
        ]
        room = _Room(state, (*taken, *(w for workers in present.values() for w in workers)))
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


class _Room:
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


def told_elsewhere(
    decisions: Iterable[Decision], state: ClusterState, moving: Collection[str]
) -> Iterator[tuple[str, Workers]]:
    """Yield where all run, or shall run, that do not move in stages."""
    decided = {d.topology: d.workers for d in decisions}
    for topology in state.topologies:
        if topology.id not in moving:
            yield topology.id, decided.get(topology.id, tuple(topology.assignment))
