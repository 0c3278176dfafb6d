"""What shall run where: one decision per topology, repeated until none changes any more.

Topologies are decided in the order of their ids, each against what the others leave. A decision
may make room for an earlier one, so rounds follow until nothing moves: therefore a cluster that
does as the plan says gets the same plan again. The end is certain: a topology that runs moves only
to a lower cut (by `Settings.min_gain`) or out of a broken limit, never back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType

from stormcut.application.control.attempts import attempts
from stormcut.application.control.declared import keeps_workers
from stormcut.application.control.gathering import gathered
from stormcut.application.control.memory import Memory
from stormcut.application.control.ports import Recorder
from stormcut.application.control.situation import Situation, situation
from stormcut.application.control.usage import Usage
from stormcut.application.control.workload import Workload, misfit
from stormcut.application.control.worth import ENOUGH, verdict, worth
from stormcut.application.place import DEFAULT_ALGORITHM, DEFAULT_SEED, solve
from stormcut.model.cluster import ClusterState, RunningTopology, Slot, Worker
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.model.plan import Declined, Plan, TopologyPlan
from stormcut.model.profile import Profile
from stormcut.objective.metrics import Metrics, measure
from stormcut.objective.verify import violations
from stormcut.placement.registry import ALGORITHMS, has_option, parse_options

KEPT = "kept"
#: Why a topology stays that has done as the plan says.
FOUND = "nothing better was found for this profile"
UNDONE = "undone"
#: The option of an algorithm that can keep `topology.workers`.
WORKERS = "workers"

#: An algorithm is asked at most so often for one topology.
MAX_ATTEMPTS = 8
#: Far above what was ever seen (2 or 3): an algorithm that breaks its word must not hang the brain.
MAX_ROUNDS = 50


#: The option of an algorithm by which it maximises head-room.
OBJECTIVE, HEADROOM = "objective", "headroom"
#: The option of an algorithm that says how long to search.
EFFORT = "effort"
#: For how many topologies, and executors in all, an algorithm may search how long, so that a round
#: takes 10 s: as measured by benchmarks/brain_scale.py.
EFFORTS = (((3, 3_000), None), ((20, 20_000), "0.1"))
HASTE = "0"
#: Nimbus waits for what runs nowhere; what runs may be improved a little later.
URGENT = 4


def effort_for(nowhere: Sequence[int], running: Sequence[int]) -> str | None:
    """Return how long to search, None for the algorithm's default.

    Parameters
    ----------
    nowhere, running : sequence of int
        Executors of each topology that waits for a placement, or may get a better one.
    """
    topologies, executors = len(nowhere) + len(running), URGENT * sum(nowhere) + sum(running)
    for most, effort in EFFORTS:
        if topologies <= most[0] and executors <= most[1]:
            return effort
    return HASTE


@dataclass(frozen=True)
class Settings:
    """How the brain decides; ``min_gain`` is a share of the present traffic between nodes."""

    algorithm: str = DEFAULT_ALGORITHM
    options: Mapping[str, str] = field(default_factory=dict)
    min_gain: float = 0.05
    seed: int = DEFAULT_SEED


@dataclass(frozen=True)
class Decision:
    """One topology's part of a plan, with what a history tells of it.

    ``evidence`` is ``measured``, ``declared``, ``kept`` or ``undone``; ``before`` is None where the
    topology did not run whole. All figures are of ``measured`` traffic, or of declared; bytes/s
    between nodes are None where no size of a tuple was measured. ``former`` is where it ran whole
    if it is to leave that, else empty; ``workers_asked`` is its ``topology.workers``.
    """

    part: TopologyPlan
    evidence: str
    before: Metrics | None
    after: Metrics
    measured: bool
    workers_asked: int
    bytes_before: float | None = None
    bytes_after: float | None = None
    former: tuple[Worker, ...] = ()


@dataclass(frozen=True)
class Decisions:
    """Every topology is in exactly one of the two."""

    decided: tuple[Decision, ...]
    declined: tuple[Declined, ...]


@dataclass(frozen=True)
class _Outcome:
    """Workers that a topology shall have, None if the brain has no opinion."""

    workers: tuple[Worker, ...] | None
    evidence: str
    note: str
    algorithm: str = KEPT


def decide(
    state: ClusterState,
    profiles: Mapping[str, Profile],
    last_plan: Plan | None,
    settings: Settings,
    former: Mapping[str, tuple[Worker, ...]] = MappingProxyType({}),
    is_recent: bool = False,
    memory: Memory | None = None,
    recorder: Recorder | None = None,
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
    """
    memory = Memory() if memory is None else memory
    asked = _Round(state, profiles, last_plan, settings, former, is_recent, memory, recorder)
    return asked.settle()


