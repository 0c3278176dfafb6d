"""Starting a cluster: choose ports, write configurations, start daemons, wait until all answer."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from stormcut.adapters.machine.home import PluginJars
from stormcut.adapters.storm import plugin
from stormcut.adapters.storm.nimbus import NimbusClient
from stormcut.application.waiting import Watch, wait_until
from stormcut.lab.adapters.clusters.bandwidth import Bandwidth
from stormcut.lab.adapters.clusters.local import ports, processes, storm_yaml
from stormcut.lab.adapters.clusters.local.layout import Daemon, Layout, LocalState
from stormcut.lab.adapters.clusters.local.network import Network
from stormcut.lab.adapters.processes.last_words import of_nimbus
from stormcut.model.errors import StormcutError

#: Told what has just happened, in a few words.
Progress = Callable[[str], None]
Children = dict[str, "subprocess.Popen[bytes]"]

#: What a daemon's start may take of served time; all start at once.
DAEMON_S = 30.0
_SHOWN_LINES = 10


class DaemonDied(StormcutError):
    """A daemon ended while it was waited for."""


class PortTaken(DaemonDied):
    """It ended because another program took its port between choice and use."""


@dataclass(frozen=True)
class Blueprint:
    """What to start, and with what."""

    supervisors: int
    slots: int
    java: Path
    lib: Path
    plugin: PluginJars | None
    config: Mapping[str, object]
    supervisor_config: Callable[[int], Mapping[str, object]]
    link: Bandwidth | None


@dataclass
class LocalStartup:
    """One attempt to start the cluster of ``layout``; ``children`` are the daemons started."""

    layout: Layout
    blueprint: Blueprint
    progress: Progress
    children: Children = field(default_factory=dict)

    def run(self) -> LocalState:
        """Start all daemons and return once Nimbus leads and every supervisor has registered.

        Raises
        ------
        PortTaken
            Worth another attempt with other ports.
        DaemonDied, TimedOut
            With the end of the log that tells why.
        """
        blueprint = self.blueprint
        claim = ports.claim(2 + blueprint.supervisors * blueprint.slots)
        try:
            state = self._choose(claim)
            network = None
            if blueprint.link:
                network = Network.free(self.layout.folder, claim.block)
                state = _on(network, state)
            self._prepare(state)
            if network and blueprint.link:
                network.up(blueprint.supervisors, blueprint.link)
            state = self._start(state, state.zookeeper, claim.sockets)
        finally:
            claim.close()
        host, port = state.zookeeper.host, state.zookeeper.ports[0]
        self._await(lambda: zookeeper_answers(host, port), "ZooKeeper answers")
        for daemon in (state.nimbus, *state.supervisors):
            state = self._start(state, daemon)
        self._await_registrations(state)
        state = replace(state, ready=True)
        self.layout.write_state(state)
        return state

    def _choose(self, claim: ports.Claim) -> LocalState:
        zookeeper, nimbus, *slots = claim.ports
        per_node = self.blueprint.slots
        supervisors = (
            Daemon(f"supervisor-{i}", host, tuple(slots[i * per_node : (i + 1) * per_node]))
            for i, host in enumerate(claim.hosts(self.blueprint.supervisors))
        )
        return LocalState(
            (
                Daemon("zookeeper", "127.0.0.1", (zookeeper,)),
                Daemon("nimbus", "127.0.0.1", (nimbus,)),
                *supervisors,
            )
        )

    def _prepare(self, state: LocalState) -> None:
        layout, blueprint = self.layout, self.blueprint
        layout.create()
        layout.write_state(state)
        for daemon in state.daemons:
            layout.create_storm_home(daemon.name, blueprint.lib)
        zoo_cfg = layout.storm_home(state.zookeeper.name) / "conf" / "zoo.cfg"
        zoo_cfg.write_text(storm_yaml.zookeeper_config(layout, state.zookeeper), encoding="utf-8")
        # ZooKeeper's server and its clean-up both make this folder at their start, and the one
        # that comes second fails.
        data = layout.storm_home(state.zookeeper.name) / storm_yaml.ZOOKEEPER_DATA / "version-2"
        data.mkdir(parents=True, exist_ok=True)
        storm_yaml.write(
            layout.storm_yaml(state.nimbus.name),
            storm_yaml.nimbus_config(layout, state, blueprint.config),
        )
        for index, daemon in enumerate(state.supervisors):
            overrides = {**blueprint.config, **blueprint.supervisor_config(index)}
            config = storm_yaml.supervisor_config(layout, state, daemon, overrides)
            storm_yaml.write(layout.storm_yaml(daemon.name), config)
        if blueprint.plugin:
            self._install(state, blueprint.plugin)

    def _install(self, state: LocalState, jars: PluginJars) -> None:
        """Install the plugin as on machines of their own, so that it can be taken out so too."""
        auth_file = str(self.layout.auth_file)
        plugin.install(self.layout.storm_home(state.nimbus.name), jars, auth_file)
        for daemon in state.supervisors:
            plugin.install(self.layout.storm_home(daemon.name), jars, None)

    def _start(
        self, state: LocalState, daemon: Daemon, inherited: Sequence[socket.socket] = ()
    ) -> LocalState:
        child = processes.start(self.layout, daemon, self.blueprint.java, inherited)
        self.children[daemon.name] = child
        state = state.with_daemon(identified(daemon, child))
        self.layout.write_state(state)
        return state

    def _await(
        self,
        condition: Callable[[], bool],
        what: str,
        moves: Callable[[], Sequence[int]] = tuple,
    ) -> None:
        def true_while_all_live() -> bool:
            for name, child in self.children.items():
                check_alive(self.layout, name, child)
            return condition()

        watch = Watch(moves, self._pids, lambda: of_nimbus(self.layout.log_file("nimbus")))
        wait_until(true_while_all_live, DAEMON_S * len(self.children), what, watch=watch)
        self.progress(what)

    def _pids(self) -> list[int]:
        return [child.pid for child in self.children.values()]

    def _await_registrations(self, state: LocalState) -> None:
        nimbus = NimbusClient(state.nimbus.host, state.nimbus.ports[0])
        self._await(lambda: nimbus.cluster().has_leader, "Nimbus leads")
        hosts = {daemon.host for daemon in state.supervisors}
        seen = 0

        def all_registered() -> bool:
            nonlocal seen
            registered = len(hosts & {each.host for each in nimbus.cluster().supervisors})
            if seen < registered < len(hosts):
                self.progress(f"{registered} of {len(hosts)} supervisors have registered")
            seen = registered
            return registered == len(hosts)

        what = f"all {len(hosts)} supervisors have registered"
        self._await(all_registered, what, lambda: (seen,))


def _on(network: Network, state: LocalState) -> LocalState:
    """Return a state whose supervisors have nodes of their own."""
    services = (replace(each, host=network.gateway) for each in state.daemons[:2])
    supervisors = (
        replace(each, host=network.host(index), namespace=network.namespace(index))
        for index, each in enumerate(state.supervisors)
    )
    return replace(state, daemons=(*services, *supervisors))


def identified(daemon: Daemon, child: subprocess.Popen[bytes]) -> Daemon:
    """Return the daemon with its process's id and start."""
    started = None
    # It may have ended already: whoever waits for the daemon sees that.
    with suppress(psutil.Error):
        started = psutil.Process(child.pid).create_time()
    return replace(daemon, pid=child.pid, started=started)


