"""Where benchmark topologies run: what they must know of a cluster, and submitting one there."""

from __future__ import annotations

import json
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stormcut.adapters.machine.home import topologies, topologies_jar
from stormcut.adapters.storm.nimbus import NimbusClient
from stormcut.application.waiting import Watch
from stormcut.lab.adapters.clusters.blob_server import blob_server
from stormcut.lab.adapters.clusters.redis_server import redis_server
from stormcut.lab.adapters.storm.sparse_submit import submit
from stormcut.lab.adapters.storm.topology_project import load
from stormcut.lab.experiment.loss import Report
from stormcut.lab.experiment.ports import Servers
from stormcut.model.errors import InvalidInput

if TYPE_CHECKING:
    from stormcut.lab.adapters.clusters.docker import DockerCluster
    from stormcut.lab.adapters.clusters.local import LocalCluster


WORKERS = "topology.workers"


@dataclass(frozen=True)
class FolderReports:
    """What the tasks of one submission report, in a folder of each node.

    Each folder is there as soon as a task has written into it.
    """

    folders: tuple[Path, ...]

    def newest(self) -> list[Report]:
        """Return the newest report of every task that has reported."""
        return [
            json.loads(path.read_text(encoding="utf-8"))
            for folder in self.folders
            for path in sorted(folder.glob("*.json"))
        ]

    def keep(self, folder: Path) -> None:
        """Copy them to a folder."""
        for each in self.folders:
            # A node without a task has none.
            if each.is_dir():
                shutil.copytree(each, folder, dirs_exist_ok=True)

    def remove(self) -> None:
        """Remove them."""
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class ClusterSite:
    """A cluster as its topologies see it.

    Attributes
    ----------
    nimbus : Nimbus
        Its Nimbus.
    folder : Path
        Where a submission may write on this machine.
    nodes : int
        Supervisors.
    host : str
        This machine's address as workers reach it.
    virtualenv : Path
        The workers' Python environment, where they have it.
    results : Path
        Where tasks may write, as they see it.
    results_here : tuple of Path
        The same as this machine sees it, of each node.
    shares_files : bool
        Whether workers see all of this machine's files.
    options : mapping
        What a topology is submitted with there unless something else is given.
    start : callable
        Returns the context in which a topology's workers should start.
    watch : callable
        Returns what to look at while waiting for the topology of a name.
    """

    nimbus: NimbusClient
    folder: Path
    nodes: int
    host: str
    virtualenv: Path
    results: Path
    results_here: tuple[Path, ...]
    shares_files: bool
    options: Mapping[str, object]
    start: Callable[[], AbstractContextManager[None]]
    watch: Callable[[str], Watch]

    @property
    def servers(self) -> Servers:
        """The servers that topologies may need, on this machine."""
        return {
            "redis": lambda: redis_server(self.host),
            "blobs": lambda: blob_server(self.host),
        }

    def submit(self, topology: str, name: str, options: Mapping[str, object]) -> FolderReports:
        """Submit a benchmark topology; its tasks will report every other second.

        Parameters
        ----------
        topology : str
            Which one, as `stormcut topologies list` names it.
        name : str
            Name under which it runs, with a worker on each node unless options say otherwise.
        options : mapping
            Its own options (``rate``; not ``results``, which this function sets) and Storm's
            (``topology.max.spout.pending``), as JSON values.

        Raises
        ------
        InvalidInput
            There is no such topology, or it needs a file that its workers do not have.
        StormcutError
            The submission fails; the text says why.
        """
        definition = load(topology)
        data = str(options.get("data", ""))
        if Path(data).is_absolute() and not self.shares_files:
            why = "must lie below src/data: no container has it elsewhere"
            raise InvalidInput(why, f"data {data}")
        # Of its own: what an earlier run reported under this name is no part of this one.
        run = f"{name}-{secrets.token_hex(4)}"
        given = {**self.options, **options, "results": str(self.results / run)}
        # `sparse submit` takes it from an option of its own.
        workers = int(str(given.pop(WORKERS, self.nodes)))
        submit(
            project=topologies(),
            topology=topology,
            name=name,
            nimbus=f"{self.nimbus.host}:{self.nimbus.port}",
            workers=workers,
            options={
                f"rig.{key}" if key in definition.options else key: value
                for key, value in given.items()
            },
            environment={},
            virtualenv=Path(sys.prefix),
            work_folder=self.folder / "sparse",
            jar=topologies_jar() if given.get("language") == "java" else None,
            workers_virtualenv=self.virtualenv,
        )
        return FolderReports(tuple(folder / run for folder in self.results_here))


def local_site(cluster: LocalCluster) -> ClusterSite:
    """Return what topologies must know of an embedded cluster."""
    results = cluster.folder / "results"
    return ClusterSite(
        nimbus=cluster.nimbus,
        folder=cluster.folder,
        nodes=len(cluster.supervisor_hosts),
        host="127.0.0.1",
        virtualenv=Path(sys.prefix),
        results=results,
        results_here=(results,),
        shares_files=True,
        options={},
        start=nullcontext,
        watch=cluster.watch,
    )


def docker_site(cluster: DockerCluster) -> ClusterSite:
    """Return what topologies must know of a cluster in containers."""
    from stormcut.lab.adapters.clusters.docker import VIRTUALENV

    nodes = cluster.plan.nodes
    homes = cluster.storm_homes
    return ClusterSite(
        nimbus=cluster.nimbus,
        folder=cluster.folder,
        nodes=len(nodes),
        host=cluster.host,
        virtualenv=VIRTUALENV,
        results=Path("/storm/logs/results"),
        results_here=tuple(homes[node.name] / "logs" / "results" for node in nodes),
        shares_files=False,
        # Storm takes an executor for 10 points unless told; a node of 0.3 cores has 30 in all.
        options={"topology.component.cpu.pcore.percent": 1.0},
        start=lambda: unlimited(cluster),
        watch=cluster.watch,
    )


@contextmanager
def unlimited(cluster: DockerCluster) -> Iterator[None]:
    """Lift the nodes' CPU quotas, if they are in force, until the block ends."""
    limited = any(
        each.effective is not None and each.effective.cpus is not None
        for each in cluster.status().containers
    )
    if not limited:
        yield
        return
    cluster.lift()
    try:
        yield
    finally:
        cluster.limit()
