"""The algorithm, asked for one topology at a time, with the options that suit the moment."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from stormcut.application.control.attempts import attempts
from stormcut.application.control.declared import keeps_workers
from stormcut.application.control.gathering import gathered
from stormcut.application.control.ports import Recorder
from stormcut.application.control.situation import Situation
from stormcut.application.control.worth import ENOUGH
from stormcut.application.place import DEFAULT_ALGORITHM, DEFAULT_SEED, solve
from stormcut.model.cluster import RunningTopology, Worker
from stormcut.model.errors import Infeasible
from stormcut.placement.registry import algorithm, has_option, parse_options

#: The option of an algorithm that can keep `topology.workers`.
WORKERS = "workers"
#: The option of an algorithm by which it maximises head-room.
OBJECTIVE, HEADROOM = "objective", "headroom"
#: The option of an algorithm that says how long to search.
EFFORT = "effort"

#: An algorithm is asked at most so often for one topology.
MAX_ATTEMPTS = 8

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
class Advice:
    """The algorithm's workers, and its notes for people."""

    workers: tuple[Worker, ...]
    notes: tuple[str, ...]


class Adviser:
    """The algorithm of a brain's settings.

    Parameters
    ----------
    effort : str, optional
        How long to search, unless the settings say.
    recorder : Recorder, optional
        Told of every answer that is used.

    Attributes
    ----------
    enough : float
        Head-room beyond which more does not count.
    """

    def __init__(
        self, settings: Settings, effort: str | None, recorder: Recorder | None = None
    ) -> None:
        self._settings = settings
        self._effort = effort
        self._recorder = recorder
        self._algorithm = algorithm(settings.algorithm)
        maximises = self._algorithm.balances or settings.options.get(OBJECTIVE) == HEADROOM
        self.enough = math.inf if maximises else ENOUGH

    def uses_traffic(self, topology: RunningTopology, running: bool) -> bool:
        """Return whether measured traffic can change a topology's placement."""
        options = parse_options(self._algorithm, self._options(topology))
        return self._algorithm.uses_traffic(options, running)

    def workers(self, topology: RunningTopology) -> str | None:
        """Return what the algorithm is told of `topology.workers`, None if it takes no word."""
        if not self._algorithm.keeps_workers:
            return None
        told: str = self._options(topology).get(WORKERS, self._algorithm.options.workers)
        return told

    def advice(self, topology: RunningTopology, at: Situation) -> Advice:
        """Return the answer of the first attempt that succeeds.

        Raises
        ------
        Infeasible
            None did: the last one's reason.
        """
        refused: Infeasible | None = None
        name, seed = self._settings.algorithm, self._settings.seed
        for nodes, options in islice(
            attempts(at.problem, name, self._options(topology)), MAX_ATTEMPTS
        ):
            narrowed = at.narrowed(nodes)
            try:
                solution = solve(narrowed.problem, name, seed, options)
            except Infeasible as error:
                refused = error
                continue
            if self._recorder is not None:
                self._recorder.record(narrowed.problem, solution)
            keep = options.get(WORKERS) == "keep"
            placement = gathered(narrowed, solution.placement, keep)
            return Advice(narrowed.workers(placement), solution.notes)
        raise refused or Infeasible("no node has a free slot", "slots")

    def _options(self, topology: RunningTopology) -> Mapping[str, str]:
        """Return the options for a topology: it may say itself what of workers."""
        name, options = self._settings.algorithm, dict(self._settings.options)
        keeps = keeps_workers(topology)
        if keeps is not None and self._algorithm.keeps_workers:
            options[WORKERS] = "keep" if keeps else "any"
        if self._effort is not None and has_option(name, EFFORT):
            options.setdefault(EFFORT, self._effort)
        return options
