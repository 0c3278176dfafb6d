"""A cluster of real Storm daemons on this machine: ZooKeeper, Nimbus and supervisors."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from stormcut.adapters.home import plugin_jars, storm_java, storm_lib
from stormcut.adapters.local_cluster import processes
from stormcut.adapters.local_cluster.layout import Daemon, Layout, State
from stormcut.adapters.local_cluster.lock import exclusive, uninterrupted
from stormcut.adapters.local_cluster.startup import (
    Blueprint,
    Children,
    PortTaken,
    Progress,
    Startup,
    check_alive,
    identified,
)
from stormcut.adapters.nimbus import ClusterSummary, Nimbus, NimbusUnavailable
from stormcut.adapters.running_cluster import RunningCluster
from stormcut.adapters.waiting import TimedOut, Watch, wait_until
from stormcut.model.errors import InvalidInput

#: storm.yaml keys for all supervisors alike, or for the supervisor of an index.
SupervisorConfig = Mapping[str, object] | Callable[[int], Mapping[str, object]]

MAX_SUPERVISORS = 250
MAX_SLOTS = 100
ATTEMPTS = 3
SUPERVISOR_TIMEOUT_S = 90.0


@dataclass(frozen=True)
class DaemonStatus:
    """A daemon now; ``memory_mb`` is its resident memory, None when it is down."""

    name: str
    host: str
    ports: tuple[int, ...]
    pid: int | None
    up: bool
    memory_mb: float | None


@dataclass(frozen=True)
class ClusterStatus:
    """A cluster now; ``storm`` is what Nimbus says, None when it does not answer.

    ``processes`` and ``memory_mb`` count daemons, workers and all they started.
    """

    name: str
    daemons: tuple[DaemonStatus, ...]
    processes: int
    memory_mb: float
    storm: ClusterSummary | None


class LocalCluster(RunningCluster):
    """A running cluster; as a context manager it ends with the block.

    Supervisors are numbered from 0, have their own loopback host names and keep identity, host
    and ports over `kill_supervisor` and `start_supervisor`.
    """

    def __init__(self, layout: Layout, state: State, children: Children) -> None:
        self._layout = layout
        self._state = state
        # Only daemons that this process started: it has to reap them.
        self._children = children

    @classmethod
    def up(
        cls,
        name: str = "default",
        supervisors: int = 4,
        slots: int = 4,
        plugin: bool = True,
        config: Mapping[str, object] | None = None,
        supervisor_config: SupervisorConfig | None = None,
        progress: Progress = lambda _: None,
    ) -> LocalCluster:
        """Start a cluster; return when Nimbus leads and all supervisors have registered.

        What a crashed cluster of this name left is ended and removed first. When the start
        fails, everything started is ended and the logs stay; when it is interrupted, nothing
        stays.

        Parameters
        ----------
        slots : int
            Slots of each supervisor.
        plugin : bool
            Whether to install stormcut's scheduler, hook and serializer.
        config : mapping, optional
            Keys for every daemon's storm.yaml, over the defaults.
        supervisor_config : mapping or callable, optional
            Keys for supervisors only, over all others: ``supervisor.cpu.capacity``,
            ``supervisor.memory.capacity.mb``, ``supervisor.scheduler.meta``...
        progress : callable, optional
            Told each step in a few words.

        Raises
        ------
        InvalidInput
            It runs already, or Java, Storm or the plugin is missing.
        DaemonDied, TimedOut
            With the end of the log that tells why.
        """
        layout = Layout(name)
        _check_count("supervisors", supervisors, MAX_SUPERVISORS)
        _check_count("slots", slots, MAX_SLOTS)
        with exclusive(layout):
            if _is_running(layout.read_state()):
                raise InvalidInput(
                    f"runs already: `stormcut cluster down --name {name}` ends it",
                    f"cluster {name}",
                )
            blueprint = Blueprint(
                supervisors,
                slots,
                storm_java(),
                storm_lib(),
                plugin_jars() if plugin else None,
                config or {},
                _per_supervisor(supervisor_config or {}),
            )
            return cls._start(layout, blueprint, progress)

    @classmethod
    def _start(cls, layout: Layout, blueprint: Blueprint, progress: Progress) -> LocalCluster:
        for attempt in range(1, ATTEMPTS + 1):
            if layout.folder.exists():
                ended = processes.end(layout.folder)
                layout.remove()
                if attempt == 1:
                    progress(f"removed an earlier cluster ({ended} processes ended)")
            startup = Startup(layout, blueprint, progress)
            try:
                return cls(layout, startup.run(), startup.children)
            except PortTaken:
                _end(layout, startup.children)
                if attempt == ATTEMPTS:
                    raise
                progress("another program took a port: trying others")
            except TimedOut as error:
                _end(layout, startup.children)
                raise TimedOut(f"{error}; its logs: {layout.folder}") from error
            except Exception:
                _end(layout, startup.children)
                raise
            except BaseException:
                _end(layout, startup.children)
                layout.remove()
                raise
        raise AssertionError("the last attempt returns or raises")

    @classmethod
    def open(cls, name: str = "default") -> LocalCluster:
        """Return the running cluster of this name.

        Raises
        ------
        InvalidInput
            None runs.
        """
        layout = Layout(name)
        state = layout.read_state()
        if state is None or not _is_running(state):
            raise InvalidInput(
                f"does not run: `stormcut cluster up --name {name}` starts it", f"cluster {name}"
            )
        return cls(layout, state, {})

    @classmethod
    def clear(cls, name: str = "default", keep_logs: bool = False) -> tuple[int, Path | None]:
        """End and remove whatever there is of the cluster of this name, whole or broken.

        Returns
        -------
        int
            Processes ended.
        Path or None
            The folder of the logs, if they are kept and there were any.
        """
        return _clear(Layout(name), {}, keep_logs)

    def end(self, keep_logs: bool = False) -> Path | None:
        """End daemons, workers and their subprocesses, wait for that, remove the files."""
        return _clear(self._layout, self._children, keep_logs)[1]

    @property
    def name(self) -> str:
        """The cluster's name."""
        return self._layout.name

    @property
    def folder(self) -> Path:
        """The folder of everything the cluster writes."""
        return self._layout.folder

    @property
    def zookeeper_address(self) -> str:
        """ZooKeeper's ``host:port``."""
        return _address(self._state.zookeeper)

    @property
    def nimbus_address(self) -> str:
        """``host:port`` of Nimbus's Thrift service."""
        return _address(self._state.nimbus)

    @property
    def auth_file(self) -> Path:
        """The file with ``user:password`` for stormcut's nodes in ZooKeeper."""
        return self._layout.auth_file

    @property
    def nimbus_log(self) -> Path:
        """The file that Nimbus writes its log to."""
        return self._layout.log_file(self._state.nimbus.name)

    def pids(self) -> list[int]:
        """Return the ids of daemons, workers, their subprocesses, and a brain of this cluster."""
        return [process.pid for process in processes.of_cluster(self.folder)]

    @property
    def supervisor_hosts(self) -> tuple[str, ...]:
        """Host name of each supervisor."""
        return tuple(daemon.host for daemon in self._state.supervisors)

    @property
    def log_folders(self) -> tuple[Path, ...]:
        """Each supervisor's ``workers-artifacts``: what `stormcut profile` reads."""
        return tuple(
            self._layout.logs(daemon.name) / "workers-artifacts"
            for daemon in self._state.supervisors
        )

    def log_files(self) -> dict[str, Path]:
        """Return the logs there are: by daemon, and by ``topology id/port`` for workers."""
        daemons = {each.name: self._layout.log_file(each.name) for each in self._state.daemons}
        workers = {
            f"{log.parent.parent.name}/{log.parent.name}": log
            for folder in self.log_folders
            for log in sorted(folder.glob("*/*/worker.log"))
        }
        return {name: log for name, log in {**daemons, **workers}.items() if log.is_file()}

    def status(self) -> ClusterStatus:
        """Return what runs; Nimbus is asked with a short timeout."""
        storm = None
        with suppress(NimbusUnavailable):
            host, port = self._state.nimbus.host, self._state.nimbus.ports[0]
            storm = Nimbus(host, port, timeout_s=5.0).cluster()
        memory = {process.pid: _memory_mb(process) for process in processes.of_cluster(self.folder)}
        daemons = (
            DaemonStatus(
                daemon.name,
                daemon.host,
                daemon.ports,
                daemon.pid,
                processes.is_running(daemon),
                memory.get(daemon.pid) if daemon.pid else None,
            )
            for daemon in self._state.daemons
        )
        return ClusterStatus(self.name, tuple(daemons), len(memory), sum(memory.values()), storm)

    def kill_supervisor(self, index: int, workers: bool = True) -> None:
        """End a supervisor without warning (SIGKILL), as if its machine lost power.

        With ``workers`` false only the daemon dies and its workers go on.
        """
        daemon = self._supervisor(index)
        with exclusive(self._layout):
            if workers:
                processes.end(self.folder, daemon.name, grace_s=0.0)
            elif daemon.pid is not None and processes.is_running(daemon):
                psutil.Process(daemon.pid).kill()
                wait_until(lambda: not processes.is_running(daemon), 10.0, f"{daemon.name} is dead")
        _reap(self._children.pop(daemon.name, None))

    def start_supervisor(self, index: int) -> None:
        """Start a killed supervisor; return when it has registered anew.

        Raises
        ------
        InvalidInput
            It runs.
        DaemonDied, TimedOut
            With the end of the log that tells why.
        """
        daemon = self._supervisor(index)
        if processes.is_running(daemon):
            raise InvalidInput("runs already", f"supervisor {index} of cluster {self.name}")
        # The dead one's registration lasts until its ZooKeeper session ends, its uptime frozen.
        before = self._uptime(daemon)
        with exclusive(self._layout):
            child = processes.start(self._layout, daemon, storm_java())
            self._children[daemon.name] = child
            self._state = self._state.with_daemon(identified(daemon, child))
            self._layout.write_state(self._state)

        def registered() -> bool:
            check_alive(self._layout, daemon.name, child)
            return self._uptime(daemon) not in (None, before)

        wait_until(
            registered,
            SUPERVISOR_TIMEOUT_S,
            f"{daemon.name} has registered",
            watch=Watch(processes=self.pids),
        )

    def _uptime(self, daemon: Daemon) -> int | None:
        registered = self.nimbus.cluster().supervisors
        return next((each.uptime_s for each in registered if each.host == daemon.host), None)

    def _supervisor(self, index: int) -> Daemon:
        # Another process may have restarted it since this object was made.
        self._state = self._layout.read_state() or self._state
        supervisors = self._state.supervisors
        if not 0 <= index < len(supervisors):
            raise InvalidInput(
                f"there are supervisors 0 to {len(supervisors) - 1}", f"supervisor {index}"
            )
        return supervisors[index]


