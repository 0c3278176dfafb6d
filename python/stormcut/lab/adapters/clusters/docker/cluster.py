"""A Storm cluster in Docker containers: ZooKeeper, Nimbus, and a container for each node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import docker.errors
from docker.models.containers import Container as Running

from stormcut.adapters.machine.home import plugin_jars
from stormcut.adapters.storm import plugin
from stormcut.adapters.storm.nimbus import leads_again
from stormcut.application.waiting import Watch, wait_until
from stormcut.lab.adapters.clusters.docker import image, startup
from stormcut.lab.adapters.clusters.docker.engine import (
    Engine,
    containers_of,
    engine,
    networks_of,
    taken_subnets,
)
from stormcut.lab.adapters.clusters.docker.folder import DockerState, Folder
from stormcut.lab.adapters.clusters.docker.plan import (
    FOLDER_LABEL,
    ZOOKEEPER_PORT,
    ClusterPlan,
    ClusterShape,
    free_subnet,
    plan,
)
from stormcut.lab.adapters.clusters.docker.status import DockerStatus, status
from stormcut.lab.adapters.clusters.local.lock import exclusive, signals_ignored
from stormcut.lab.adapters.clusters.running import RunningCluster
from stormcut.model.errors import InvalidInput, StormcutError

#: Of served time, the old ZooKeeper session's end included.
RESTART_S = 180.0


class DockerCluster(RunningCluster):
    """A running cluster; as a context manager it ends with the block.

    Nodes are numbered from 1 and keep identity, address and limits over `kill_node` and
    `start_node`.
    """

    def __init__(self, folder: Folder, state: DockerState) -> None:
        self._folder = folder
        self._state = state

    @classmethod
    def up(
        cls,
        shape: ClusterShape,
        name: str = "default",
        with_plugin: bool = True,
        config: Mapping[str, object] | None = None,
        progress: Callable[[str], None] = lambda _: None,
    ) -> DockerCluster:
        """Start a cluster; return when all nodes have registered and their limits are set.

        A limit that the engine or the kernel refuses is left out and marked: see `refused`.
        When the start fails, only its logs stay; when it is interrupted, nothing does.

        Parameters
        ----------
        with_plugin : bool
            Whether to install stormcut's scheduler, hook and serializer.
        config : mapping, optional
            Keys for every daemon's storm.yaml, over all others.
        progress : callable, optional
            Told each step in a few words.

        Raises
        ------
        InvalidInput
            It exists already, no engine answers, or what the image is made from is missing.
        StormcutError
            A daemon ended, or nothing moved any more; with what it said last, and its logs' folder.
        """
        folder = Folder(name)
        jars = plugin_jars() if with_plugin else None
        with engine() as client, exclusive(folder):
            _check_free(client, folder)
            try:
                image.ensure(client, progress)
                planned = plan(name, shape, free_subnet(taken_subnets(client)))
                start = startup.DockerStartup(client, folder, planned, progress, jars, config or {})
                state = DockerState(planned, start.run())
                folder.write_state(state)
            except StormcutError as error:
                _, kept = _clear(client, folder, keep_logs=True)
                if kept is None:
                    raise
                raise StormcutError(f"{error}; its logs: {kept}") from error
            except BaseException:
                _clear(client, folder)
                raise
        return cls(folder, state)

    @classmethod
    def open(cls, name: str = "default") -> DockerCluster:
        """Return the cluster of this name.

        Raises
        ------
        InvalidInput
            There is none.
        """
        folder = Folder(name)
        state = folder.read_state()
        if state is None:
            raise InvalidInput(
                f"is not up: `stormcut docker up --name {name}` starts it", f"cluster {name}"
            )
        return cls(folder, state)

    @classmethod
    def clear(cls, name: str = "default") -> int:
        """Remove whatever there is of the cluster of this name, whole or broken.

        Returns
        -------
        int
            Containers removed.

        Raises
        ------
        InvalidInput
            It was started from another checkout, whose files these containers write.
        """
        return _cleared(Folder(name), keep_logs=False)[0]

    def end(self, keep_logs: bool = False) -> Path | None:
        """Remove containers, network and folder."""
        return _cleared(self._folder, keep_logs)[1]

    @property
    def name(self) -> str:
        """The cluster's name."""
        return self._folder.name

    @property
    def plan(self) -> ClusterPlan:
        """What the cluster consists of."""
        return self._state.plan

    @property
    def refused(self) -> Mapping[str, str]:
        """Why a limit that was asked for is not there, by kind.

        Kinds are cpu, memory, bandwidth out, bandwidth in.
        """
        return self._state.refused

    @property
    def folder(self) -> Path:
        """The folder of everything the cluster writes."""
        return self._folder.path

    @property
    def host(self) -> str:
        """Address of this machine in the cluster's network: where a brain can listen."""
        return self.plan.gateway

    @property
    def zookeeper_address(self) -> str:
        """ZooKeeper's ``host:port``."""
        return f"{self.plan.containers[0].address}:{ZOOKEEPER_PORT}"

    @property
    def nimbus_address(self) -> str:
        """``host:port`` of Nimbus's Thrift service."""
        nimbus = startup.nimbus_of(self.plan)
        return f"{nimbus.host}:{nimbus.port}"

    @property
    def auth_file(self) -> Path:
        """The file with ``user:password`` for stormcut's nodes in ZooKeeper."""
        return self._folder.auth_file

    @property
    def nimbus_log(self) -> Path:
        """The file that Nimbus writes its log to."""
        return self._folder.logs("nimbus") / "nimbus.log"

    def pids(self) -> list[int]:
        """Return the ids of the containers' processes, if they run on this very machine."""
        with self._running() as running:
            return startup.pids(running.values())

    @property
    def storm_homes(self) -> dict[str, Path]:
        """Each container's Storm home, by the container's name in the cluster."""
        return {each.name: self._folder.storm_home(each.name) for each in self.plan.containers}

    @property
    def log_folders(self) -> tuple[Path, ...]:
        """Each node's ``workers-artifacts``: what `stormcut profile` reads."""
        return tuple(self._folder.logs(node.name) / "workers-artifacts" for node in self.plan.nodes)

    def status(self) -> DockerStatus:
        """Return what runs and which limits the kernel has; Nimbus has 5 s to answer."""
        with engine() as client:
            return status(client, self._state)

    def limit(self) -> None:
        """Set the CPU quotas again after `lift`; what is refused is in `refused`."""
        with self._running() as running:
            self._state = DockerState(self.plan, startup.limit(self.plan, running))
        self._folder.write_state(self._state)

    def lift(self) -> None:
        """Take the CPU quotas off, for the time that a new placement's workers need to start.

        Raises
        ------
        StormcutError
            The engine refuses though a quota is in force.
        """
        with self._running() as running:
            startup.lift(self.plan, running)

    def kill_node(self, number: int) -> None:
        """End a node without warning (SIGKILL), as if its machine lost power."""
        with self._running() as running:
            running[self._node(number)].kill()

    def start_node(self, number: int) -> None:
        """Start a killed node; return when it has registered again, with its limits.

        Raises
        ------
        DaemonDied, TimedOut
            With the end of the log that tells why.
        """
        name = self._node(number)
        address = self.plan.nodes[number - 1].address
        # The dead one's registration lasts until its ZooKeeper session ends, its uptime frozen.
        before = self._uptime(address)
        with self._running() as running:
            running[name].start()

            def registered() -> bool:
                startup.check_alive(self._folder, name, running[name])
                return self._uptime(address) not in (None, before)

            what = f"{name} has registered"
            wait_until(registered, RESTART_S, what, watch=Watch(processes=self.pids))

    def install_plugin(self) -> None:
        """Install the plugin in every Storm home and restart Nimbus."""
        startup.install_plugin(self._folder, self.plan, plugin_jars())
        self._restart_nimbus()

    def remove_plugin(self) -> dict[str, plugin.Removed]:
        """Take the plugin out of every Storm home and restart Nimbus; return what, by container.

        The hook stays where a topology runs: one submitted with it cannot start workers without.
        """
        idle = not self.nimbus.cluster().topologies
        removed = {name: plugin.remove(home, hook=idle) for name, home in self.storm_homes.items()}
        self._restart_nimbus()
        # The path that Nimbus knows is its container's; and until now it may have written it.
        applied = self.storm_homes["nimbus"] / "local" / "nimbus" / plugin.APPLIED_FILE
        applied.unlink(missing_ok=True)
        return removed

    def _restart_nimbus(self) -> None:
        leads = leads_again(self.nimbus, self.nimbus_log)
        with self._running() as running:
            running["nimbus"].restart(timeout=5)
        wait_until(leads, RESTART_S, "Nimbus leads again", watch=self.nimbus_watch)

    def _uptime(self, address: str) -> int | None:
        registered = self.nimbus.cluster().supervisors
        return next((each.uptime_s for each in registered if each.host == address), None)

    def _node(self, number: int) -> str:
        if not 1 <= number <= len(self.plan.nodes):
            raise InvalidInput(f"there are nodes 1 to {len(self.plan.nodes)}", f"node {number}")
        return self.plan.nodes[number - 1].name

    @contextmanager
    def _running(self) -> Iterator[Mapping[str, Running]]:
        with engine() as client:
            by_name = {each.name: each for each in containers_of(client, self.name)}
            names = {each.name: self.plan.container_name(each) for each in self.plan.containers}
            missing = [name for name in names.values() if name not in by_name]
            if missing:
                raise InvalidInput(f"containers are gone: {', '.join(missing)}", self.name)
            yield {short: by_name[name] for short, name in names.items()}