class _Round:
    """The working memory of one `decide`."""

    def __init__(
        self,
        state: ClusterState,
        profiles: Mapping[str, Profile],
        last_plan: Plan | None,
        settings: Settings,
        former: Mapping[str, tuple[Worker, ...]],
        is_recent: bool,
        memory: Memory,
        recorder: Recorder | None,
    ) -> None:
        self._state = state
        self._recorder = recorder
        self._memory = memory
        self._is_recent = is_recent
        self._settings = settings
        self._former = former
        self._topologies = sorted(
            (t for t in state.topologies if t.executors), key=lambda topology: topology.id
        )
        self._by_id = {t.id: t for t in self._topologies}
        self._idle = [t for t in state.topologies if not t.executors]
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
        self._planned = {p.topology: p for p in last_plan.topologies} if last_plan else {}
        self._outcomes: dict[str, _Outcome] = {}
        self._algorithm = ALGORITHMS[settings.algorithm]
        maximises = self._algorithm.balances or settings.options.get(OBJECTIVE) == HEADROOM
        self._enough = math.inf if maximises else ENOUGH
        self._effort = effort_for(
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
        decided = tuple(
            self._decision(t) for t in self._topologies if self._outcomes[t.id].workers is not None
        )
        declined = [
            Declined(t.id, self._outcomes[t.id].note)
            for t in self._topologies
            if self._outcomes[t.id].workers is None
        ]
        declined += [Declined(t.id, "it has no executors") for t in self._idle]
        return Decisions(decided, tuple(sorted(declined, key=lambda d: d.topology)))

    def _changes(self, topology: RunningTopology) -> bool:
        """Decide one topology anew; return whether it is to run elsewhere than thought."""
        outcome = self._decide(topology)
        before = self._running[topology.id]
        moves = outcome.workers is not None and outcome.workers != before
        if moves or topology.id not in self._outcomes or not self._settled(topology):
            self._outcomes[topology.id] = outcome
        if moves and outcome.workers is not None:
            self._running[topology.id] = outcome.workers
            self._usage.put(self._loads[topology.id], outcome.workers)
        return moves

    def _settled(self, topology: RunningTopology) -> bool:
        """Return whether an earlier round has moved it: what that round said is the reason."""
        return self._running[topology.id] != tuple(sorted(topology.assignment))

    def _decide(self, topology: RunningTopology) -> _Outcome:
        load, present = self._loads[topology.id], self._running[topology.id]
        if topology.id in self._former and not self._no_way_back(topology):
            return self._undone(topology, present)
        running = {task for worker in present for task in worker.executors}
        if len(running) < len(load.tasks):
            return self._restored(topology) or self._placed(topology, load, present)
        if not {worker.slot for worker in present} <= self._state.slots:
            return self._outlived(topology, present)
        if load.measured:
            return self._improved(topology, load, present)
        return self._as_planned(topology, present)

    def _situation(self, load: Workload, present: tuple[Worker, ...]) -> Situation:
        return situation(load, self._usage.left(load.topology.id), present)

    def _situation_now(self, load: Workload, present: tuple[Worker, ...]) -> Situation:
        """Return the situation with no other nodes than where the topology runs."""
        nodes = {worker.slot.node for worker in present}
        return situation(load, self._usage.left(load.topology.id, nodes), present)

    def _undone(self, topology: RunningTopology, present: tuple[Worker, ...]) -> _Outcome:
        former = tuple(sorted(self._former[topology.id]))
        note = "kept: undone" if former == present else "undone: back to where it ran before"
        return _Outcome(former, UNDONE, note)

    def _no_way_back(self, topology: RunningTopology) -> str:
        """Return why a topology cannot run where it ran before, nothing if it can."""
        return self._in_the_way(topology, self._former[topology.id])

    def _in_the_way(self, topology: RunningTopology, workers: tuple[Worker, ...]) -> str:
        """Return why a topology cannot run on workers chosen earlier, nothing if it can."""
        tasks = sorted(task for worker in workers for task in worker.executors)
        if tasks != sorted(e.start_task for e in topology.executors):
            return "its executors are others now"
        slots = {worker.slot for worker in workers}
        if gone := slots - self._state.slots:
            return f"no supervisor offers {_named(min(gone))} now"
        if taken := slots & self._usage.taken(topology.id):
            return f"{_named(min(taken))} is another topology's now"
        return ""

    def _restored(self, topology: RunningTopology) -> _Outcome | None:
        """Return the last plan again where it tells exactly where the missing executors go.

        A worker that died leaves its executors unassigned; all others are where they shall be.
        """
        last, present = self._planned.get(topology.id), self._running[topology.id]
        if last is None or not present:
            return None
        where = {task: worker.slot for worker in last.workers for task in worker.executors}
        undisturbed = all(where.get(t) == w.slot for w in present for t in w.executors)
        if not undisturbed or self._in_the_way(topology, last.workers):
            return None
        return _Outcome(last.workers, KEPT, "kept: as planned before", last.algorithm)

    def _placed(
        self, topology: RunningTopology, load: Workload, present: tuple[Worker, ...]
    ) -> _Outcome:
        evidence = "measured" if load.measured else "declared"
        try:
            workers, notes = self._solved(self._situation(load, present))
        except Infeasible as error:
            return _Outcome(None, evidence, f"not placed: {error}{self._unused(topology)}")
        note = f"placed by {self._basis(load, present)}{notes}{self._unused(topology)}"
        return _Outcome(workers, evidence, note, self._settings.algorithm)

    def _improved(
        self, topology: RunningTopology, load: Workload, present: tuple[Worker, ...]
    ) -> _Outcome:
        here = self._situation_now(load, present)
        now = here.placement(present)
        broken = violations(here.problem, now)
        unused, algorithm = self._unused(topology), self._algorithm_of(load, present)

        def keep(why: str) -> _Outcome:
            self._memory.settle(load, present, self._state, why)
            return _Outcome(present, "measured", f"kept: {why}{unused}", algorithm)

        if not broken and (why := self._memory.settled(load, present, self._state)):
            return keep(why)
        before = worth(here, now)
        if before.travels == 0 and before.headroom >= self._enough and not broken:
            return keep("nothing travels between nodes")
        at = self._situation(load, present)
        try:
            workers, notes = self._solved(at)
        except Infeasible as error:
            return keep(str(error))
        found = verdict(
            before, worth(at, at.placement(workers)), self._settings.min_gain, self._enough
        )
        if not broken and not found.moves:
            return keep(found.why)
        self._memory.settle(load, workers, self._state, FOUND)
        basis = f" by {self._basis(load, present)}"
        why = f", as {broken[0].message}" if broken else found.why or basis
        return _Outcome(workers, "measured", f"moved{why}{notes}{unused}", self._settings.algorithm)

    def _basis(self, load: Workload, present: tuple[Worker, ...]) -> str:
        """Return what the algorithm went by."""
        if not load.measured:
            return "declared structure"
        chosen = self._algorithm
        options = parse_options(chosen, self._options(load.topology.id))
        uses_traffic = chosen.uses_traffic(options, bool(present))
        return "measured traffic" if uses_traffic else f"{chosen.name}, blind to traffic"

    def _as_planned(self, topology: RunningTopology, present: tuple[Worker, ...]) -> _Outcome:
        note = self._unused(topology)
        last = self._planned.get(topology.id)
        earlier = self._outcomes.get(topology.id)
        planned = last.workers if last else None
        if earlier and earlier.workers:
            planned = earlier.workers
        if planned != present:
            nothing = _Outcome(None, KEPT, f"runs already, nothing measured{note}")
            return self._late(topology) or nothing
        algorithm = self._algorithm_of(self._loads[topology.id], present)
        return _Outcome(
            present, KEPT, f"kept: as planned before, nothing measured{note}", algorithm
        )

    def _late(self, topology: RunningTopology) -> _Outcome | None:
        """Return the last plan again if it came too late for Nimbus, and nothing is in its way."""
        last = self._planned.get(topology.id)
        if last is None or not self._is_recent or self._in_the_way(topology, last.workers):
            return None
        return _Outcome(last.workers, "declared", "as planned, too late at first", last.algorithm)

    def _outlived(self, topology: RunningTopology, present: tuple[Worker, ...]) -> _Outcome:
        """Leave alone what runs on while its supervisor is away: Storm does, too.

        What an earlier plan put so stays part of the plan, for the day that the supervisor is back.
        """
        away = "a supervisor is away, its workers run on"
        last = self._planned.get(topology.id)
        if last is None or last.workers != present:
            return _Outcome(None, KEPT, f"{away}; left alone")
        return _Outcome(present, KEPT, f"kept: as planned before; {away}", last.algorithm)

    def _algorithm_of(self, load: Workload, present: tuple[Worker, ...]) -> str:
        """Return the algorithm that made a placement, if the last plan did."""
        last = self._planned.get(load.topology.id)
        return last.algorithm if last and last.workers == present else KEPT

    def _unused(self, topology: RunningTopology) -> str:
        """Return what cannot be used of what is known of a topology, and why."""
        reason = self._misfits.get(topology.id)
        note = f"; the profile does not fit: {reason}" if reason else ""
        if topology.id in self._former and (reason := self._no_way_back(topology)):
            note += f"; it cannot go back to where it ran before: {reason}"
        return note

    def _options(self, topology: str) -> Mapping[str, str]:
        """Return the options of the algorithm for a topology: it may say itself what of workers."""
        algorithm, options = self._settings.algorithm, dict(self._settings.options)
        keeps = keeps_workers(self._by_id[topology])
        if keeps is not None and has_option(algorithm, WORKERS):
            options[WORKERS] = "keep" if keeps else "any"
        if self._effort is not None and has_option(algorithm, EFFORT):
            options.setdefault(EFFORT, self._effort)
        return options

    def _solved(self, at: Situation) -> tuple[tuple[Worker, ...], str]:
        """Return the algorithm's workers from the first attempt that succeeds, and its notes."""
        refused: Infeasible | None = None
        algorithm, seed = self._settings.algorithm, self._settings.seed
        asked = attempts(at.problem, algorithm, self._options(at.load.topology.id))
        for nodes, options in islice(asked, MAX_ATTEMPTS):
            narrowed = at.narrowed(nodes)
            try:
                solution = solve(narrowed.problem, algorithm, seed, options)
            except Infeasible as error:
                refused = error
                continue
            if self._recorder is not None:
                self._recorder.record(narrowed.problem, solution)
            notes = "".join(f" ({note})" for note in solution.notes)
            keep = options.get(WORKERS) == "keep"
            return narrowed.workers(gathered(narrowed, solution.placement, keep)), notes
        raise refused or Infeasible("no node has a free slot", "slots")

    def _decision(self, topology: RunningTopology) -> Decision:
        outcome, load = self._outcomes[topology.id], self._loads[topology.id]
        workers, present = outcome.workers or (), tuple(sorted(topology.assignment))
        used = {worker.slot.node for worker in (*workers, *present)}
        at = situation(load, self._empty.left(only=used), present)
        now, then = Placement(at.problem.current_slots()), at.placement(workers)
        whole = not topology.unassigned and not at.problem.lost_slots
        before = measure(at.problem, now) if whole else None
        after = measure(at.problem, then)
        reason = f"{outcome.note}{_effect(outcome, load.measured, before, after)}"
        return Decision(
            TopologyPlan(topology.id, workers, outcome.algorithm, reason),
            outcome.evidence,
            before,
            after,
            load.measured,
            topology.workers,
            at.bytes_between_nodes(now) if whole else None,
            at.bytes_between_nodes(then),
            present if whole and workers != present else (),
        )


def _named(slot: Slot) -> str:
    return f"slot {slot.node}:{slot.port}"


def _effect(outcome: _Outcome, measured: bool, before: Metrics | None, after: Metrics) -> str:
    if outcome.note.startswith("kept"):
        return ""
    unit = "tuples/s" if measured else "declared units"
    used = f"nodes used {after.nodes_used}, workers {after.workers_used}"
    if before is None:
        return f": {after.inter_node_tuples_per_second:.1f} {unit} between nodes; {used}"
    change = (
        f"{before.inter_node_tuples_per_second:.1f} -> {after.inter_node_tuples_per_second:.1f}"
    )
    return f": {change} {unit} between nodes; {used}; slots changed {after.workers_restarted}"