def _check_count(what: str, count: int, most: int) -> None:
    if not 1 <= count <= most:
        raise InvalidInput(f"must be 1 to {most}, not {count}", what)


def _per_supervisor(config: SupervisorConfig) -> Callable[[int], Mapping[str, object]]:
    return config if callable(config) else lambda _: config


def _is_running(state: State | None) -> bool:
    if state is None or not state.ready:
        return False
    return processes.is_running(state.zookeeper) and processes.is_running(state.nimbus)


def _clear(layout: Layout, children: Children, keep_logs: bool) -> tuple[int, Path | None]:
    with exclusive(layout):
        ended = _end(layout, children)
        kept = layout.keep_logs() if keep_logs and layout.folder.exists() else None
        layout.remove()
    return ended, kept


def _end(layout: Layout, children: Children) -> int:
    with uninterrupted():
        ended = processes.end(layout.folder)
        for child in children.values():
            _reap(child)
        children.clear()
    return ended


def _reap(child: subprocess.Popen[bytes] | None) -> None:
    if child:
        child.wait(timeout=processes.KILL_TIMEOUT_S)


def _memory_mb(process: psutil.Process) -> float:
    try:
        return float(process.memory_info().rss) / 2**20
    except psutil.Error:
        return 0.0


def _address(daemon: Daemon) -> str:
    return f"{daemon.host}:{daemon.ports[0]}"
