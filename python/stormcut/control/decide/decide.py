"""What shall run where: a decision for each topology, repeated until none changes any more.

A round has three steps: what was said earlier (plans, orders back), places for what runs nowhere,
better places for what runs. Topologies that the algorithm can place together are one problem in
each of the last two; where that does not pay as a whole, and for other algorithms and large
clusters, they are decided in the order of their ids, each against what the others leave. Rounds
follow until nothing moves: therefore a cluster that does as the plan says gets the same plan again.
A topology that runs moves only to where it, or all together, are worth more, or out of a broken
limit; by an algorithm's own rule once for a profile.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

from stormcut.control.decide.adviser import Adviser
from stormcut.control.decide.allowed import allowed, in_order
from stormcut.control.decide.choices import Choices
from stormcut.control.decide.completing import completed
from stormcut.control.decide.decision import (
    Action,
    Choice,
    Circumstance,
    Decisions,
    Ground,
    NoPlacement,
    Reason,
)
from stormcut.control.decide.earlier import Earlier
from stormcut.control.decide.effects import Effects
from stormcut.control.decide.improving import Improving, ProposedMove
from stormcut.control.decide.intended import Intended
from stormcut.control.decide.memory import Memory, View
from stormcut.control.decide.pace import Joint
from stormcut.control.decide.question import Question
from stormcut.control.decide.rules import Rules
from stormcut.control.decide.search_budget import effort_for
from stormcut.control.decide.worth import worth
from stormcut.model.cluster import RunningTopology, Worker
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.placement.acceptance import Passing
from stormcut.running.workload import misfit

Workers = tuple[Worker, ...]
Topologies = tuple[RunningTopology, ...]

#: Far above what was ever seen (2 or 3): an algorithm that breaks its word must not hang the brain.
MAX_ROUNDS = 10


def decide(question: Question, memory: Memory | None = None) -> Decisions:
    """Return where every topology's executors shall run.

    Parameters
    ----------
    memory : Memory, optional
        Of earlier decisions with the same settings.
    """
    return _DecisionState(question, Memory() if memory is None else memory).settle()


class _DecisionState:
    """The working memory of one `decide`."""

    def __init__(self, question: Question, memory: Memory) -> None:
        state, profiles, settings = question.state, question.profiles, question.settings
        self._state = state
        self._allowed = allowed(state, question.rule_of)
        self._memory = memory
        self._settings = settings
        self._topologies = in_order((t for t in state.topologies if t.executors), question.rule_of)
        misfits = {
            t.id: reason
            for t in self._topologies
            if t.id in profiles and (reason := misfit(profiles[t.id], t))
        }
        self._loads = {
            t.id: memory.workload(
                t, None if t.id in misfits else profiles.get(t.id), settings.costs
            )
            for t in self._topologies
        }
        memory.forget_all_but(self._loads)
        self._intended = Intended(state, self._loads, settings.costs, self._allowed)
        self._earlier = Earlier(question, self._intended.usage, self._allowed)
        self._choices = Choices(
            self._intended, self._earlier, self._loads, misfits, settings.algorithm
        )
        self._adviser = Adviser(settings, question.recorder, memory.answers)
        executors = sum(len(t.executors) for t in self._topologies)
        self._is_joint = self._adviser.places_together(executors)
        searches = self._searches()
        nowhere = [len(t.executors) for t in self._topologies if t.unassigned]
        self._adviser.effort = effort_for(nowhere, [size for _, size in searches])
        later = memory.later(searches, self._adviser.effort, executors)
        #: Where the last move together has put its topologies: nothing better was found for all.
        self._agreed: View = ()
        #: What was lost and is completed stays so in this decision: a better place is another one,
        #: which the gate is asked for.
        self._completions: dict[str, Choice] = {}
        #: Topologies of which only what must leave has moved: this decision moves no more of them.
        self._relieved: set[str] = set()
        self._effects = Effects(state, self._loads, profiles, self._adviser, settings.costs)
        self._rules = Rules(settings, self._adviser, question.pace, memory, profiles)
        self._improving = Improving(self._intended, self._adviser, self._rules, later)

    def _searches(self) -> list[tuple[Joint, int]]:
        """Return the problems that may find a better place for what runs, and their executors."""
        whole = [t for t in self._topologies if self._loads[t.id].measured and not t.unassigned]
        searches: list[tuple[Joint, int]] = []
        for group in self._groups(whole):
            settled = self._settled(group)
            sizes = {t.id: len(t.executors) for t in group}
            alone = [((name,), size) for name, size in sizes.items() if name not in settled]
            # Each is placed alone, and those of a group together, too.
            if alone and len(group) > 1 and self._is_joint:
                searches.append((tuple(sizes), sum(sizes.values())))
            searches += alone
        return searches

    def _groups(self, topologies: Iterable[RunningTopology]) -> list[Topologies]:
        """Return topologies by the problem that they are placed in; those of one use like nodes."""
        groups: list[Topologies] = []
        for group in self._adviser.groups(topologies, self._is_joint):
            by_nodes: dict[frozenset[str] | None, list[RunningTopology]] = {}
            for topology in group:
                by_nodes.setdefault(self._allowed.of(topology.id), []).append(topology)
            groups += map(tuple, by_nodes.values())
        return groups

    def _settled(self, group: Topologies) -> dict[str, Reason]:
        """Return why topologies stay where they are, of those for which that still holds."""
        view = self._view(group)
        reasons = {t.id: self._memory.settled(t.id, view, self._state) for t in group}
        return {name: reason for name, reason in reasons.items() if reason is not None}

    def _view(self, group: Topologies) -> View:
        return self._intended.view([topology.id for topology in group])

    def settle(self) -> Decisions:
        for _ in range(MAX_ROUNDS):
            before = self._intended.state()
            searching = [topology for topology in self._topologies if not self._follows(topology)]
            # What went back to where it shall be is one of those that may be improved, too.
            if self._intended.state() == before:
                self._search(searching)
            if self._intended.state() == before:
                break
        topologies = sorted(self._state.topologies, key=lambda each: each.id)
        decisions = [self._effects.decision(t, self._weighed(t)) for t in topologies]
        return Decisions(
            tuple(each for each in decisions if each.after is not None),
            tuple(each for each in decisions if each.after is None),
        )

    def _weighed(self, topology: RunningTopology) -> Choice:
        """Return a topology's choice with what its place is worth, as far as that is measured."""
        choice = self._choices[topology]
        if choice.workers is None or choice.then or not self._loads[topology.id].measured:
            return choice
        here = self._intended.where_it_runs(topology.id)
        then = worth(here, Placement(here.problem.current_slots()))
        return replace(choice, now=then if choice.action is Action.KEEP else None, then=then)

    def _search(self, searching: Sequence[RunningTopology]) -> None:
        """Place what runs nowhere, and find better places for what runs."""
        new = {topology.id for topology in searching if not self._runs_whole(topology)}
        waiting = [topology for topology in searching if topology.id in new]
        for group in self._groups(t for t in waiting if not self._spread(t)):
            self._place(group)
        for group in self._groups(topology for topology in searching if self._runs_whole(topology)):
            self._improve(group, new)

    def _runs_whole(self, topology: RunningTopology) -> bool:
        running = {task for w in self._intended.workers[topology.id] for task in w.executors}
        return len(running) == len(self._loads[topology.id].tasks)

    def _follows(self, topology: RunningTopology) -> bool:
        """Decide a topology if the algorithm need not be asked; return whether that is so."""
        choice = self._without_asking(topology)
        if choice is not None:
            self._choices.take(topology, choice)
        return choice is not None

    def _without_asking(self, topology: RunningTopology) -> Choice | None:
        present = self._intended.workers[topology.id]
        if (stays := self._earlier.stays(topology)) is not None:
            return stays
        if (undone := self._earlier.undone(topology, present)) is not None:
            return undone
        if topology.id in self._completions:
            return self._completions[topology.id]
        if not self._runs_whole(topology):
            if not present:
                return None
            choice = self._earlier.restored(topology, present) or self._completed(topology, present)
            self._completions[topology.id] = choice
            return choice
        if not {worker.slot for worker in present} <= self._state.slots:
            return self._earlier.outlived(topology.id, present)
        if self._loads[topology.id].measured:
            return None
        return self._choices.as_planned(topology, present)

    def _completed(self, topology: RunningTopology, present: Workers) -> Choice:
        """Place what was lost beside what lives; where there is no room, Storm decides."""
        situation = self._intended.on_all_nodes([topology.id])
        suspects = self._earlier.suspects(topology, present)
        workers = completed(situation, present, self._earlier.planned(topology.id), suspects)
        if workers is None:
            return Choice(Action.DECLINE, Circumstance.NO_ROOM, Ground.KEPT)
        measured = self._loads[topology.id].measured
        ground = Ground.MEASURED if measured else Ground.DECLARED
        return Choice(Action.PLACE, Circumstance.LOST, ground, workers)

    def _spread(self, topology: RunningTopology) -> bool:
        """Place a topology that was never measured as Storm would; return whether that is done."""
        if self._loads[topology.id].measured or not self._adviser.spreads(topology):
            return False
        situation = self._intended.on_all_nodes([topology.id])
        try:
            name, workers = self._adviser.spread(topology, situation)
        except Infeasible:
            return False
        choice = Choice(Action.PLACE, Circumstance.SPREAD, Ground.DECLARED, workers, name)
        self._choices.place(topology, choice)
        return True

    def _place(self, group: Topologies) -> None:
        """Place topologies on what the others leave; those that do not fit together, in turn."""
        situation = self._intended.on_all_nodes([topology.id for topology in group])
        try:
            advice = self._adviser.advice(group, situation)
        except Infeasible as error:
            if len(group) > 1:
                for topology in group:
                    self._place((topology,))
                return
            placed = [Choice(Action.DECLINE, NoPlacement(str(error)), Ground.DECLARED)]
        else:
            reason, name = Circumstance.INCOMPLETE, self._settings.algorithm
            placed = [
                Choice(Action.PLACE, reason, Ground.DECLARED, workers, name, advice.notes)
                for workers in advice.workers
            ]
        for topology, choice in zip(group, placed, strict=True):
            self._choices.place(topology, choice)

    def _improve(self, group: Topologies, new: Container[str]) -> None:
        """Move topologies to better places, together or each alone.

        Those that are ``new`` are among them as long as it is not settled where the others run.
        """
        group = tuple(topology for topology in group if topology.id not in self._relieved)
        running = tuple(topology for topology in group if topology.id not in new)
        settled = self._settled(running)
        if self._rules.are_own:
            if running:
                self._by_own_rule(running, settled)
            return
        is_settled = len(settled) == len(running)
        members = running if is_settled else group
        if running and len(members) > 1 and self._view(members) != self._agreed:
            moves = self._improving.together(members, is_settled)
            for topology in members:
                if topology.id in moves:
                    self._move(topology, moves[topology.id])
            if moves:
                self._agreed = self._view(members)
                return
        for topology in running:
            others = [each.id for each in members if each is not topology]
            proposed = self._improving.alone(topology, settled.get(topology.id), others)
            if isinstance(proposed, ProposedMove):
                self._move(topology, proposed)
                if not others:
                    self._settle(topology, members, Circumstance.NOTHING_BETTER)
            else:
                self._settle(topology, members, proposed)
                self._choices.keep(topology, proposed)

    def _move(self, topology: RunningTopology, move: ProposedMove) -> None:
        self._choices.move(topology, move)
        if move.is_relief:
            self._relieved.add(topology.id)

    def _by_own_rule(self, running: Topologies, settled: Mapping[str, Reason]) -> None:
        """Such a rule judges what runs, not what this decision has just placed or moved."""
        moves: Mapping[str, ProposedMove] = {}
        reason: Reason = Circumstance.AS_PLANNED
        if all(self._intended.workers[t.id] == tuple(sorted(t.assignment)) for t in running):
            known = next(iter(settled.values())) if len(settled) == len(running) else None
            answer = self._improving.by_own_rule(running, known)
            if isinstance(answer, Mapping):
                moves = answer
            else:
                reason = answer
                for topology in running:
                    self._settle(topology, running, reason)
        for topology in running:
            if topology.id in moves:
                self._move(topology, moves[topology.id])
            else:
                self._choices.keep(topology, reason)

    def _settle(self, topology: RunningTopology, group: Topologies, reason: Reason) -> None:
        """Remember why a topology stays, unless the reason passes."""
        if not isinstance(reason, Passing) and reason is not Circumstance.LATER:
            self._memory.settle(topology.id, self._view(group), self._state, reason)
