"""The algorithm, asked for as many topologies at once as it can place, with options that suit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from stormcut.control.decide.answers import Advice, Answers
from stormcut.control.decide.attempts import attempts
from stormcut.control.decide.decision import Worth
from stormcut.control.decide.gathering import gathered
from stormcut.control.decide.pace import Joint
from stormcut.control.decide.worth import BYTES
from stormcut.model.cluster import RunningTopology, Worker
from stormcut.model.errors import Infeasible
from stormcut.model.network import Costs
from stormcut.model.problem import DEFAULT_CPU_PERCENT, DEFAULT_MEMORY_MB, Problem
from stormcut.objective.verify import violations
from stormcut.placement.options import DEFAULT_ALGORITHM, DEFAULT_SEED
from stormcut.placement.registry import (
    OF_STORM,
    OF_STORM_BY_DECLARATION,
    algorithm,
    has_option,
    parse_options,
)
from stormcut.placement.solve import Solution, solve
from stormcut.running.declared import keeps_workers
from stormcut.running.heap import within_heap
from stormcut.running.situation import Situation

#: The option of an algorithm that can keep `topology.workers`.
WORKERS, KEEP = "workers", "keep"
#: The option of an algorithm that says how long to search.
EFFORT = "effort"

#: What is told is the load that is to be expected; half as much again is a margin for it.
ENOUGH = 1.5

#: An algorithm is asked at most so often for one problem.
MAX_ATTEMPTS = 8

#: Larger clusters' topologies are taken in turn: one problem of them takes longer than a round may,
#: and what is gained falls. Measured by benchmarks/speed/brain_scale.py.
MAX_TOGETHER = 1_000


class Recorder(Protocol):
    """Keeps what an algorithm was asked and what it answered."""

    def record(self, problem: Problem, solution: Solution) -> None:
        """Keep a problem and its solution; never raises."""


@dataclass(frozen=True)
class Settings:
    """How the brain decides.

    Parameters
    ----------
    min_gain : float
        Least gain in head-room, or traffic saved, as a share.
    costs : Costs, optional
        Of transfer; None: those that are shipped.
    enough : float
        Head-room beyond which more is worth no move: a margin for loads that grow.
    packs_unmeasured : bool
        Place a new topology by its declared structure before anything of it is measured; False:
        on as many workers as it asks for, as Storm would.
    """

    algorithm: str = DEFAULT_ALGORITHM
    options: Mapping[str, str] = field(default_factory=dict)
    min_gain: float = 0.05
    seed: int = DEFAULT_SEED
    costs: Costs | None = None
    enough: float = ENOUGH
    packs_unmeasured: bool = False


class Adviser:
    """The algorithm of a brain's settings.

    Parameters
    ----------
    recorder : Recorder, optional
        Told of every answer that is worked out and used.
    answers : Answers, optional
        Those that are known.

    Attributes
    ----------
    effort : str, optional
        How long to search, unless the settings say; None: the algorithm's default.
    """

    def __init__(
        self,
        settings: Settings,
        recorder: Recorder | None = None,
        answers: Answers | None = None,
    ) -> None:
        self._settings = settings
        self._answers = Answers() if answers is None else answers
        self.effort: str | None = None
        self._recorder = recorder
        self._algorithm = algorithm(settings.algorithm)

    def enough(self, now: Worth) -> float:
        """Return the head-room beyond which more is worth nothing."""
        options = parse_options(self._algorithm, self._settings.options)
        after = self._algorithm.enough(options, now.unit == BYTES)
        return min(after, self._settings.enough)

    def uses_traffic(self, topology: RunningTopology, running: bool) -> bool:
        """Return whether measured traffic can change a topology's placement."""
        options = parse_options(self._algorithm, self._options(topology))
        return self._algorithm.uses_traffic(options, running)

    def workers(self, topology: RunningTopology) -> str | None:
        """Return what the algorithm is told of `topology.workers`, None if it takes no word."""
        if not self._algorithm.keeps_workers:
            return None
        workers: str = self._options(topology).get(WORKERS, self._algorithm.options.workers)
        return workers

    def places_together(self, executors: int) -> bool:
        """Return whether topologies of so many executors in all are one problem."""
        return self._algorithm.joint and executors <= MAX_TOGETHER

    def groups(
        self, topologies: Iterable[RunningTopology], together: bool
    ) -> list[tuple[RunningTopology, ...]]:
        """Return topologies by the problem that they are to be placed in.

        An algorithm has one set of options for a problem: topologies that ask for others
        (``stormcut.workers``) are a problem of their own, on what the rest leaves. Each is one
        unless they are placed ``together``.
        """
        groups: dict[Any, list[RunningTopology]] = {}
        for each in topologies:
            key = tuple(sorted(self._options(each).items())) if together else each.id
            groups.setdefault(key, []).append(each)
        return [tuple(group) for group in groups.values()]

    def spreads(self, topology: RunningTopology) -> bool:
        """Return whether a topology is placed as Storm would as long as it is not measured."""
        asks_to_pack = keeps_workers(topology) is False
        packs = self._settings.packs_unmeasured or asks_to_pack
        return not packs and self.uses_traffic(topology, running=False)

    def spread(
        self, topology: RunningTopology, situation: Situation
    ) -> tuple[str, tuple[Worker, ...]]:
        """Return where Storm would put a topology, and by which of its schedulers.

        Nodes that shall run nothing are left out.

        Raises
        ------
        Infeasible
            There it would break a limit of a node, or has no slot.
        """
        name = OF_STORM_BY_DECLARATION if _declares(topology) else OF_STORM
        usable = tuple(
            node for node in situation.problem.nodes if node.ports and node.max_executors != 0
        )
        narrowed = situation.narrowed(usable)
        solution = solve(narrowed.problem, name, self._settings.seed, {})
        if broken := violations(narrowed.problem, solution.placement):
            raise Infeasible(broken[0].message, broken[0].constraint)
        return name, narrowed.workers(solution.placement)[0]

    def knows(self, names: Joint, problem: Callable[[], Problem]) -> bool:
        """Return whether `advice` need not ask the algorithm about topologies."""
        return names in self._answers and self._answers.find(names, problem()) is not None

    def advice(self, topologies: Sequence[RunningTopology], situation: Situation) -> Advice:
        """Return the algorithm's answer; one that is known holds, however short its search was.

        Parameters
        ----------
        topologies : sequence of RunningTopology
            One of `groups`.

        Raises
        ------
        Infeasible
            There is none; why.
        """
        names = tuple(topology.id for topology in topologies)
        answer = self._answers.find(names, situation.problem)
        if answer is None:
            try:
                answer = self._ask(topologies, situation)
            except Infeasible as error:
                answer = error
            self._answers.keep(names, situation.problem, answer)
        if isinstance(answer, Infeasible):
            raise answer
        return answer

    def _ask(self, topologies: Sequence[RunningTopology], situation: Situation) -> Advice:
        """Return the answer of the first attempt that succeeds.

        Raises
        ------
        Infeasible
            None did: the last one's reason.
        """
        refused: Infeasible | None = None
        name, seed = self._settings.algorithm, self._settings.seed
        wanted = dict(self._options(topologies[0]))
        if self.effort is not None and has_option(name, EFFORT):
            wanted.setdefault(EFFORT, self.effort)
        for nodes, options in islice(attempts(situation.problem, name, wanted), MAX_ATTEMPTS):
            narrowed = situation.narrowed(nodes)
            try:
                solution = solve(narrowed.problem, name, seed, options)
            except Infeasible as error:
                refused = error
                continue
            if self._recorder is not None:
                self._recorder.record(narrowed.problem, solution)
            keep = options.get(WORKERS) == KEEP
            placement = gathered(narrowed, solution.placement, keep)
            try:
                placement = within_heap(topologies, narrowed, placement)
            except Infeasible as error:
                refused = error
                continue
            return Advice(narrowed.workers(placement), solution.notes)
        raise refused or Infeasible("no node has a free slot", "slots")

    def _options(self, topology: RunningTopology) -> Mapping[str, str]:
        """Return the options for a topology: it may say itself what of workers.

        Who does not say keeps what it asked for: its people have reasons that no model knows.
        """
        options, keeps = dict(self._settings.options), keeps_workers(topology)
        if self._algorithm.keeps_workers:
            otherwise = options.get(WORKERS, KEEP) == KEEP
            options[WORKERS] = KEEP if (otherwise if keeps is None else keeps) else "any"
        return options


def _declares(topology: RunningTopology) -> bool:
    """Return whether somebody has declared what its executors need: other than Storm's defaults."""
    return any(
        (e.cpu_percent or DEFAULT_CPU_PERCENT, e.memory_mb or DEFAULT_MEMORY_MB)
        != (DEFAULT_CPU_PERCENT, DEFAULT_MEMORY_MB)
        for e in topology.executors
    )
