"""What a bench needs from outside; adapters implement it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from stormcut.application.compare import Scheduler
from stormcut.lab.experiment.bench.cells import Measurement, Placed, Start
from stormcut.lab.experiment.bench.contest import Host
from stormcut.lab.experiment.bench.counters import NodeCounters
from stormcut.lab.experiment.bench.windows import Sample
from stormcut.lab.experiment.ports import Profiler, Progress, Servers, Topologies
from stormcut.model.problem import Problem
from stormcut.placement.solve import Solution
from stormcut.profile.result import ProfileResult


@dataclass(frozen=True)
class Entrant:
    """One scheduler's submission of a topology.

    ``sources`` are its spouts; ``reports`` the folders in which its tasks report, one a node.
    """

    name: str
    id: str
    sources: frozenset[str]
    reports: tuple[Path, ...]


class Rig(Protocol):
    """A cluster on which topologies are started, then held; at most one of them runs."""

    @property
    def nodes(self) -> Mapping[str, Host]:
        """The nodes by name."""
        ...

    @property
    def cores(self) -> int:
        """Cores of the machine that all nodes share."""
        ...

    @property
    def servers(self) -> Servers:
        """The servers that topologies may need."""
        ...

    def start(self, name: str, topology: str, options: Mapping[str, object]) -> Entrant:
        """Submit a topology, wait until every source has acked, then hold it."""
        ...

    def hosts(self, entrant: Entrant) -> Mapping[int, str]:
        """Return the host of each executor, by first task."""
        ...

    def running(self, entrant: Entrant) -> AbstractContextManager[None]:
        """Let an entrant run while the block does, with the limits in force."""
        ...

    def end(self, entrant: Entrant) -> None:
        """Kill an entrant."""
        ...

    def samples(self, entrant: Entrant) -> Mapping[str, Sample]:
        """Return the newest sample of each source task."""
        ...

    def counters(self) -> NodeCounters:
        """Return what the nodes have used so far."""
        ...


class Journal(Protocol):
    """Outlives the bench: placements, starts and cells as they are made."""

    def placements(self) -> Sequence[Placed]:
        """Return each scheduler's placement of each topology as it was added last."""
        ...

    def measurements(self) -> Sequence[Measurement]:
        """Return the measured cells."""
        ...

    def add_placement(self, placed: Placed) -> None:
        """Add a placement; it replaces an earlier one of the same scheduler and topology."""
        ...

    def add_start(self, start: Start) -> None:
        """Add a start."""
        ...

    def add_measurement(self, measurement: Measurement) -> None:
        """Add a measured cell."""
        ...

    def add_solution(
        self, topology: str, scheduler: str, problem: Problem, solution: Solution
    ) -> None:
        """Keep what was to be placed, as measured, and where a scheduler put it."""
        ...


@dataclass(frozen=True)
class Equipment:
    """Everything that a bench works with; ``scheduler`` finds one by its name in the plan."""

    scheduler: Callable[[str], Scheduler]
    rig: Rig
    journal: Journal
    profiler: Profiler
    topologies: Topologies
    progress: Progress

    def profiled(self, topology: str | None, begin: float, end: float) -> ProfileResult:
        """Return what the hook measured in a window, of one topology by its id or of all."""
        with self.progress.step("profiling the metrics logs with Spark") as update:
            return self.profiler(topology=topology, from_epoch=begin, to_epoch=end, progress=update)
