"""What shall run where: one decision per topology, repeated until none changes any more.

Topologies are decided in the order of their ids, each against what the others leave. A decision
may make room for an earlier one, so rounds follow until nothing moves: therefore a cluster that
does as the plan says gets the same plan again. The end is certain: a topology that runs moves only
to a lower cut (by `Settings.min_gain`) or out of a broken limit, never back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from stormcut.application.gathering import gathered
from stormcut.application.place import DEFAULT_ALGORITHM, solve
from stormcut.application.situation import Situation, Workload, misfit, situation, workload
from stormcut.model.cluster import ClusterState, RunningTopology, Worker
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.model.plan import Declined, Plan, TopologyPlan
from stormcut.model.problem import Node, Problem
from stormcut.model.profile import Profile
from stormcut.objective.metrics import Metrics, measure
from stormcut.objective.verify import violations
from stormcut.placement import p_scheduler

CUT = "cut"
P_SCHEDULER = "p-scheduler"
KEPT = "kept"

#: An algorithm is asked at most so often for one topology.
MAX_ATTEMPTS = 8
#: Far above what was ever seen (2 or 3): an algorithm that breaks its word must not hang the brain.
MAX_ROUNDS = 50


@dataclass(frozen=True)
class Settings:
    """How the brain decides; ``min_gain`` is a share of the present traffic between nodes."""

    algorithm: str = DEFAULT_ALGORITHM
    options: Mapping[str, str] = field(default_factory=dict)
    min_gain: float = 0.05
    seed: int = 0


@dataclass(frozen=True)
class Decision:
    """One topology's part of a plan, with what a history tells of it.

    ``evidence`` is ``measured``, ``declared`` or ``kept``; ``before`` is None where the topology
    did not run whole.
    """

    part: TopologyPlan
    evidence: str
    before: Metrics | None
    after: Metrics


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
) -> Decisions:
    """Return where every topology's executors shall run.

    Parameters
    ----------
    profiles : mapping of str to Profile
        By topology id; one that does not fit the executors is not used, and the reason says so.
    last_plan : Plan, optional
        The plan that the cluster was told last: what it placed stays as long as nothing better
        is known.
    """
    return _Round(state, profiles, last_plan, settings).settle()


class _Round:
    """The working memory of one `decide`."""

    def __init__(
        self,
        state: ClusterState,
        profiles: Mapping[str, Profile],
        last_plan: Plan | None,
        settings: Settings,
    ) -> None:
        self._state = state
        self._settings = settings
        self._topologies = sorted(
            (t for t in state.topologies if t.executors), key=lambda topology: topology.id
        )
        self._empty = [t for t in state.topologies if not t.executors]
        self._misfits = {
            t.id: reason
            for t in self._topologies
            if t.id in profiles and (reason := misfit(profiles[t.id], t))
        }
        self._loads = {
            t.id: workload(t, None if t.id in self._misfits else profiles.get(t.id))
            for t in self._topologies
        }
        self._running = {t.id: tuple(sorted(t.assignment)) for t in self._topologies}
        self._planned = {p.topology: p for p in last_plan.topologies} if last_plan else {}
        self._outcomes: dict[str, _Outcome] = {}

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
        declined += [Declined(t.id, "it has no executors") for t in self._empty]
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
        return moves

    def _settled(self, topology: RunningTopology) -> bool:
        """Return whether an earlier round has moved it: what that round said is the reason."""
        return self._running[topology.id] != tuple(sorted(topology.assignment))

    def _decide(self, topology: RunningTopology) -> _Outcome:
        load, present = self._loads[topology.id], self._running[topology.id]
        running = {task for worker in present for task in worker.executors}
        if len(running) < len(load.tasks):
            return self._restored(topology) or self._placed(topology, load, present)
        if not {worker.slot for worker in present} <= self._state.slots:
            return _Outcome(None, KEPT, "runs on a slot that no supervisor offers now; left alone")
        if load.measured:
            return self._improved(load, present)
        return self._as_planned(topology, present)

    def _others(self, load: Workload) -> Iterator[tuple[Workload, tuple[Worker, ...]]]:
        for topology in self._topologies:
            if topology.id != load.topology.id:
                yield self._loads[topology.id], self._running[topology.id]

    def _situation(self, load: Workload, present: tuple[Worker, ...]) -> Situation:
        return situation(load, self._state, present, self._others(load))

    def _restored(self, topology: RunningTopology) -> _Outcome | None:
        """Return the last plan again where it tells exactly where the missing executors go.

        A worker that died leaves its executors unassigned; all others are where they shall be.
        """
        last, present = self._planned.get(topology.id), self._running[topology.id]
        if last is None or not present:
            return None
        where = {task: worker.slot for worker in last.workers for task in worker.executors}
        taken = {w.slot for _, workers in self._others(self._loads[topology.id]) for w in workers}
        whole = where.keys() == {e.start_task for e in topology.executors}
        undisturbed = all(where.get(t) == w.slot for w in present for t in w.executors)
        free = set(where.values()) <= self._state.slots - taken
        if not (whole and undisturbed and free):
            return None
        return _Outcome(last.workers, KEPT, "kept: as planned before", last.algorithm)

    def _placed(
        self, topology: RunningTopology, load: Workload, present: tuple[Worker, ...]
    ) -> _Outcome:
        evidence = "measured" if load.measured else "declared"
        try:
            workers, notes = self._solved(self._situation(load, present))
        except Infeasible as error:
            return _Outcome(None, evidence, f"not placed: {error}{self._profile_note(topology)}")
        basis = "measured traffic" if load.measured else "declared structure"
        note = f"placed by {basis}{notes}{self._profile_note(topology)}"
        return _Outcome(workers, evidence, note, self._settings.algorithm)

    def _improved(self, load: Workload, present: tuple[Worker, ...]) -> _Outcome:
        at = self._situation(load, present)
        now = at.placement(present)
        broken = violations(at.problem, now)
        keep = partial(_Outcome, present, "measured", algorithm=self._algorithm_of(load, present))
        cut = measure(at.problem, now).inter_node_tuples_per_second
        if cut == 0 and not broken:
            return keep("kept: nothing travels between nodes")
        try:
            workers, notes = self._solved(at)
        except Infeasible as error:
            return keep(f"kept: {error}")
        saved = cut - measure(at.problem, at.placement(workers)).inter_node_tuples_per_second
        if broken:
            note = f"moved, as {broken[0].message}{notes}"
            return _Outcome(workers, "measured", note, self._settings.algorithm)
        if saved <= 0 or saved < self._settings.min_gain * cut:
            found = f"the best found saves {max(saved, 0) / cut:.1%} of {cut:.1f} tuples/s"
            return keep(f"kept: {found} between nodes, less than {self._settings.min_gain:.0%}")
        note = f"moved by measured traffic{notes}"
        return _Outcome(workers, "measured", note, self._settings.algorithm)

    def _as_planned(self, topology: RunningTopology, present: tuple[Worker, ...]) -> _Outcome:
        note = self._profile_note(topology)
        last = self._planned.get(topology.id)
        earlier = self._outcomes.get(topology.id)
        planned = last.workers if last else None
        if earlier and earlier.workers:
            planned = earlier.workers
        if planned != present:
            return _Outcome(None, KEPT, f"runs already, nothing measured{note}")
        algorithm = self._algorithm_of(self._loads[topology.id], present)
        return _Outcome(
            present, KEPT, f"kept: as planned before, nothing measured{note}", algorithm
        )

    def _algorithm_of(self, load: Workload, present: tuple[Worker, ...]) -> str:
        """Return the algorithm that made a placement, if the last plan did."""
        last = self._planned.get(load.topology.id)
        return last.algorithm if last and last.workers == present else KEPT

    def _profile_note(self, topology: RunningTopology) -> str:
        reason = self._misfits.get(topology.id)
        return f"; the profile does not fit: {reason}" if reason else ""

    def _solved(self, at: Situation) -> tuple[tuple[Worker, ...], str]:
        """Return the algorithm's workers from the first attempt that succeeds, and its notes."""
        refused: Infeasible | None = None
        algorithm, seed = self._settings.algorithm, self._settings.seed
        for nodes, options in islice(attempts(at.problem, self._settings), MAX_ATTEMPTS):
            narrowed = at.narrowed(nodes)
            try:
                solution = solve(narrowed.problem, algorithm, seed, options)
            except Infeasible as error:
                refused = error
                continue
            notes = "".join(f" ({note})" for note in solution.notes)
            return narrowed.workers(gathered(narrowed, solution.placement)), notes
        raise refused or Infeasible("no node has a free slot", "slots")

    def _decision(self, topology: RunningTopology) -> Decision:
        outcome, load = self._outcomes[topology.id], self._loads[topology.id]
        workers = outcome.workers or ()
        at = situation(load, self._state, tuple(sorted(topology.assignment)), ())
        before = None
        whole = not topology.unassigned and not at.problem.lost_slots
        if whole:
            before = measure(at.problem, Placement(at.problem.current_slots()))
        after = measure(at.problem, at.placement(workers))
        reason = f"{outcome.note}{_effect(outcome, before, after)}"
        part = TopologyPlan(topology.id, workers, outcome.algorithm, reason)
        return Decision(part, outcome.evidence, before, after)


