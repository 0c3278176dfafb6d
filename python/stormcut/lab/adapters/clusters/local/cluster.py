"""A cluster of real Storm daemons on this machine: ZooKeeper, Nimbus and supervisors."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from stormcut.adapters.machine import storm_jars
from stormcut.adapters.machine.home import plugin_jars, storm_java, storm_lib
from stormcut.adapters.storm import plugin as storm_plugin
from stormcut.adapters.storm.nimbus import leads_again
from stormcut.application.waiting import TimedOut, Watch, wait_until
from stormcut.lab.adapters.clusters.bandwidth import Bandwidth
from stormcut.lab.adapters.clusters.local import ports, processes
from stormcut.lab.adapters.clusters.local.layout import Daemon, Layout, LocalState
from stormcut.lab.adapters.clusters.local.lock import exclusive, signals_ignored
from stormcut.lab.adapters.clusters.local.network import Network
from stormcut.lab.adapters.clusters.local.startup import (
    Blueprint,
    Children,
    LocalStartup,
    PortTaken,
    Progress,
    check_alive,
    identified,
    zookeeper_answers,
)
from stormcut.lab.adapters.clusters.local.status import ClusterStatus, status
from stormcut.lab.adapters.clusters.running import RunningCluster
from stormcut.model.errors import InvalidInput

#: storm.yaml keys for all supervisors alike, or for the supervisor of an index.
SupervisorConfig = Mapping[str, object] | Callable[[int], Mapping[str, object]]

MAX_SUPERVISORS = 250
MAX_SLOTS = 100
ATTEMPTS = 3
RESTART_S = 180.0


class LocalCluster(RunningCluster):
    """A running cluster; as a context manager it ends with the block.

    Supervisors are numbered from 0, have their own loopback host names and keep identity, host
    and ports over `kill_supervisor` and `start_supervisor`.
    """

    def __init__(self, layout: Layout, state: LocalState, children: Children) -> None:
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
        link: Bandwidth | None = None,
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
            Keys for every daemon's storm.yaml, over the defaults; not those of the plugin.
        supervisor_config : mapping or callable, optional
            Keys for supervisors only, over all others: ``supervisor.cpu.capacity``,
            ``supervisor.memory.capacity.mb``, ``supervisor.scheduler.meta``...
        link : Bandwidth, optional
            Each supervisor has a network namespace of its own, and a link that carries no more. Not
            everywhere possible: see `network.obstacle`.
        progress : callable, optional
            Told each step in a few words.

        Raises
        ------
        InvalidInput
            It runs already, ``config`` sets what the plugin sets, or Java, Storm or the plugin is
            missing.
        DaemonDied, TimedOut
            With the end of the log that tells why.
        """
        layout = Layout(name)
        _check_count("supervisors", supervisors, MAX_SUPERVISORS)
        _check_count("slots", slots, MAX_SLOTS)
        if plugin and (taken := storm_plugin.clashes(config or {})):
            raise InvalidInput(
                "the plugin sets it: leave it out, or add --no-plugin", f"--set {taken[0]}"
            )
        with exclusive(layout):
            if _is_running(layout.read_state()):
                raise InvalidInput(
                    f"runs already: `stormcut cluster down --name {name}` ends it",
                    f"cluster {name}",
                )
            storm_jars.ensure(progress)
            blueprint = Blueprint(
                supervisors,
                slots,
                storm_java(),
                storm_lib(),
                plugin_jars() if plugin else None,
                config or {},
                _per_supervisor(supervisor_config or {}),
                link,
            )
            return cls._start(layout, blueprint, progress)

    @classmethod
    def _start(cls, layout: Layout, blueprint: Blueprint, progress: Progress) -> LocalCluster:
        for attempt in range(1, ATTEMPTS + 1):
            if layout.folder.exists():
                ended = processes.end(layout.folder)
                Network(layout.folder).down()
                layout.remove()
                if attempt == 1:
                    progress(f"removed an earlier cluster ({ended} processes ended)")
            startup = LocalStartup(layout, blueprint, progress)
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
        """Return the cluster of this name, of which some daemons may have died.

        Raises
        ------
        InvalidInput
            None runs.
        """
        layout = Layout(name)
        state = layout.read_state()
        if state is None or not state.ready or not any(map(processes.is_running, state.daemons)):
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
    def host(self) -> str:
        """The loopback address: Nimbus runs on this machine."""
        return self._state.nimbus.host

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
        return status(self._layout, self._newest())

    def kill_supervisor(self, index: int, workers: bool = True) -> None:
        """End a supervisor without warning (SIGKILL), as if its machine lost power.

        With ``workers`` false only the daemon dies and its workers go on.
        """
        daemon = self._supervisor(index)
        with exclusive(self._layout):
            if workers:
                processes.end(self.folder, daemon.name, grace_s=0.0)
            else:
                processes.end_daemon(daemon, grace_s=0.0)
        _reap(self._children.pop(daemon.name, None))

    def start_supervisor(self, index: int) -> None:
        """Start a killed supervisor; return when it has registered again.

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
        with exclusive(self._layout):
            serves = self._launch(daemon)
        self._await_service(daemon, serves)

    def restart(self, name: str, progress: Progress = lambda _: None) -> None:
        """End a daemon and start it again on its ports; return when it does its work again.

        Workers go on, also those of a supervisor that restarts. A dead daemon is started. With
        ZooKeeper all the others restart too: Storm's daemons end themselves when they lose it.

        Raises
        ------
        InvalidInput
            There is no daemon of this name.
        DaemonDied, TimedOut
            With the end of the log that tells why.
        """
        daemon = self.daemon(name)
        is_zookeeper = daemon == self._state.zookeeper
        concerned = self._state.daemons if is_zookeeper else (daemon,)
        used = [port for each in concerned for port in each.ports] if is_zookeeper else []
        with exclusive(self._layout), ports.reserved(used):
            if not is_zookeeper:
                # No supervisor ends while there is no Nimbus to ask whether it has returned.
                self._sign_of_service(daemon)
            for each in reversed(concerned):
                processes.end_daemon(each)
                _reap(self._children.pop(each.name, None))
            for each in concerned:
                progress(each.name)
                self._await_service(each, self._launch(each))

    def daemon(self, name: str) -> Daemon:
        """Return what is recorded of a daemon now.

        Raises
        ------
        InvalidInput
            There is none of this name.
        """
        daemons = {daemon.name: daemon for daemon in self._newest().daemons}
        if name not in daemons:
            names = ", ".join(daemons)
            raise InvalidInput(f"is no daemon of cluster {self.name}; there are {names}", name)
        return daemons[name]

    def _newest(self) -> LocalState:
        # Another process may have restarted daemons since this object was made.
        self._state = self._layout.read_state() or self._state
        return self._state

    def _launch(self, daemon: Daemon) -> Callable[[], bool]:
        """Start a daemon; return what tells whether it does its work."""
        serves = self._sign_of_service(daemon)
        used = [port for each in self._state.daemons for port in each.ports]
        # ZooKeeper's process holds the claim of all the cluster's ports.
        held = ports.claim_again(used) if daemon == self._state.zookeeper else ()
        try:
            child = processes.start(self._layout, daemon, storm_java(), held)
        finally:
            for each in held:
                each.close()
        self._children[daemon.name] = child
        self._state = self._state.with_daemon(identified(daemon, child))
        self._layout.write_state(self._state)
        return serves

    def _sign_of_service(self, daemon: Daemon) -> Callable[[], bool]:
        """Return what will tell whether a daemon that is not started yet does its work."""
        if daemon == self._state.zookeeper:
            return lambda: zookeeper_answers(daemon.host, daemon.ports[0])
        if daemon == self._state.nimbus:
            return leads_again(self.nimbus, self._layout.log_file(daemon.name))
        # A dead one's registration lasts until its ZooKeeper session ends, its uptime frozen.
        before = self._uptime(daemon)
        return lambda: self._uptime(daemon) not in (None, before)

    def _await_service(self, daemon: Daemon, serves: Callable[[], bool]) -> None:
        def alive_and_serving() -> bool:
            check_alive(self._layout, daemon.name, self._children[daemon.name])
            return serves()

        wait_until(
            alive_and_serving,
            RESTART_S,
            f"{daemon.name} does its work",
            watch=Watch(processes=self.pids),
        )

    def _uptime(self, daemon: Daemon) -> int | None:
        registered = self.nimbus.cluster().supervisors
        return next((each.uptime_s for each in registered if each.host == daemon.host), None)

    def _supervisor(self, index: int) -> Daemon:
        supervisors = self._newest().supervisors
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


def _is_running(state: LocalState | None) -> bool:
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
    with signals_ignored():
        ended = processes.end(layout.folder)
        for child in children.values():
            _reap(child)
        children.clear()
        Network(layout.folder).down()
    return ended


def _reap(child: subprocess.Popen[bytes] | None) -> None:
    if child:
        child.wait(timeout=processes.KILL_TIMEOUT_S)


def _address(daemon: Daemon) -> str:
    return f"{daemon.host}:{daemon.ports[0]}"
