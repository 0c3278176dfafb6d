"""What shall run where: one decision per topology, repeated until none changes any more.

Topologies are decided in the order of their ids, each against what the others leave. A decision
may make room for an earlier one, so rounds follow until nothing moves: therefore a cluster that
does as the plan says gets the same plan again. The end is certain: a topology that runs moves only
to a lower cut (by `Settings.min_gain`) or out of a broken limit, never back; by an algorithm's own
rule it moves once for a profile.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from stormcut.application.control.adviser import Adviser, Settings, effort_for
from stormcut.application.control.decision import (
    Action,
    BreaksLimit,
    Choice,
    Circumstance,
    Decision,
    Decisions,
    Evidence,
    Ground,
    NoPlacement,
    Reason,
    Unused,
    Value,
    Worth,
)
from stormcut.application.control.earlier import Earlier
from stormcut.application.control.memory import Memory
from stormcut.application.control.pace import Pace
from stormcut.application.control.ports import Recorder
from stormcut.application.control.rules import Rules
from stormcut.application.control.situation import Situation, situation
from stormcut.application.control.usage import Usage
from stormcut.application.control.workload import Workload, misfit
from stormcut.application.control.worth import worth
from stormcut.model.cluster import ClusterState, RunningTopology, Worker
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.model.plan import Plan
from stormcut.model.profile import Profile
from stormcut.objective.metrics import measure
from stormcut.objective.verify import violations
from stormcut.placement.acceptance import Passing

Workers = tuple[Worker, ...]

#: Far above what was ever seen (2 or 3): an algorithm that breaks its word must not hang the brain.
MAX_ROUNDS = 50


def decide(
    state: ClusterState,
    profiles: Mapping[str, Profile],
    last_plan: Plan | None,
    settings: Settings,
    former: Mapping[str, tuple[Worker, ...]] = MappingProxyType({}),
    is_recent: bool = False,
    memory: Memory | None = None,
    recorder: Recorder | None = None,
    pace: Pace | None = None,
) -> Decisions:
    """Return where every topology's executors shall run.

    Parameters
    ----------
    profiles : mapping of str to Profile
        By topology id; one that does not fit the executors is not used, and the reason says so.
    last_plan : Plan, optional
        The plan that the cluster was told last: what it placed stays as long as nothing better
        is known.
    former : mapping of str to tuple of Worker
        By topology id: where it ran before and shall run again, whatever is better, as long as
        that is possible.
    is_recent : bool
        The last plan is so young that what runs otherwise has hardly begun: the plan came too late
        for Nimbus's deadline, and is offered again.
    memory : Memory, optional
        Of earlier decisions with the same settings.
    recorder : Recorder, optional
        Told of every answer of the algorithm that is used.
    pace : Pace, optional
        When topologies moved and how long conditions have held, as far as that is known.
    """
    memory = Memory() if memory is None else memory
    pace = Pace() if pace is None else pace
    asked = _Round(state, profiles, last_plan, settings, former, is_recent, memory, recorder, pace)
    return asked.settle()


class _Round:
    """The working memory of one `decide`."""

    def __init__(
        self,
        state: ClusterState,
        profiles: Mapping[str, Profile],
        last_plan: Plan | None,
        settings: Settings,
        former: Mapping[str, Workers],
        is_recent: bool,
        memory: Memory,
        recorder: Recorder | None,
        pace: Pace,
    ) -> None:
        self._state = state
        self._profiles = profiles
        self._memory = memory
        self._settings = settings
        self._topologies = sorted(
            (t for t in state.topologies if t.executors), key=lambda topology: topology.id
        )
        self._misfits = {
            t.id: reason
            for t in self._topologies
            if t.id in profiles and (reason := misfit(profiles[t.id], t))
        }
        self._loads = {
            t.id: memory.workload(t, None if t.id in self._misfits else profiles.get(t.id))
            for t in self._topologies
        }
        memory.forget_all_but(self._loads)
        self._running = {t.id: tuple(sorted(t.assignment)) for t in self._topologies}
        self._usage = Usage(state)
        for topology in self._topologies:
            self._usage.put(self._loads[topology.id], self._running[topology.id])
        #: As if nothing ran: what placements are measured on.
        self._empty = Usage(state)
        self._earlier = Earlier(state, self._usage, last_plan, former, is_recent)
        self._choices: dict[str, Choice] = {}
        self._adviser = Adviser(settings, self._effort(), recorder)
        self._rules = Rules(settings, self._adviser.enough, pace, profiles)

    def _effort(self) -> str | None:
        return effort_for(
            [len(t.executors) for t in self._topologies if t.unassigned],
            [len(t.executors) for t in self._topologies if self._may_improve(t)],
        )

    def _may_improve(self, topology: RunningTopology) -> bool:
        load, present = self._loads[topology.id], self._running[topology.id]
        settled = self._memory.settled(load, present, self._state) is not None
        return load.measured and not topology.unassigned and not settled

    def settle(self) -> Decisions:
        for _ in range(MAX_ROUNDS):
            changed = [topology.id for topology in self._topologies if self._changes(topology)]
            if not changed:
                break
        topologies = sorted(self._state.topologies, key=lambda each: each.id)
        decisions = [self._decision(topology) for topology in topologies]
        return Decisions(
            tuple(each for each in decisions if each.after is not None),
            tuple(each for each in decisions if each.after is None),
        )

    def _changes(self, topology: RunningTopology) -> bool:
        """Decide one topology anew; return whether it is to run elsewhere than thought."""
        choice = self._choose(topology)
        before = self._running[topology.id]
        moves = choice.workers is not None and choice.workers != before
        if moves or topology.id not in self._choices or not self._settled(topology):
            self._choices[topology.id] = choice
        if moves and choice.workers is not None:
            self._running[topology.id] = choice.workers
            self._usage.put(self._loads[topology.id], choice.workers)
        return moves

    def _settled(self, topology: RunningTopology) -> bool:
        """Return whether an earlier round has moved it: what that round said is the reason."""
        return self._running[topology.id] != tuple(sorted(topology.assignment))

    def _choose(self, topology: RunningTopology) -> Choice:
        load, present = self._loads[topology.id], self._running[topology.id]
        if undone := self._earlier.undone(topology, present):
            return undone
        running = {task for worker in present for task in worker.executors}
        if len(running) < len(load.tasks):
            restored = self._earlier.restored(topology, present)
            return restored or self._placed(topology, load, present)
        if not {worker.slot for worker in present} <= self._state.slots:
            return self._earlier.outlived(topology.id, present)
        if load.measured:
            return self._improved(topology, load, present)
        return self._as_planned(topology, present)

    def _situation(self, load: Workload, present: Workers) -> Situation:
        return situation(load, self._usage.left(load.topology.id), present)

    def _situation_now(self, load: Workload, present: Workers) -> Situation:
        """Return the situation with no other nodes than where the topology runs."""
        nodes = {worker.slot.node for worker in present}
        return situation(load, self._usage.left(load.topology.id, nodes), present)

    def _unused(self, topology: RunningTopology) -> Unused:
        return Unused(self._misfits.get(topology.id, ""), self._earlier.no_way_back(topology))

    def _placed(self, topology: RunningTopology, load: Workload, present: Workers) -> Choice:
        ground = Ground.MEASURED if load.measured else Ground.DECLARED
        unused = self._unused(topology)
        try:
            found = self._adviser.advice(topology, self._situation(load, present))
        except Infeasible as error:
            return Choice(Action.DECLINE, NoPlacement(str(error)), ground, unused=unused)
        return Choice(
            Action.PLACE,
            Circumstance.INCOMPLETE,
            ground,
            found.workers,
            self._settings.algorithm,
            found.notes,
            unused,
        )

    def _improved(self, topology: RunningTopology, load: Workload, present: Workers) -> Choice:
        here = self._situation_now(load, present)
        now = here.placement(present)
        broken = violations(here.problem, now)
        if not broken and (reason := self._memory.settled(load, present, self._state)):
            return self._kept(topology, load, present, reason)
        if not broken and self._rules.are_own and self._settled(topology):
            # Such a rule judges what runs: this does not run there yet.
            return Choice(Action.KEEP, Circumstance.AS_PLANNED, Ground.MEASURED, present)
        before = worth(here, now)
        if before.travels == 0 and before.headroom >= self._adviser.enough and not broken:
            return self._kept(topology, load, present, Circumstance.NOTHING_TRAVELS)
        at = self._situation(load, present)
        try:
            found = self._adviser.advice(topology, at)
        except Infeasible as error:
            return self._kept(topology, load, present, NoPlacement(str(error)))
        proposed = at.placement(found.workers)
        after = worth(at, proposed)
        judged = self._rules.verdict(
            (topology.id,), at.problem, at.placement(present), proposed, before, after
        )
        if not broken and not judged.moves:
            return self._kept(topology, load, present, judged.reason)
        self._memory.settle(load, found.workers, self._state, Circumstance.NOTHING_BETTER)
        return Choice(
            Action.MOVE,
            BreaksLimit(broken[0]) if broken else judged.reason,
            Ground.MEASURED,
            found.workers,
            self._settings.algorithm,
            found.notes,
            self._unused(topology),
            before,
            after,
        )

    def _kept(
        self, topology: RunningTopology, load: Workload, present: Workers, reason: Reason
    ) -> Choice:
        """Keep what runs, and remember why, unless the reason passes."""
        if not isinstance(reason, Passing):
            self._memory.settle(load, present, self._state, reason)
        return Choice(
            Action.KEEP,
            reason,
            Ground.MEASURED,
            present,
            self._earlier.algorithm(topology.id, present),
            unused=self._unused(topology),
        )

    def _as_planned(self, topology: RunningTopology, present: Workers) -> Choice:
        """Keep what was planned; what was not is left to Storm."""
        reason, unused = Circumstance.UNMEASURED, self._unused(topology)
        earlier = self._choices.get(topology.id)
        planned = self._earlier.planned(topology.id)
        if earlier and earlier.workers:
            planned = earlier.workers
        if planned != present:
            nothing = Choice(Action.DECLINE, reason, Ground.KEPT, unused=unused)
            return self._earlier.late(topology) or nothing
        algorithm = self._earlier.algorithm(topology.id, present)
        return Choice(Action.KEEP, reason, Ground.KEPT, present, algorithm, unused=unused)

    def _decision(self, topology: RunningTopology) -> Decision:
        if not topology.executors:
            idle = Choice(Action.DECLINE, Circumstance.NO_EXECUTORS, Ground.KEPT)
            return Decision(topology.id, idle, Evidence(Ground.KEPT))
        choice, load = self._choices[topology.id], self._loads[topology.id]
        evidence = self._evidence(topology, choice)
        if choice.workers is None:
            return Decision(topology.id, choice, evidence)
        workers, present = choice.workers, tuple(sorted(topology.assignment))
        used = {worker.slot.node for worker in (*workers, *present)}
        at = situation(load, self._empty.left(only=used), present)
        whole = not topology.unassigned and not at.problem.lost_slots
        now = Placement(at.problem.current_slots())
        return Decision(
            topology.id,
            choice,
            evidence,
            _value(at, now, choice.now) if whole else None,
            _value(at, at.placement(workers), choice.then),
            topology.workers,
            self._adviser.workers(topology),
            present if whole and workers != present else (),
        )

    def _evidence(self, topology: RunningTopology, choice: Choice) -> Evidence:
        measured = self._loads[topology.id].measured
        profile = self._profiles[topology.id].to_epoch_s if measured else None
        running = bool(topology.assignment)
        return Evidence(choice.ground, profile, self._adviser.uses_traffic(topology, running))


def _value(at: Situation, placement: Placement, its_worth: Worth | None) -> Value:
    return Value(measure(at.problem, placement), at.bytes_between_nodes(placement), its_worth)
