"""What was worked out for earlier states and still holds: little is new if little changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from stormcut.control.decide.answers import Answers
from stormcut.control.decide.decision import Reason
from stormcut.control.decide.pace import Joint
from stormcut.control.decide.search_budget import later
from stormcut.model.cluster import ClusterState, RunningTopology, Supervisor, Worker
from stormcut.model.network import Costs
from stormcut.model.profile import Profile
from stormcut.running.workload import Workload, workload


@dataclass(frozen=True)
class _KnownWorkload:
    """A workload, and of what."""

    running: RunningTopology
    profile: Profile | None
    load: Workload

    def is_of(self, running: RunningTopology, profile: Profile | None) -> bool:
        before = self.running
        return (
            self.profile == profile
            and before.workers == running.workers
            and before.executors == running.executors
            and before.streams == running.streams
        )


#: What a verdict rests on: workloads, and where they run. Of a topology that was decided alone only
#: its own, else those of all.
View = tuple[tuple[Workload, tuple[Worker, ...]], ...]


@dataclass(frozen=True)
class _MeasurementRun:
    """So many measurements in a row said one thing, where topologies ran since one moment.

    The last of them was of these seconds.
    """

    said: type[object]
    since: float | None
    measured: tuple[int, ...]
    count: int


@dataclass(frozen=True)
class _SettledView:
    """That nothing better was found for a topology, and in view of what."""

    view: View
    supervisors: tuple[Supervisor, ...]
    topologies: frozenset[str]
    reason: Reason


class Memory:
    """The brain's, from one decision to the next; with none of it all decisions are the same.

    But for one thing: where nothing better was found for a topology, nothing is sought again
    before its profile, its workers or the supervisors change or a topology goes; of those that are
    placed together, before any one's profile or workers change. Where they are placed in turn, that
    others move may leave it a better place; its next profile will show.
    """

    def __init__(self) -> None:
        self._loads: dict[str, _KnownWorkload] = {}
        self._verdicts: dict[str, _SettledView] = {}
        self._runs: dict[Joint, _MeasurementRun] = {}
        self.answers = Answers()
        #: In which round each problem had its turn last, and which have none in this one.
        self._turns: dict[Joint, int] = {}
        self._rounds = 0
        self._later: Collection[Joint] | None = None

    def copy(self) -> Memory:
        """Return the same for another round, or for somebody who only thinks what would be."""
        other = Memory()
        other.answers = self.answers.copy()
        other._turns, other._rounds = dict(self._turns), self._rounds
        other._loads, other._verdicts = dict(self._loads), dict(self._verdicts)
        other._runs = dict(self._runs)
        return other

    def forget_all_but(self, topologies: Iterable[str]) -> None:
        """Forget topologies that are gone."""
        living = set(topologies)
        self._loads = {name: each for name, each in self._loads.items() if name in living}
        self._verdicts = {name: each for name, each in self._verdicts.items() if name in living}
        self._runs = {joint: run for joint, run in self._runs.items() if living.issuperset(joint)}
        self._turns = {
            joint: turn for joint, turn in self._turns.items() if living.issuperset(joint)
        }
        self.answers.forget_all_but(living)

    def later(
        self, problems: Sequence[tuple[Joint, int]], effort: str | None, executors: int
    ) -> Collection[Joint]:
        """Return the problems for which this round seeks no better placements.

        All decisions of a round share its time. Those go first that have waited longest.

        Parameters
        ----------
        problems : sequence of (tuple of str, int)
            Topologies and their executors.
        executors : int
            Of the whole cluster.
        """
        if self._later is None:
            waiting = sorted(problems, key=lambda problem: self._turns.get(problem[0], -1))
            self._later = frozenset(later(waiting, effort, executors))
            had = (joint for joint, _ in problems if joint not in self._later)
            self._turns |= dict.fromkeys(had, self._rounds)
            self._rounds += 1
        return self._later

    def workload(
        self, running: RunningTopology, profile: Profile | None, costs: Costs | None
    ) -> Workload:
        """Return `workload` of the same, whose costs are always the same."""
        known = self._loads.get(running.id)
        if known is None or not known.is_of(running, profile):
            known = _KnownWorkload(running, profile, workload(running, profile, costs))
            self._loads[running.id] = known
        return known.load

    def settle(self, topology: str, view: View, state: ClusterState, reason: Reason) -> None:
        """Remember that a topology stays where it is, and why."""
        topologies = frozenset(each.id for each in state.topologies)
        self._verdicts[topology] = _SettledView(view, state.supervisors, topologies, reason)

    def settled(self, topology: str, view: View, state: ClusterState) -> Reason | None:
        """Return why a topology stays where it is, None if that is to be found out again.

        What was found of several holds for some of them: each was asked for alone, too.
        """
        verdict = self._verdicts.get(topology)
        if (
            verdict is not None
            and set(view) <= set(verdict.view)
            and verdict.supervisors == state.supervisors
            and verdict.topologies <= {each.id for each in state.topologies}
        ):
            return verdict.reason
        return None

    def held(
        self,
        joint: Joint,
        measured: tuple[int, ...],
        condition: object | None,
        since: float | None = None,
    ) -> int:
        """Count a condition, and return in how many measurements in a row one of its kind held.

        Parameters
        ----------
        measured : tuple of int
            What tells measurements apart: their last seconds. One counts once, however often it is
            asked about.
        condition : object, optional
            What the algorithm says of this one; None: nothing calls for a change.
        since : float, optional
            When the topologies moved last: what was counted before says nothing of where they run.
        """
        if condition is None:
            self._runs.pop(joint, None)
            return 0
        before = self._runs.get(joint)
        if before is None or (before.said, before.since) != (type(condition), since):
            self._runs[joint] = _MeasurementRun(type(condition), since, measured, 1)
        elif before.measured != measured:
            self._runs[joint] = replace(before, measured=measured, count=before.count + 1)
        return self._runs[joint].count