def check_alive(layout: Layout, name: str, child: subprocess.Popen[bytes]) -> None:
    """Raise `DaemonDied`, with the end of its log, if a daemon has ended."""
    if child.poll() is None:
        return
    log, output = _messages(layout.log_file(name)), _messages(layout.output_file(name))
    file, lines = (layout.log_file(name), log) if log else (layout.output_file(name), output)
    text = "\n".join(f"  {line}" for line in _pick_errors(lines))
    taken = any("Address already in use" in line for line in (*log, *output))
    error = PortTaken if taken else DaemonDied
    raise error(f"{name} ended with exit code {child.returncode}; {file} says:\n{text}")


def _messages(path: Path) -> list[str]:
    """Return a log's lines without stack frames: the exceptions' messages are what tells."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    return [line for line in lines if not line.startswith("\t")]


def read_last_messages(log: Path) -> Sequence[str]:
    """Return the last lines of a log, or of its errors; empty without the file."""
    return _pick_errors(_messages(log))


def _pick_errors(lines: Sequence[str]) -> Sequence[str]:
    """Return the last errors, else the last lines: other threads keep logging after an error."""
    errors = [line for line in lines if "[INFO]" not in line]
    return (errors or lines)[-_SHOWN_LINES:]


def zookeeper_answers(host: str, port: int) -> bool:
    """Return whether a ZooKeeper server is there and serves."""
    try:
        with socket.create_connection((host, port), timeout=5) as connection:
            connection.sendall(b"ruok")
            return connection.recv(4) == b"imok"
    except OSError:
        return False