def _effect(outcome: _Outcome, before: Metrics | None, after: Metrics) -> str:
    if outcome.note.startswith("kept"):
        return ""
    unit = "tuples/s" if outcome.evidence == "measured" else "declared units"
    used = f"nodes used {after.nodes_used}, workers {after.workers_used}"
    if before is None:
        return f": {after.inter_node_tuples_per_second:.1f} {unit} between nodes; {used}"
    change = (
        f"{before.inter_node_tuples_per_second:.1f} -> {after.inter_node_tuples_per_second:.1f}"
    )
    return f": {change} {unit} between nodes; {used}, restarted {after.workers_restarted}"


def attempts(
    problem: Problem, settings: Settings
) -> Iterator[tuple[tuple[Node, ...], dict[str, str]]]:
    """Yield sets of nodes and options of the algorithm to try in turn, given ones unchanged.

    `cut` may fill nodes' CPU only in part, to the thesis's share, unless there is no other way.
    P-Scheduler knows one capacity, and what other topologies leave of the nodes is never equal: it
    takes the smallest node's.
    """
    given, usable = dict(settings.options), tuple(node for node in problem.nodes if node.ports)
    if settings.algorithm == P_SCHEDULER:
        for nodes in node_sets(problem, settings):
            yield nodes, {"capacity": "smallest"} | given
        return
    if not usable:
        return
    if settings.algorithm == CUT and "cpu_share" not in given:
        yield usable, given | {"cpu_share": str(p_scheduler.Options.cpu_share)}
    yield usable, given


