"""What experiments need from outside; adapters implement it, the CLI chooses which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from stormcut.application.waiting import Watch
from stormcut.lab.experiment.definition import Definition
from stormcut.lab.experiment.loss import Report
from stormcut.model.summaries import ClusterSummary, TopologyInfo
from stormcut.profile.result import ProfileResult

#: How often the hook writes while an experiment measures.
HOOK_INTERVAL_S = 5

#: Adds a detail to a step.
Update = Callable[[str], None]

#: By the option that names a server's address, the context in which it runs.
Servers = Mapping[str, Callable[[], AbstractContextManager[str]]]


class Progress(Protocol):
    """Shows people who wait what is being done."""

    def step(self, title: str) -> AbstractContextManager[Update]:
        """Show ``title`` while the block runs, and how long it took."""
        ...

    def turn(self, title: str) -> AbstractContextManager[object]:
        """Show ``title`` while the block runs, for what is then told by `say`."""
        ...

    def say(self, line: str) -> None:
        """Show a line."""
        ...


class Nimbus(Protocol):
    """Tells what runs where, and takes orders."""

    def cluster(self) -> ClusterSummary:
        """Return supervisors and topologies."""
        ...

    def topology(self, name: str) -> TopologyInfo:
        """Return what a running topology's executors do and where."""
        ...

    def end_topology(self, name: str, *, watch: Watch) -> None:
        """Kill a topology and wait until it is gone."""
        ...


class Cluster(Protocol):
    """A Storm cluster that is up."""

    @property
    def nimbus(self) -> Nimbus:
        """Its Nimbus."""
        ...

    @property
    def supervisor_hosts(self) -> tuple[str, ...]:
        """Host name of each supervisor."""
        ...

    def watch(self, name: str) -> Watch:
        """Return what to look at while waiting for a topology that was submitted."""
        ...


class Profiler(Protocol):
    """Reads a cluster's metrics logs."""

    def __call__(
        self, *, topology: str | None, from_epoch: float, to_epoch: float, progress: Update
    ) -> ProfileResult:
        """Return what topologies (one by its id, or all) did in a window."""
        ...


class Topologies(Protocol):
    """The benchmark topologies."""

    def load(self, name: str) -> Definition:
        """Return what a topology declares."""
        ...

    def check_options(self, name: str, given: Mapping[str, Any]) -> None:
        """Raise InvalidInput if a topology cannot be submitted with these options."""
        ...

    def records(self, name: str, given: Mapping[str, Any]) -> Sequence[str]:
        """Return what a topology's first source replays."""
        ...


class TaskReports(Protocol):
    """What the tasks of one submission report."""

    def newest(self) -> list[Report]:
        """Return the newest report of every task that has reported."""
        ...

    def keep(self, folder: Path) -> None:
        """Copy them to a folder."""
        ...

    def remove(self) -> None:
        """Remove them."""
        ...


class Site(Protocol):
    """A cluster as benchmark topologies see it."""

    @property
    def nimbus(self) -> Nimbus:
        """Its Nimbus."""
        ...

    def start(self) -> AbstractContextManager[None]:
        """Return the context in which a topology's workers should start."""
        ...

    def watch(self, name: str, /) -> Watch:
        """Return what to look at while waiting for the topology of a name."""
        ...

    @property
    def servers(self) -> Servers:
        """The servers that topologies may need."""
        ...

    def submit(self, topology: str, name: str, options: Mapping[str, object]) -> TaskReports:
        """Submit a benchmark topology; its tasks will report every other second."""
        ...


class TopologyAnswer(Protocol):
    """What a topology's tasks answer together, and how to compute that without it."""

    @property
    def options(self) -> Mapping[str, Any]:
        """Options without which the answer would depend on when tuples come."""
        ...

    def given(self, reports: Sequence[Report], options: Mapping[str, Any]) -> Any:
        """Return the topology's answer."""
        ...

    def sent(self, data: Sequence[str], ordinals: Sequence[int], /) -> list[str]:
        """Return the records that were sent, by the data and the ordinals that were."""
        ...

    def computed(self, records: Sequence[str], options: Mapping[str, Any]) -> Any:
        """Return what the topology must answer to these records."""
        ...


@dataclass(frozen=True)
class Catalogue:
    """The topologies, and the answers of those whose answer can be checked, by name."""

    topologies: Topologies
    answers: Mapping[str, TopologyAnswer]