def _check_free(client: Engine, folder: Folder) -> None:
    _check_own(client, folder)
    if containers_of(client, folder.name) or folder.path.exists():
        raise InvalidInput(
            f"exists already: `stormcut docker down --name {folder.name}` ends it",
            f"cluster {folder.name}",
        )


def _check_own(client: Engine, folder: Folder) -> None:
    for container in containers_of(client, folder.name):
        owner = Path(container.labels.get(FOLDER_LABEL, folder.path))
        if owner != folder.path:
            raise InvalidInput(
                f"belongs to {owner}: choose another --name, or end that one with"
                f" STORMCUT_HOME={owner.parent.parent}",
                f"cluster {folder.name}",
            )


def _cleared(folder: Folder, keep_logs: bool) -> tuple[int, Path | None]:
    with engine() as client:
        _check_own(client, folder)
        with exclusive(folder):
            return _clear(client, folder, keep_logs)


def _clear(client: Engine, folder: Folder, keep_logs: bool = False) -> tuple[int, Path | None]:
    with signals_ignored():
        containers = containers_of(client, folder.name)
        for container in containers:
            # Gone meanwhile is as good as removed.
            with suppress(docker.errors.NotFound):
                container.remove(force=True, v=True)
        for network in networks_of(client, folder.name):
            with suppress(docker.errors.NotFound):
                network.remove()
        kept = folder.keep_logs() if keep_logs and folder.path.exists() else None
        folder.remove()
    return len(containers), kept