def node_sets(problem: Problem, settings: Settings) -> Iterator[tuple[Node, ...]]:
    """Yield sets of nodes for P-Scheduler to try; a node without a free slot is in none.

    It takes the smallest node's capacity for all: one nearly full node would make the whole
    cluster small. So the roomiest nodes come first and ever smaller ones join; sets that would
    have to be used above its share of CPU come last.
    """
    share = float(settings.options.get("cpu_share", p_scheduler.Options.cpu_share))
    load = (float(problem.executor_cpu.sum()), float(problem.executor_count))
    usable = [node for node in problem.nodes if node.ports]
    tight = []
    for least in sorted({_room(node) for node in usable}, reverse=True):
        nodes = tuple(node for node in usable if _covers(_room(node), least))
        if _covers((share * least[0] * len(nodes), least[1] * len(nodes)), load):
            yield nodes
        else:
            tight.append(nodes)
    yield from reversed(tight)


def _room(node: Node) -> tuple[float, float]:
    """Return (CPU, executors) that a node can take, infinite without a limit."""
    cpu = math.inf if node.cpu_percent is None else node.cpu_percent
    return cpu, math.inf if node.max_executors is None else float(node.max_executors)


def _covers(room: tuple[float, float], need: tuple[float, float]) -> bool:
    return room[0] >= need[0] and room[1] >= need[1]
